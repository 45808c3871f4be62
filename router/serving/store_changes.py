"""Deliveries of other routers on one database: they too ring the signal."""

from router.clock import Clock
from router.log import Log
from router.serving.store_outage import StoreOutage
from router.store.reads import StoreReads
from router.store.values import FeedQuery
from router.web.signal import Signal

LOOK_S = 1.0
_NO_ENDPOINT = frozenset({""})
"""No delivery has it: the store says how far the ledger goes, and reads none."""


class StoreChanges:
    """Looks each second how far the ledger goes, while somebody listens to the signal."""

    def __init__(self, signal: Signal, reads: StoreReads, *, clock: Clock, log: Log) -> None:
        self._signal, self._reads, self._clock = signal, reads, clock
        self._outage = StoreOutage(log, "the signal does not see the store")
        self._cursor: str | None = None

    async def run(self) -> None:
        """Look for ever; with no listener the store is asked nothing."""
        while True:
            if not self._signal.heard.is_set():
                self._cursor = None
                await self._signal.heard.wait()
            with self._outage:
                await self.look()
            await self._clock.sleep(LOOK_S)

    async def look(self) -> None:
        """Ring if there is something new, or at the first look. Raises StoreUnavailable."""
        found = await self._reads.following(FeedQuery(self._cursor, "now", _NO_ENDPOINT))
        if found.cursor != self._cursor:
            self._cursor = found.cursor
            self._signal.changed()
