"""Sessions of a router that is cut off in the middle of a transaction."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import pytest

from router.errors import StoreUnavailable
from router.model.store_address import DatabaseUrl
from router.store.postgres.abandoned import end_abandoned
from router.store.postgres.connection import IDLE_S
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import PostgresStore
from tests.clocks import ManualClock
from tests.postgres.proxy import Relay
from tests.store_values import FAR
from tests.unit.store.postgres.at_once import meanwhile, uncommitted
from tests.unit.store.postgres.looking import rows

LOCK = "SELECT pg_advisory_xact_lock(7)"
NEW = "SELECT 'never prepared before'"
LEFT = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND query = $$SELECT 'never prepared before'$$
    AND state = 'active' AND wait_event = 'ClientRead'
"""
PATIENCE_S = 30.0


@asynccontextmanager
async def cut_off(db: Database, relay: Relay, clock: ManualClock) -> AsyncIterator[None]:
    """A router has a lock, begins to prepare a statement, and hears nothing any more."""
    router = Database(DatabaseUrl(relay.address), clock, 6)

    async def work(tx: Tx) -> None:
        await tx.one(LOCK)
        await tx.one(NEW)

    relay.lose(NEW.encode(), "silence")
    task = asyncio.ensure_future(router.transact(work))
    await until(db, LEFT)
    yield
    with pytest.raises(StoreUnavailable):
        await task
    await router.close()


async def until(db: Database, sql: str) -> None:
    """The count is one."""
    async with asyncio.timeout(PATIENCE_S):
        while (await rows(db, sql))[0][0] != 1:
            pass


@pytest.mark.long
async def test_a_session_that_is_left_while_it_prepares_keeps_nobody_waiting(
    db: Database, relay: Relay, clock: ManualClock
) -> None:
    async with cut_off(db, relay, clock):
        assert await end_abandoned(db, PATIENCE_S) == 0  # it may be heard of yet
        assert await end_abandoned(db, 0) == 1
        await db.transact(lambda tx: tx.one(LOCK))


async def test_sessions_that_are_idle_or_wait_for_another_are_left_alone(db: Database) -> None:
    def lock() -> Coroutine[None, None, None]:
        return db.transact(lambda tx: tx.one(LOCK))

    async with uncommitted(db, lambda tx: tx.one(LOCK)):
        waiting = await meanwhile(db, lock())
        assert await end_abandoned(db, 0) == 0
    await waiting


@pytest.mark.long
async def test_whoever_reclaims_jobs_ends_them(
    db: Database, store: PostgresStore, relay: Relay, clock: ManualClock
) -> None:
    """The clock is the server's: `IDLE_S` pass."""
    async with cut_off(db, relay, clock):
        old = LEFT + f" AND state_change < clock_timestamp() - {IDLE_S} * interval '1 second'"
        await until(db, old)
        await store.recover(nodes=set(), now=FAR, on_interrupt_dead=frozenset())
        await db.transact(lambda tx: tx.one(LOCK))
