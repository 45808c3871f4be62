"""Silence: endpoints that should hear something every so often, and have not."""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from router.clock import Clock
from router.log import Log
from router.metrics import Metrics
from router.model.delivery import DeliverySummary
from router.rules.live import LiveRef
from router.store.protocol import Store
from router.store.values import Selector

FACTS = "silence/"


class Lists(Protocol):
    """What is asked of a store or its reader."""

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]: ...


async def newest_of(store: Lists, endpoint: str) -> int | None:
    """When an endpoint last had a delivery, a copy of a known one too."""
    newest = await store.deliveries(Selector(endpoint=endpoint, limit=1))
    times = [t for d in newest for t in (d.received_at, d.last_seen_at) if t is not None]
    return max(times, default=None)


class SilentEndpoint(msgspec.Struct, frozen=True):
    """
    An endpoint that has gone silent, or (`over`) is heard again. Unix milliseconds and spans of
    them; `last` None: it has never had a delivery, and has been waited for since `since`.
    """

    endpoint: str
    last: int | None
    since: int
    expect_every: int
    over: bool = False


class _Watched(msgspec.Struct):
    """
    What is known of one endpoint; only `since` and `told` outlive this process. `sign` is the
    ledger time from which its silence is measured.
    """

    since: int
    last: int | None
    sign: int
    received: int
    told: bool


class Silence:
    """
    Watches the endpoints that have `expect_every`.

    It reads the counts that are kept anyway, so a delivery costs nothing more. Each function in
    `on_change` hears once of every silence that begins, and of its end.
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
        self.on_change: list[Callable[[SilentEndpoint], None]] = []

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
            name: {"last": w.last, "since": w.since} for name, w in self._watched.items() if w.told
        }

    async def _look(self, name: str, expect_every: int) -> None:
        now, count = self._clock.now(), self._metrics.received(name)
        ledger = self._clock.ledger()
        watched = self._watched.get(name)
        if watched is None:
            watched = self._watched[name] = await self._begin(name, now, count)
        elif count != watched.received:
            watched.received, watched.last, watched.sign = count, now, ledger
        is_silent = ledger - watched.sign > expect_every
        self._metrics.silent(name, is_silent)
        if is_silent != watched.told:
            watched.told = is_silent
            await self._keep(name, watched)
            self._say(
                SilentEndpoint(name, watched.last, watched.since, expect_every, not is_silent)
            )

    async def _begin(self, name: str, now: int, count: int) -> _Watched:
        """From the store: what came before this process, and since when it has been watched."""
        last = await newest_of(self._store.reads, name)
        kept = (await self._store.recall(FACTS + name)).get(FACTS + name)
        kept = kept if isinstance(kept, dict) else {}
        since = kept.get("since")
        known = isinstance(since, int)
        begun = since if isinstance(since, int) else now
        watched = _Watched(
            since=begun,
            last=last,
            sign=(begun if last is None else last) - self._clock.offset,
            received=count,
            told=kept.get("told") is True,
        )
        if not known:
            await self._keep(name, watched)
        return watched

    async def _keep(self, name: str, watched: _Watched) -> None:
        kept = {"since": watched.since, "told": watched.told}
        await self._store.remember({FACTS + name: kept})

    def _say(self, change: SilentEndpoint) -> None:
        say = self._log.info if change.over else self._log.warning
        say(
            "endpoint heard again" if change.over else "endpoint silent",
            endpoint=change.endpoint,
            last=change.last,
            expect_every_s=change.expect_every / 1000,
        )
        for tell in self.on_change:
            tell(change)
