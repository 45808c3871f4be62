"""This process as a node of a shared store: it says that it lives, and sees who else does."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from router.clock import Clock
from router.dispatch import Dispatcher
from router.errors import StoreUnavailable
from router.legible import moment
from router.log import Log
from router.serving.failure_detector import FailureDetector
from router.serving.node_agreement import differing_secrets
from router.serving.store_outage import StoreOutage
from router.serving.store_time import SKEW_MS, StoreTime
from router.store.protocol import NodeStore
from router.store.values import LATE_S, Beats, NodeCard, NodeSeen

BEAT_S = 1.0
LEAST_PAUSE_S = 0.1
"""Between two beats, also where a look at others is due."""
RECLAIM_S = 5.0
"""How often jobs of nodes that are gone are looked for, whoever declared them gone."""
DIVIDES_MS = 5_000
"""How long after a division of the limits no other node makes one: unless this one is gone."""


class Joined(NamedTuple):
    """The number that this node got, and when it was asked for (monotonic time)."""

    node: str
    at: float


async def join(store: NodeStore, card: NodeCard, clock: Clock) -> Joined:
    """Become a node of the store. Raises StoreUnavailable."""
    asked = clock.monotonic()
    return Joined(await store.join(card), asked)


class Membership:
    """
    Beats, declares gone who does not, and has `dispatch` take over their jobs. While its own last
    beat is too long ago it starts no work. Once it has been declared gone itself it goes on as
    another node: what runs goes on, and the fence decides whose result is written.

    With each beat it says what it makes of its shares of targets' limits, and gets those that it
    was given last; one node at a time divides them anew, once a second.

    `card` is what it says of itself. The store's `time` comes with each beat.
    """

    def __init__(
        self,
        *,
        store: NodeStore,
        dispatch: Dispatcher,
        joined: Joined,
        card: Callable[[], NodeCard],
        time: StoreTime,
        clock: Clock,
        log: Log,
    ) -> None:
        self.node = joined.node
        self._time = time
        self._store, self._dispatch, self._card = store, dispatch, card
        self._clock, self._log = clock, log
        self._detector = FailureDetector()
        self._until = joined.at + LATE_S
        self._held_back: str | None = None
        self._differs: str | None = "the other routers have not been seen yet"
        self._unknown = StoreOutage(log, "the store does not know that this node lives")
        self._undivided = StoreOutage(log, "targets' limits are not divided anew")
        self._reclaim_at = joined.at
        self._reclaiming: asyncio.Task[None] | None = None
        self._dividing: asyncio.Task[None] | None = None
        self._beats = 0

    async def run(self) -> None:
        """Beat for ever."""
        self._dispatch.start_until(self._until)
        try:
            while True:
                await self._beat()
                await self._clock.sleep(self._pause())
        finally:
            for task in filter(None, (self._reclaiming, self._dividing)):
                task.cancel()

    async def watch(self) -> None:
        """Hold work back for as long as no beat is recent, also while one is under way."""
        while True:
            await self._clock.sleep(BEAT_S)
            if self._clock.monotonic() >= self._until:
                ago = self._clock.monotonic() - self._until + LATE_S
                since = moment(self._clock.now() - int(1000 * ago))
                self._hold_back(f"the store has not been reached since {since}")

    async def leave(self) -> None:
        """It runs nothing any more: others need not wait to find that out, nor think it lost."""
        self._beats += 1
        try:
            await self._store.beat(self.node, self._card())
            await self._store.declare_gone(self.node, self._beats)
        except StoreUnavailable as error:
            self._log.warning("the store does not know that this node ends", error=str(error))

    def skew(self) -> int:
        """By how many milliseconds this machine's clock is ahead of the store's."""
        return self._time.skew()

    def unready(self) -> str | None:
        """Why this node is to get no requests; None: it may."""
        if self._held_back is not None:
            return f"no work is started: {self._held_back}"
        if abs(skew := self.skew()) > SKEW_MS:
            return f"the machine's clock is off by {skew / 1000:+.1f} s from the database's"
        return self._differs

    def _pause(self) -> float:
        """Until the next beat: shorter if somebody may be gone before."""
        until_look = self._detector.next_look - self._clock.monotonic()
        return min(BEAT_S, max(LEAST_PAUSE_S, until_look))

    async def _beat(self) -> None:
        self._beats += 1
        asked = self._clock.monotonic()
        with self._unknown:
            report = self._dispatch.shares.report()
            card = self._card()
            beats = await self._store.beat(self.node, card, report)
            if beats is None:
                await self._rejoin()
            else:
                here = NodeSeen(self.node, card, self._beats, beats.now)
                self._compare(here, beats.others)
                await self._beaten(beats, asked)
        if self._unknown.away:
            self._detector.interrupted(self._clock.monotonic())

    async def _beaten(self, beats: Beats, asked: float) -> None:
        answered = self._clock.monotonic()
        self._time.said(beats.now, asked=asked, answered=answered)
        self._go_on(asked)
        if beats.shares is not None:
            self._dispatch.shares.take_over(beats.shares)
        for one in self._detector.gone(beats.others, now=beats.now, asked=asked, answered=answered):
            if await self._store.declare_gone(one.number, one.beats):
                self._log.warning("a node is gone", node=one.number, name=one.card.name)
                self._reclaim_at = answered
        if answered >= self._reclaim_at and self._reclaiming is None:
            self._reclaim_at = answered + RECLAIM_S
            self._reclaiming = asyncio.ensure_future(self._reclaim())
        if self._dividing is None:
            self._dividing = asyncio.ensure_future(self._divide(self.node))

    def _compare(self, here: NodeSeen, others: Sequence[NodeSeen]) -> None:
        before, self._differs = self._differs, differing_secrets(here, others)
        if self._differs is not None and self._differs != before:
            self._log.warning("this machine differs", reason=self._differs)

    async def _rejoin(self) -> None:
        self._hold_back("this node was declared gone")
        joined = await join(self._store, self._card(), self._clock)
        self._log.warning("joined anew", node=joined.node, former=self.node)
        self.node = joined.node
        self._dispatch.rejoined(self.node)
        self._go_on(joined.at)

    def _hold_back(self, reason: str) -> None:
        if self._held_back is None:
            self._held_back = reason
            self._dispatch.hold_back()
            self._log.warning("no work is started", reason=reason)

    def _go_on(self, asked: float) -> None:
        """The store knew at some moment since it was `asked` that this node lives."""
        self._until = asked + LATE_S
        if self._clock.monotonic() >= self._until:
            return
        self._dispatch.start_until(self._until)
        if self._held_back is not None:
            self._held_back = None
            self._log.info("work is started again", node=self.node)

    async def _reclaim(self) -> None:
        """In a task of its own: it may take longer than others wait for a beat."""
        try:
            recovered = await self._dispatch.recover_nodes()
            if recovered.reclaimed or recovered.dead:
                self._log.warning("recovered", reclaimed=recovered.reclaimed, dead=recovered.dead)
        except StoreUnavailable as error:
            self._log.error("jobs of nodes that are gone could not be reclaimed", error=str(error))
        finally:
            self._reclaiming = None

    async def _divide(self, node: str) -> None:
        """So too; whoever is not the one to divide learns that, and no more."""
        generation = self._card().generation
        try:
            with self._undivided:
                shares = await self._store.divide(
                    node, self._dispatch.shares.divided, generation=generation, ttl_ms=DIVIDES_MS
                )
                if shares is not None and node == self.node:
                    self._dispatch.shares.take_over(shares)
        finally:
            self._dividing = None
