"""The operator's verbs when no server runs: on the ledger itself, under its lock."""

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from router.clock import SystemClock
from router.errors import UsageError
from router.model.ids import Ids
from router.replay import Operator
from router.rules.live import Live, LiveRef, Secrets
from router.rules.ruleset import Ruleset
from router.serving.verbs import ReloadState, Verbs
from router.store.sqlite import open_store
from router.wiring.live import generation_of


@asynccontextmanager
async def open_ledger(ruleset: Ruleset) -> AsyncIterator[Verbs]:
    """
    Verbs on the store of these rules; jobs they make run at the next `serve`.

    Raises:
        StoreRefused: a server holds the store, or it cannot be opened.
    """
    clock = SystemClock()
    store = await open_store(ruleset.server.store, clock=clock)
    try:
        live = LiveRef(Live(ruleset, Secrets({}, {})))
        await store.keep_generation(generation_of(ruleset, clock))
        operator = Operator(
            store=store,
            live=live,
            clock=clock,
            ids=Ids(random.Random(secrets.randbits(128))),  # noqa: S311 - ids, not secrets
            wake=lambda _target, _due_at: None,
        )
        yield Verbs(
            operator=operator,
            store=store,
            live=live,
            clock=clock,
            refusals=_no_ring,
            reload=_no_reload,
            reload_state=ReloadState(),
        )
    finally:
        await store.close()


def _no_ring(limit: int) -> list[dict[str, object]]:
    del limit
    raise UsageError("refusals live in the running server, and none runs")


async def _no_reload() -> bool:
    raise UsageError("no server runs")
