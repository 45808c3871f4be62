"""Quiet endpoints: those that should get a delivery every so often, and have not."""

from typing import Any

import msgspec

from router.clock import Clock
from router.log import Log
from router.metrics import Metrics
from router.rules.live import LiveRef
from router.store.protocol import Store
from router.store.reads import StoreReads
from router.store.values import Selector

FACTS = "silence/"


async def newest_of(store: StoreReads, endpoint: str) -> int | None:
    """When an endpoint last had a delivery, a copy of a known one too."""
    newest = await store.deliveries(Selector(endpoint=endpoint, limit=1))
    times = [t for d in newest for t in (d.received_at, d.last_seen_at) if t is not None]
    return max(times, default=None)


class _Watched(msgspec.Struct):
    """
    What is known of one endpoint; only `since` and `quiet` outlive this process. `sign` is the
    ledger time from which its quiet is measured.
    """

    since: int
    last: int | None
    sign: int
    received: int
    quiet: bool


class QuietEndpoints:
    """
    Watches the endpoints that have `expect_every`.

    It reads the counts that are kept anyway, so a delivery costs nothing more; before an endpoint
    is quiet it asks the store, for other nodes. That an endpoint
    falls quiet, and that it delivers again, is logged once.
    """

    def __init__(
        self, *, store: Store, live: LiveRef, metrics: Metrics, clock: Clock, log: Log
    ) -> None:
        self._store = store
        self._live = live
        self._metrics = metrics
        self._clock = clock
        self._log = log
        self._watched: dict[str, _Watched] = {}

    async def step(self) -> None:
        """Look at every watched endpoint once. Raises StoreUnavailable."""
        wanted = {
            e.name: e.expect_every
            for e in self._live.current.ruleset.endpoints.values()
            if e.expect_every is not None
        }
        for name in [n for n in self._watched if n not in wanted]:
            del self._watched[name]
            self._metrics.silent(name, False)
            await self._store.remember({FACTS + name: None})
        for name, expect_every in wanted.items():
            await self._look(name, expect_every)

    def silent(self) -> dict[str, dict[str, Any]]:
        """The endpoints that are silent now, for status pages."""
        return {
            name: {"last": w.last, "since": w.since} for name, w in self._watched.items() if w.quiet
        }

    async def _look(self, name: str, expect_every: int) -> None:
        now, count = self._clock.now(), self._metrics.received(name)
        ledger = self._clock.ledger()
        watched = self._watched.get(name)
        if watched is None:
            watched = self._watched[name] = await self._begin(name, now, count)
        elif count != watched.received:
            watched.received, watched.last, watched.sign = count, now, ledger
        elif ledger - watched.sign > expect_every:
            await self._ask(name, watched)
        is_silent = ledger - watched.sign > expect_every
        self._metrics.silent(name, is_silent)
        if is_silent != watched.quiet:
            watched.quiet = is_silent
            await self._keep(name, watched)
            self._log.at(
                "warning" if is_silent else "info",
                "endpoint silent" if is_silent else "endpoint heard again",
                {"endpoint": name, "last": watched.last, "expect_every_s": expect_every / 1000},
            )

    async def _ask(self, name: str, watched: _Watched) -> None:
        """Another node may have heard it; who did is the same to all."""
        if (last := await newest_of(self._store.reads, name)) is not None:
            watched.last, watched.sign = last, max(watched.sign, last - self._clock.offset)

    async def _begin(self, name: str, now: int, count: int) -> _Watched:
        """From the store: what came before this process, and since when it has been watched."""
        last = await newest_of(self._store.reads, name)
        kept = (await self._store.recall(FACTS + name)).get(FACTS + name)
        kept = kept if isinstance(kept, dict) else {}
        known = isinstance(kept.get("since"), int)
        since = kept["since"] if known else now
        sign = (since if last is None else last) - self._clock.offset
        watched = _Watched(since, last, sign, count, kept.get("told") is True)
        if not known:
            await self._keep(name, watched)
        return watched

    async def _keep(self, name: str, watched: _Watched) -> None:
        kept = {"since": watched.since, "told": watched.quiet}
        await self._store.remember({FACTS + name: kept})
