"""The live feed of a router that shares its store: what all of them store and do."""

from collections.abc import Callable

from router.clock import Clock
from router.dispatch.alarm import Alarm
from router.log import Log
from router.model.job import Attempt, Job, Settlement
from router.rules.live import LiveRef
from router.serving.store_outage import StoreOutage
from router.store.reads import StoreReads
from router.store.values import LIMIT_MAX, FeedQuery
from router.web.feed import Feed

LOOK_S = 1.0
"""How often it looks while somebody watches: what another router tells may be missed."""
PAUSE_S = 0.05
"""After it was told, it waits so long: older transactions have mostly ended by then."""
EARLIER_MS = 2_000
"""It begins so long before the first watcher came: routers' clocks may differ."""
LATE_MS = 10_000
"""An attempt that is written longer after its end is not told."""
ATTEMPTS_MAX = 200
"""Attempts of other routers in one look, the latest."""


class SharedFeed:
    """
    Reads the ledger for all who watch this router's feed, and only while somebody does. Deliveries,
    its own too, come in the order of their commits; attempts of other routers as they are found.

    `live` are the rules: a sender is told as its endpoint writes it.
    """

    def __init__(
        self,
        feed: Feed,
        reads: StoreReads,
        *,
        live: LiveRef,
        clock: Clock,
        log: Log,
    ) -> None:
        self._feed, self._reads = feed, reads
        self._live, self._clock = live, clock
        self._alarm = Alarm(clock)
        self._outage = StoreOutage(log, "the live feed does not see the store")
        self._begin(0)

    def _begin(self, at: int) -> None:
        self._began = self._looked = at
        self._cursor: str | None = None
        self._told: dict[tuple[str, int], int] = {}
        self._here: set[str] = set()

    def look_soon(self) -> None:
        """Something was committed."""
        if self._feed.watched.is_set():
            self._alarm.ring()

    async def run(self, node: Callable[[], str]) -> None:
        """Look for ever, as long as somebody watches. `node` is this router's number now."""
        try:
            while True:
                await self._feed.watched.wait()
                with self._outage:
                    await self.look(node())
                await self._alarm.wait(LOOK_S)
                await self._clock.sleep(PAUSE_S)
        finally:
            self._alarm.close()

    async def look(self, node: str) -> None:
        """Tell what has come since the last look, as this node. Raises StoreUnavailable."""
        if self._began != self._feed.live_since:
            self._begin(self._feed.live_since)
        await self._deliveries()
        self._here.add(node)
        await self._attempts()

    async def _deliveries(self) -> None:
        since, more = str(max(0, self._began - EARLIER_MS)), True
        while more and self._feed.watched.is_set():
            query = FeedQuery(self._cursor, since=since, limit=LIMIT_MAX, history=True)
            found = await self._reads.following(query)
            ruleset = self._live.current.ruleset
            for one in found.deliveries:
                d = one.delivery
                self._feed.stored(one, ruleset.provider_name(d.endpoint, d.provider))
            self._cursor, more = found.cursor, found.more

    async def _attempts(self) -> None:
        now, since = self._clock.now(), max(self._began, self._looked - LATE_MS)
        found = await self._reads.ended_elsewhere(since, self._here, ATTEMPTS_MAX)
        for job, attempt in reversed(found):
            known = job.id, attempt.number
            if known not in self._told:
                self._told[known] = attempt.ended_at
                self._feed.attempted(job, _settlement(job, attempt))
        self._told = {known: at for known, at in self._told.items() if at >= since}
        self._looked = now


def _settlement(job: Job, attempt: Attempt) -> Settlement:
    """What came of the attempt, as far as its job still says so."""
    if attempt.number < job.attempt:  # the next one has begun
        return Settlement(job.id, "", attempt, "retryable")
    due_at = job.due_at if job.state == "retryable" else None
    return Settlement(job.id, "", attempt, job.state, reason=job.reason, due_at=due_at)
