"""Forwards page after page of the store's deliveries, each before the next."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from router.cli.listening.checkpoint import Checkpoint
from router.cli.listening.condition import ListenCondition
from router.cli.listening.plain import PlainView
from router.cli.listening.source import Backoff, ConnectionLost, DeliverySource, SignalWatcher
from router.cli.listening.target import Forwarded, LocalTarget
from router.clock import Clock
from router.operator.followed_answers import FollowedDeliveries, FollowedDelivery

A = TypeVar("A")

OnError = Literal["continue", "stop", "retry"]

POLL_S = 5.0
"""How often the next page is requested while the signal is not connected."""


class ForwardOptions(msgspec.Struct, frozen=True):
    """
    `since` counts at the first start. `once`: end when all is forwarded. `condition`: only
    deliveries that meet it; `save` saves each of them first and returns where.
    """

    since: str = "now"
    on_error: OnError = "continue"
    once: bool = False
    condition: ListenCondition | None = None
    save: Callable[[FollowedDelivery], str] | None = None


@contextlib.asynccontextmanager
async def until_first(
    one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, Any]
) -> AsyncIterator[tuple[asyncio.Task[A], asyncio.Task[Any]]]:
    """Both as tasks, once one of them has ended; at the end, whatever it is, none runs on."""
    tasks = asyncio.ensure_future(one), asyncio.ensure_future(other)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(eq=False)
class Forwarder:
    """Forwards what comes, in the order of the router's store."""

    source: DeliverySource
    signal: SignalWatcher
    target: LocalTarget
    checkpoint: Checkpoint
    view: PlainView
    options: ForwardOptions
    clock: Clock
    backoff: Callable[[], Backoff]
    _hurried: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _failed: int = field(default=0, init=False)

    async def run(self) -> int:
        """
        Until it is cancelled; the exit code: 1 if a delivery failed and it stops for that.

        Raises:
            UsageError: the router refuses us.
        """
        if self.options.once:
            return await self._follow()
        async with until_first(self._follow(), self.signal.run()) as (following, watching):
            if not following.done():
                watching.result()  # it ends by an error alone
            return await following

    def hurry(self) -> None:
        """Do not wait any longer to try again."""
        self._hurried.set()

    async def again(self, arrived: FollowedDelivery, attempt: int) -> Forwarded:
        """Forward one again by hand; the checkpoint stays."""
        forwarded = await self.target.forward(arrived, attempt)
        self.view.forwarded(forwarded)
        return forwarded

    async def _follow(self) -> int:
        cursor = self.checkpoint.cursor
        while True:
            self.signal.woken.clear()
            page = await self._page(cursor)
            if page.removed or page.other:
                self.view.gap(page.removed or 0, other=page.other)
            for arrived in page.deliveries:
                if not await self._deal_with(arrived):
                    return 1
                self.checkpoint.advance(arrived.cursor, at=self.clock.now(), delivery=arrived.id)
            cursor = page.cursor
            self.checkpoint.advance(cursor, at=self.clock.now())
            if page.more:
                continue
            if self.options.once:
                return 1 if self._failed else 0
            # Until the signal comes; without one, for a while.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self.signal.connected else POLL_S):
                    await self.signal.woken.wait()

    async def _page(self, cursor: str | None) -> FollowedDeliveries:
        """What comes next; a router that does not answer is called again."""
        backoff, failed = self.backoff(), False
        while True:
            try:
                page = await self.source.after(cursor=cursor, since=self.options.since)
            except ConnectionLost as lost:
                if self.options.once:
                    raise
                failed, wait_s = True, backoff.next_s()
                self.view.connection(str(lost), wait_s)
                await asyncio.sleep(wait_s)
                continue
            if failed and self.signal.connected:
                self.view.connection(None, 0.0)
            return page

    async def _deal_with(self, arrived: FollowedDelivery) -> bool:
        """Forward it if it is wanted, as often as it takes; False: stop before it."""
        condition, save = self.options.condition, self.options.save
        if condition is not None and not condition.takes(arrived):
            return True
        saved = save(arrived) if save is not None else None
        backoff, attempt = self.backoff(), 0
        while True:
            attempt += 1
            forwarded = await self.target.forward(arrived, attempt)
            if not self._tries_again(forwarded):
                self.view.forwarded(msgspec.structs.replace(forwarded, saved=saved))
                self._failed += not forwarded.ok
                judged = forwarded.status is not None or forwarded.unsendable
                return forwarded.ok or (judged and self.options.on_error != "stop")
            wait_s = backoff.next_s()
            self.view.forwarded(
                msgspec.structs.replace(forwarded, again_in_s=round(wait_s, 1), saved=saved)
            )
            self._hurried.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._hurried.wait()

    def _tries_again(self, forwarded: Forwarded) -> bool:
        """An unreachable target has answered nothing: it is tried again."""
        if forwarded.ok or forwarded.unsendable or self.options.on_error == "stop":
            return False
        if forwarded.status is None:
            return not self.options.once
        return self.options.on_error == "retry"
