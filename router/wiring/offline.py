"""An operator's questions and verbs when no server is asked: on the store itself."""

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from router.clock import SystemClock
from router.dispatch.breakers import Breakers
from router.dispatch.rules_port import target_limits
from router.dispatch.target_status import target_statuses
from router.model.ids import Ids
from router.model.target import FACT
from router.operator.questions import StoreQuestions
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.sqlite.reader import open_reader
from router.store.sqlite.store import open_store
from router.wiring.live import generation_of


@asynccontextmanager
async def open_verbs(ruleset: Ruleset) -> AsyncIterator[StoreVerbs]:
    """
    Verbs on the store of these rules, under its lock; jobs they make run at the next `serve`.

    Raises:
        StoreRefused: a server holds the store, or it cannot be opened.
    """
    clock = SystemClock()
    store = await open_store(ruleset.server.store, clock=clock)
    try:
        live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
        await store.keep_generation(generation_of(ruleset, clock))
        breakers = Breakers(target_limits(live), clock, _rng())
        breakers.restore(await store.recall(FACT))
        yield StoreVerbs(
            store=store,
            live=live,
            clock=clock,
            ids=Ids(_rng()),
            wake=_asleep,
            breakers=breakers,
        )
    finally:
        await store.close()


@asynccontextmanager
async def open_questions(ruleset: Ruleset) -> AsyncIterator[StoreQuestions]:
    """
    Questions to the store of these rules, whether a server runs or not. Targets are as the last
    server left them. Where there is no store yet the answers are those of an empty one.

    Raises:
        StoreRefused: it cannot be opened.
    """
    clock = SystemClock()
    with ExitStack() as stack:
        path = ruleset.server.store
        if not _exists(path):
            path = f"{stack.enter_context(TemporaryDirectory())}/empty.db"
            await (await open_store(path, clock=clock)).close()
        reader = open_reader(path)
        try:
            live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
            limits = target_limits(live)
            breakers = Breakers(limits, clock, _rng())
            breakers.restore(await reader.recall(FACT))
            clock.resume(await reader.offset())
            yield StoreQuestions(
                reader,
                live,
                clock=clock,
                targets_now=lambda: target_statuses(breakers, limits, clock),
                rebuild=lambda _kept: None,
                write_counts=_written,
            )
        finally:
            await reader.close()


def _exists(path: str) -> bool:
    return Path(path).exists()


async def _written() -> None:
    """A server counts what its rules do; the file has no more than it has written."""


def _rng() -> random.Random:
    return random.Random(secrets.randbits(128))  # noqa: S311 - ids, not secrets


def _asleep(_target: str, _due_at: int) -> None:
    """Nothing runs: the next `serve` finds what is due."""
