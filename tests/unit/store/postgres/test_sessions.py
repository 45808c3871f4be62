"""Each connection has a session of its own, or the router says what is in between."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from router.cli.doctor_online import of_database
from router.errors import StoreRefused
from router.model.store_address import DatabaseUrl, PostgresDatabase
from router.store.postgres.database import Database
from router.store.postgres.reader import open_reader
from router.store.postgres.sessions import have_sessions
from router.store.postgres.store import PostgresStore, open_store
from tests.clocks import ManualClock
from tests.postgres.pooler import pooled
from tests.postgres.server import Server
from tests.store_values import Maker, lease_one

LENDING = ["transaction", "statement"]
SET = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "jit")


@pytest.mark.parametrize("mode", LENDING)
async def test_a_pooler_that_lends_sessions_is_refused_and_nothing_is_left_in_them(
    store: PostgresStore, postgres_server: Server, worker_id: str, tmp_path: Path, mode: str
) -> None:
    assert store.shared, "the tables are there"
    async with pooled(postgres_server, tmp_path, worker_id, mode) as address:
        before = await settings(address)
        for opened in (open_store(address, clock=ManualClock()), open_reader(address)):
            with pytest.raises(StoreRefused, match="let the pooler work in session mode"):
                await opened
        assert await settings(address) == before


async def settings(address: str) -> list[Any]:
    """What a stranger has who comes by the same pooler."""
    connection = await asyncpg.connect(address, statement_cache_size=0)
    try:
        return [await connection.fetchval(f"SHOW {name}") for name in SET]
    finally:
        await connection.close()


async def test_doctor_says_so(
    store: PostgresStore, postgres_server: Server, worker_id: str, tmp_path: Path
) -> None:
    assert store.shared
    async with pooled(postgres_server, tmp_path, worker_id, "transaction") as address:
        database = PostgresDatabase(DatabaseUrl(address))
        (check,) = await asyncio.to_thread(lambda: list(of_database(database)))
        assert (check.name, check.verdict) == ("database", "problem")
        assert "behind a pooler" in check.says


async def test_a_pooler_in_session_mode_is_no_hindrance(
    store: PostgresStore,
    make: Maker,
    postgres_server: Server,
    worker_id: str,
    tmp_path: Path,
) -> None:
    assert store.shared
    async with pooled(postgres_server, tmp_path, worker_id, "session") as address:
        other = await open_store(address, clock=ManualClock())
        try:
            await other.accept(make.acceptance())
            assert (await lease_one(other)).state == "running"
        finally:
            await other.close()
        db = Database(DatabaseUrl(address), ManualClock(), 6)
        await db.open()
        try:
            for lane in (db.write, db.read):
                own = await lane.run(lambda c: c.fetchval("SELECT pg_backend_pid()"))
                assert own in lane.sessions
                assert await lane.run(lambda c: c.fetchval("SHOW lock_timeout")) == "2s"
        finally:
            await db.close()


class Lent:
    """A connection that is in a session as `next_session` says."""

    def __init__(self, next_session: Callable[[], int]) -> None:
        self._next = next_session

    async def fetchval(self, _sql: str) -> int:
        return self._next()


def taking(*sessions: int) -> Callable[[], int]:
    """These, again and again."""
    left: list[int] = []

    def following() -> int:
        left[:] = left or sessions
        return left.pop(0)

    return following


def elsewhere() -> int:
    raise asyncpg.InvalidSQLStatementNameError("there is no such statement here")


@pytest.mark.parametrize(
    ("one", "other", "own"),
    [
        ([1], [2], True),
        ([1], [1], False),
        ([1, 1, 1, 1, 3], [2], False),
        ([1], [2, 3], False),
        ([1, 2], [3], False),
    ],
)
async def test_a_session_is_one_s_own_if_it_stays_and_nobody_else_has_it(
    one: Sequence[int], other: Sequence[int], own: bool
) -> None:
    connections: list[Any] = [Lent(taking(*one)), Lent(taking(*other))]
    assert await have_sessions(*connections) is own


async def test_a_statement_that_was_prepared_elsewhere_tells_too() -> None:
    connections: list[Any] = [Lent(taking(1)), Lent(elsewhere)]
    assert not await have_sessions(*connections)
