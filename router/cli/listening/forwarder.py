"""The listener: page after page of the ledger, each delivery forwarded before the next."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from router.cli.listening.checkpoint import Checkpoint
from router.cli.listening.condition import ListenCondition
from router.cli.listening.delivery import Arrived, FeedPage, Forwarded
from router.cli.listening.source import DeliverySource, Ears, Lost, Waits
from router.cli.listening.target import LocalTarget
from router.clock import Clock

OnError = Literal["continue", "stop", "retry"]

POLL_S = 5.0
"""While the feed is not heard, what has come is asked for as often."""


class ListenView(Protocol):
    """What shows how it goes; see `plain` and `screen`."""

    def forwarded(self, forwarded: Forwarded) -> None:
        """A delivery was forwarded, or tried to be."""

    def connection(self, why_not: str | None, again_in_s: float) -> None:
        """The router is heard (None), or is not, and why."""

    def target_down(self, to: str, why: str) -> None:
        """At the start: nobody is there to forward to, though the router is heard."""

    def gap(self, removed: int, *, other: bool) -> None:
        """Deliveries are missing that nobody can bring back."""

    def note(self, text: str) -> None:
        """A word beside all that."""


class ForwardOptions(msgspec.Struct, frozen=True):
    """How to go about it. `since` counts at the first start. `once`: end when all is forwarded."""

    since: str = "now"
    on_error: OnError = "continue"
    once: bool = False


class Forwarder:
    """Forwards what comes, in the order of the router's ledger."""

    def __init__(
        self,
        source: DeliverySource,
        ears: Ears,
        target: LocalTarget,
        checkpoint: Checkpoint,
        view: ListenView,
        *,
        wish: ForwardOptions,
        clock: Clock,
        waits: Callable[[], Waits],
    ) -> None:
        self._source = source
        self._ears = ears
        self._target = target
        self._checkpoint = checkpoint
        self._view = view
        self._wish = wish
        self._clock = clock
        self._waits = waits
        self._hurried = asyncio.Event()
        self._failed = 0
        self.condition: ListenCondition | None = None
        self.save: Callable[[Arrived], str] | None = None

    async def run(self) -> int:
        """
        Until it is told to end; the exit code: 1 if something was not taken and it stops for that.

        Raises:
            UsageError: the router refuses us.
        """
        if self._wish.once:
            return await self._follow()
        hearing = asyncio.ensure_future(self._ears.run())
        following = asyncio.ensure_future(self._follow())
        try:
            await asyncio.wait({hearing, following}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                hearing.result()  # it ends by an error alone
            return await following
        finally:
            for task in (hearing, following):
                task.cancel()
            await asyncio.gather(hearing, following, return_exceptions=True)

    def hurry(self) -> None:
        """Do not wait any longer to try again."""
        self._hurried.set()

    async def again(self, arrived: Arrived, attempt: int) -> Forwarded:
        """Forward one again because somebody wants it; changes no place."""
        forwarded = await self._target.forward(arrived, attempt)
        self._view.forwarded(forwarded)
        return forwarded

    async def _follow(self) -> int:
        cursor = self._checkpoint.cursor
        while True:
            self._ears.woken.clear()
            page = await self._page(cursor)
            if page.removed or page.other:
                self._view.gap(page.removed, other=page.other)
            for arrived in page.deliveries:
                if not await self._deal_with(arrived):
                    return 1
                self._checkpoint.advance(arrived.cursor, at=self._clock.now(), delivery=arrived.id)
            cursor = page.cursor
            self._checkpoint.advance(cursor, at=self._clock.now())
            if page.more:
                continue
            if self._wish.once:
                return 1 if self._failed else 0
            await self._wait()

    async def _page(self, cursor: str | None) -> FeedPage:
        """What comes next; a router that cannot be asked is asked again."""
        waits, failed = self._waits(), False
        while True:
            try:
                page = await self._source.after(cursor=cursor, since=self._wish.since)
            except Lost as lost:
                if self._wish.once:
                    raise
                failed, wait_s = True, waits.next_s()
                self._view.connection(str(lost), wait_s)
                await asyncio.sleep(wait_s)
                continue
            if failed and self._ears.connected:
                self._view.connection(None, 0.0)
            return page

    async def _wait(self) -> None:
        """Until the feed says that something has come; without it, for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._ears.connected else POLL_S):
                await self._ears.woken.wait()

    async def _deal_with(self, arrived: Arrived) -> bool:
        """Forward it if it is wanted, as often as it takes; False: stop before it."""
        if self.condition is not None and not self.condition.takes(arrived):
            return True
        saved = self.save(arrived) if self.save is not None else None
        waits = self._waits()
        attempt = 0
        while True:
            attempt += 1
            forwarded = await self._target.forward(arrived, attempt)
            if not self._tries_again(forwarded):
                self._view.forwarded(msgspec.structs.replace(forwarded, saved=saved))
                self._failed += not forwarded.ok
                judged = forwarded.status is not None or forwarded.unsendable
                return forwarded.ok or (judged and self._wish.on_error != "stop")
            wait_s = waits.next_s()
            self._view.forwarded(
                msgspec.structs.replace(forwarded, again_in_s=round(wait_s, 1), saved=saved)
            )
            await self._pause(wait_s)

    def _tries_again(self, forwarded: Forwarded) -> bool:
        """A target that is not there has judged nothing: it is waited for."""
        if forwarded.ok or forwarded.unsendable or self._wish.on_error == "stop":
            return False
        if forwarded.status is None:
            return not self._wish.once
        return self._wish.on_error == "retry"

    async def _pause(self, seconds: float) -> None:
        self._hurried.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurried.wait()
