"""An operator's questions without a server: to the store itself."""

import random
import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from tempfile import TemporaryDirectory

from router.clock import Clock, SystemClock
from router.dispatch.breakers import Breakers, target_statuses
from router.dispatch.rules_port import target_limits
from router.errors import StoreAbsent
from router.model.store_address import SqliteFile
from router.operator.questions import StoreQuestions
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.reads import FactReads
from router.wiring.stores import open_reader, open_store


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
        try:
            reader = await open_reader(ruleset.server.store)
        except StoreAbsent:
            empty = SqliteFile(f"{stack.enter_context(TemporaryDirectory())}/empty.db")
            await (await open_store(empty, clock=clock)).close()
            reader = await open_reader(empty)
        try:
            live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
            breakers = await _breakers(live, clock, reader)
            clock.resume(await reader.offset())
            yield StoreQuestions(
                reader,
                live,
                clock=clock,
                targets_now=lambda: target_statuses(breakers, target_limits(live), clock),
                rebuild=lambda _kept: None,
                write_counts=_written,
            )
        finally:
            await reader.close()


async def _written() -> None:
    """A server counts what its rules do; the file has no more than it has written."""


async def _breakers(live: LiveRef, clock: Clock, store: FactReads) -> Breakers:
    """The circuit breakers as the last server left them."""
    breakers = Breakers(target_limits(live), clock, _rng())
    await breakers.restore(store)
    return breakers


def _rng() -> random.Random:
    return random.Random(secrets.randbits(128))  # noqa: S311 - ids, not secrets
