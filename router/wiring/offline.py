"""The operator's verbs when no server runs: on the ledger itself, under its lock."""

import random
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from router.clock import SystemClock
from router.dispatch.breakers import Breakers
from router.dispatch.rules_port import target_limits
from router.dispatch.target_status import target_statuses
from router.errors import UsageError
from router.model.ids import Ids
from router.model.target import TargetNow
from router.operator import Operator
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.serving.targets import TargetDesk, remembered
from router.serving.verbs import ReloadState, Verbs
from router.store.sqlite.store import open_store
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
        live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
        await store.keep_generation(generation_of(ruleset, clock))
        operator = Operator(
            store=store,
            live=live,
            clock=clock,
            ids=Ids(_rng()),
            wake=_asleep,
        )
        verbs = Verbs(
            operator=operator,
            store=store,
            live=live,
            clock=clock,
            refusals=_no_ring,
            reload=_no_reload,
            reload_state=ReloadState(),
        )
        breakers = await remembered(Breakers(target_limits(live), clock, _rng()), store)
        verbs.desk = TargetDesk(
            breakers=breakers,
            store=store,
            live=live,
            operator=operator,
            clock=clock,
            woken=_asleep,
            now=lambda: target_statuses(breakers, target_limits(live), clock.now()),
        )
        yield verbs
    finally:
        await store.close()


def remembered_targets(live: LiveRef, facts: Mapping[str, Any]) -> tuple[TargetNow, ...]:
    """Targets as the last server left them, from what it remembered."""
    clock, limits = SystemClock(), target_limits(live)
    breakers = Breakers(limits, clock, _rng())
    breakers.restore(facts)
    return target_statuses(breakers, limits, clock.now())


def _rng() -> random.Random:
    return random.Random(secrets.randbits(128))  # noqa: S311 - ids, not secrets


def _asleep(_target: str, _due_at: int) -> None:
    """Nothing runs: the next `serve` finds what is due."""


def _no_ring(limit: int) -> list[dict[str, object]]:
    del limit
    raise UsageError("refusals live in the running server, and none runs")


async def _no_reload() -> bool:
    raise UsageError("no server runs")
