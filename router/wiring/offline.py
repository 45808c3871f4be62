"""An operator's questions and verbs without a server: on the store itself."""

import os
import pwd
import random
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from tempfile import TemporaryDirectory

from router.clock import Clock, SystemClock
from router.dispatch.breakers import Breakers, target_statuses
from router.dispatch.rules_port import target_limits
from router.errors import StoreAbsent
from router.model.ids import Ids
from router.model.store_address import SqliteFile
from router.operator.questions import StoreQuestions
from router.operator.requests import LOCAL, By
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.reads import FactReads
from router.wiring.live import generation_of
from router.wiring.stores import open_reader, open_store


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
        verbs = StoreVerbs(
            store=store,
            live=live,
            clock=clock,
            ids=Ids(_rng()),
            wake=lambda _target, _due_at: None,  # the next `serve` finds what is due
            breakers=await _breakers(live, clock, store),
            here=operator_here(),
        )
        yield verbs
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


def operator_here() -> By:
    """Whoever runs this command, as the operating system knows them."""
    user = str(os.getuid())
    with suppress(KeyError):  # a container's user may have no name
        user = pwd.getpwuid(os.getuid()).pw_name
    return By(LOCAL.who, f"{user}@{socket.gethostname()}", LOCAL.way)


async def _written() -> None:
    """A server counts what its rules do; the file has no more than it has written."""


async def _breakers(live: LiveRef, clock: Clock, store: FactReads) -> Breakers:
    """The circuit breakers as the last server left them."""
    breakers = Breakers(target_limits(live), clock, _rng())
    await breakers.restore(store)
    return breakers


def _rng() -> random.Random:
    return random.Random(secrets.randbits(128))  # noqa: S311 - ids, not secrets
