"""
The live feed: deliveries and attempts as they happen, for whoever watches.

One ring holds the last things that happened, and a watcher is a place in it. So a slow one costs
nothing but its own place: when the ring has gone past it, it gets how much it missed and goes
on from there. An entry costs a few operations however many watch, and none while nobody does.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.model.delivery import Delivery
from router.model.job import Job, Settlement
from router.operator.times import dates
from router.store.values import Acceptance, Accepted, Duplicate, Stored

RING = 2_048
"""Things that happened which are kept for slow watchers and for those that come back."""
WATCHERS_MAX = 256
HEARTBEAT_S = 15.0
PAUSE_S = 0.1
"""After the watchers were woken, what happens gathers for so long."""
LINGER_S = 60.0
"""The ring goes on for so long after the last watcher has left: it may come back."""
AT_ONCE = 2
"""Watchers woken in one turn of the loop."""
CHUNK_BYTES = 32_768
LOOKED_AT_MAX = 512
"""Of the ring, in one go: who wants little must not hold up the loop."""
NAMES_MAX = 10
NAMES_KNOWN_MAX = 100
REASON_MAX = 200

KINDS = ("delivery", "duplicate", "attempt", "refusal")


WITHOUT_BODIES = frozenset(KINDS) - {"attempt"}
"""What is sent to whoever may not see payloads: the reason of an attempt may quote an answer."""


class FeedFull(StoreUnavailable):
    """As many watch as may."""

    def __init__(self) -> None:
        super().__init__("too many watch the live feed; try again later")


class FeedFilter(msgspec.Struct, frozen=True):
    """What a watcher wants to see. Empty: all of it."""

    endpoints: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def takes(self, item: "FeedItem") -> bool:
        """Whether this is wanted."""
        return (
            (not self.kinds or item.kind in self.kinds)
            and (not self.endpoints or item.endpoint in self.endpoints)
            and (not self.events or item.events is None or not self.events.isdisjoint(item.events))
        )


class FeedItem(msgspec.Struct):
    """Something that happened. `events` None: more names than are kept."""

    kind: str
    endpoint: str
    events: tuple[str, ...] | None
    content: dict[str, Any]
    data: bytes | None = None

    def encoded(self, mark: bytes) -> bytes:
        """The message, made once for all watchers."""
        if self.data is None:
            self.data = b"id: %b\nevent: %b\ndata: %b\n\n" % (
                mark,
                self.kind.encode("ascii"),
                msgspec.json.encode(dates(self.content)),
            )
        return self.data


class Watcher(msgspec.Struct, eq=False):
    """
    One who watches: what it wants, and the number of the next item that it has not seen. `missed`
    are the items it missed; None: nobody knows how many.
    """

    wanted: FeedFilter
    place: int
    missed: int | None = 0
    beat: bool = True
    gone: bool = False
    woken: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def leave(self) -> None:
        """Nothing more is sent."""
        self.gone = True
        self.woken.set()


class Feed:
    """
    Belongs to one event loop. What happens is kept from the first watcher on until some time after
    the last has left.

    `boot` marks this process: a place of another one has no meaning here.
    """

    def __init__(self, clock: Clock, *, boot: str) -> None:
        self._clock = clock
        self._boot = boot
        self._ring: list[FeedItem | None] = [None] * RING
        self._epoch = 0
        self._next = self._shown = 0
        self.live = False
        """Whether anything is kept; while it is not, nobody need say what happens."""
        self.live_since = 0
        """From when on, in Unix milliseconds."""
        self.watched = asyncio.Event()
        """Set while anybody watches."""
        self._left_at = 0.0
        self._refusal_at, self._untold = 0.0, 0
        self._watchers: set[Watcher] = set()
        self._made: dict[tuple[FeedFilter, int], tuple[bytes, int]] = {}
        self._fresh = asyncio.Event()
        self._ended = False

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return len(self._watchers)

    @property
    def full(self) -> bool:
        """Whether nobody more can watch now."""
        return len(self._watchers) >= WATCHERS_MAX or self._ended

    # -- what happens ---------------------------------------------------------------------------

    def delivered(
        self, accepted: Acceptance, receipt: Accepted | Duplicate, provider: str | None = None
    ) -> None:
        """
        A delivery was committed, or known already; nothing of its body is kept. `provider`: as its
        endpoint writes it, if that is another name.
        """
        if not self.live:
            return
        names = [event.name for event in accepted.events]
        jobs = None if isinstance(receipt, Duplicate) else [job.rule for job in accepted.jobs]
        delivery = msgspec.structs.replace(accepted.delivery, id=receipt.delivery)
        self._keep(_item(delivery, provider or delivery.provider, names, jobs))

    def stored(self, one: Stored, provider: str) -> None:
        """A delivery that is found in the store; `provider` as its endpoint writes it."""
        if self.live:
            names = [event.name for event in one.events]
            self._keep(_item(one.delivery, provider, names, [job.rule for job in one.history]))

    def attempted(self, job: Job, settlement: Settlement) -> None:
        """An attempt ended, and that is written."""
        if not self.live:
            return
        attempt = settlement.attempt
        # Behind its fixed word a reason may quote what came in or was answered.
        reason = (settlement.reason or attempt.reason or "").partition(":")[0]
        content = {
            "job": job.id,
            "delivery": job.delivery,
            "endpoint": job.endpoint,
            "event": job.event,
            "rule": job.rule,
            "action": job.action,
            "kind": job.kind,
            "attempt": attempt.number,
            "outcome": attempt.outcome,
            "state": settlement.state,
            "reason": reason[:REASON_MAX] or None,
            "started_at": attempt.started_at,
            "ended_at": attempt.ended_at,
            "due_at": settlement.due_at,
        }
        self._keep(FeedItem("attempt", job.endpoint, (job.event,), content))

    def refused(self, endpoint: str | None, reason: str, status: int, peer: str) -> None:
        """
        A request was refused. Strangers may send any number of these, so that one is told at most
        every PAUSE_S, with how many were not told before it.
        """
        if not self.live:
            return
        now = self._clock.monotonic()
        if now < self._refusal_at:
            self._untold += 1
            return
        content = {
            "endpoint": endpoint,
            "reason": reason,
            "status": status,
            "peer": peer,
            "at": self._clock.now(),
            "untold": self._untold,
        }
        self._refusal_at, self._untold = now + PAUSE_S, 0
        self._keep(FeedItem("refusal", endpoint or "", (), content))

    def _keep(self, item: FeedItem) -> None:
        self._ring[self._next % RING] = item
        self._next += 1
        self._fresh.set()

    # -- who watches ----------------------------------------------------------------------------

    @contextmanager
    def watching(self, wanted: FeedFilter, last: str | None) -> Iterator[Watcher]:
        """
        A watcher, from now on, or from behind the message whose id was `last`.

        Raises:
            FeedFull: too many watch.
        """
        if self.full:
            raise FeedFull
        if not self.live:
            self.live, self.live_since = True, self._clock.now()
        watcher = Watcher(wanted, self._next)
        if last is not None:
            mark, _, number = last.rpartition(".")
            numbered = number.isascii() and number.isdigit() and len(number) < 16
            if mark == self._mark and numbered and int(number) <= self._next:
                watcher.place = int(number)
            else:
                watcher.missed = None
        self._watchers.add(watcher)
        self.watched.set()
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
            if not self._watchers:
                self.watched.clear()
            self._left_at = self._clock.monotonic()

    def take(self, watcher: Watcher) -> bytes:
        """What is to be sent to this watcher now; empty: nothing has happened for it."""
        parts: list[bytes] = []
        oldest = max(0, self._next - RING)
        if watcher.place < oldest:
            if watcher.missed is not None:
                watcher.missed += oldest - watcher.place
            watcher.place = oldest
        if watcher.missed != 0:
            gap = msgspec.json.encode({"missed": watcher.missed})
            watcher.missed = 0
            parts.append(b"id: %b\nevent: gap\ndata: %b\n\n" % (self._id(watcher.place), gap))
        if watcher.place < self._shown:
            data, watcher.place = self._chunk(watcher.wanted, watcher.place)
            parts.append(data)
        if watcher.beat:
            watcher.beat = False
            parts.append(b": still here\nid: %b\n\n" % self._id(watcher.place))
        return b"".join(parts)

    def _chunk(self, wanted: FeedFilter, place: int) -> tuple[bytes, int]:
        """What happened from a place on, and the place behind it; most want the same."""
        if (made := self._made.get((wanted, place))) is None:
            made = self._made[wanted, place] = self._gathered(wanted, place)
        return made

    def _gathered(self, wanted: FeedFilter, place: int) -> tuple[bytes, int]:
        parts: list[bytes] = []
        size = 0
        until = min(self._shown, place + LOOKED_AT_MAX)
        while place < until and size < CHUNK_BYTES:
            item = self._ring[place % RING]
            place += 1
            if item is not None and wanted.takes(item):
                parts.append(item.data or item.encoded(self._id(place)))
                size += len(parts[-1])
        return b"".join(parts), place

    def behind(self, watcher: Watcher) -> bool:
        """Whether there is more to look at for it."""
        return watcher.place < self._shown or watcher.missed != 0

    @property
    def _mark(self) -> str:
        return f"{self._boot}.{self._epoch}"

    def _id(self, place: int) -> bytes:
        """A message's id is the place behind it."""
        return f"{self._mark}.{place}".encode("ascii")

    # -- the loops ------------------------------------------------------------------------------

    async def run(self) -> None:
        """
        Wake the watchers when something has happened, at most every PAUSE_S; a few in a turn of
        the loop, so that no delivery waits for all of them. Those woken before that still write are
        left alone.
        """
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            self.show()
            waiting = [one for one in self._watchers if not one.woken.is_set()]
            for number, watcher in enumerate(waiting, 1):
                watcher.woken.set()
                if number % AT_ONCE == 0:
                    await asyncio.sleep(0)
            await self._clock.sleep(PAUSE_S)

    def show(self) -> None:
        """
        Let the watchers see all that has happened up to now. Between two calls they all see the
        same, so that those that keep up share what is made for one of them.
        """
        self._shown = self._next
        self._made.clear()

    async def beat(self) -> None:
        """Give every watcher a sign of life, and forget the ring when nobody comes back."""
        while True:
            await self._clock.sleep(HEARTBEAT_S)
            for watcher in self._watchers:
                watcher.beat = True
                watcher.woken.set()
            left_s = self._clock.monotonic() - self._left_at
            if self.live and not self._watchers and left_s >= LINGER_S:
                self.live = False
                self._ring = [None] * RING
                self._epoch += 1
                self._next = 0
                self.show()

    def end(self) -> None:
        """The router goes down: let every watcher go."""
        self._ended = True
        for watcher in self._watchers:
            watcher.leave()


def _item(
    delivery: Delivery, provider: str, names: Sequence[str], rules: Sequence[str] | None
) -> FeedItem:
    """A delivery with the rules of its jobs; None: a copy of one that is known."""
    names = tuple(dict.fromkeys(names))
    content = {
        "id": delivery.id,
        "endpoint": delivery.endpoint,
        "provider": provider,
        "received_at": delivery.received_at,
        "state": delivery.state,
        "events": names[:NAMES_MAX],
        "event_count": delivery.event_count,
        "body_bytes": len(delivery.body),
    }
    if rules is not None:
        content |= {"rules": list(dict.fromkeys(rules))[:NAMES_MAX], "jobs": len(rules)}
    known = names if len(names) <= NAMES_KNOWN_MAX else None
    kind = "duplicate" if rules is None else "delivery"
    return FeedItem(kind, delivery.endpoint, known, content)
