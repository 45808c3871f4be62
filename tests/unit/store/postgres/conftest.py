"""A database with the router's tables, and nothing in them."""

from collections.abc import AsyncIterator

import pytest

from router.model.store_address import DatabaseUrl
from router.store.postgres import partitions, schema
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore, open_store
from tests.clocks import ManualClock
from tests.postgres.proxy import Relay
from tests.postgres.server import Server
from tests.store_values import GENERATION

POOL = 8
"""Of its three connections that write, two are for whatever is not a delivery."""


@pytest.fixture
async def db(empty_postgres: str, clock: ManualClock) -> AsyncIterator[Database]:
    db = Database(DatabaseUrl(empty_postgres), clock, POOL)
    await db.open()
    await db.write.run(schema.make)
    await db.transact(lambda tx: partitions.prepare(tx, clock.ledger()))
    yield db
    await db.close()


@pytest.fixture
async def other(db: Database, empty_postgres: str, clock: ManualClock) -> AsyncIterator[Database]:
    """Another router's connections; both know the generation, so neither waits for its row."""
    other = Database(DatabaseUrl(empty_postgres), clock, POOL)
    await other.open()
    for one in (db, other):
        await one.number([GENERATION])
    yield other
    await other.close()


@pytest.fixture
async def store(empty_postgres: str, clock: ManualClock) -> AsyncIterator[PostgresStore]:
    store = await open_store(empty_postgres, clock=clock, pool=POOL)
    yield store
    await store.close()


@pytest.fixture
async def relay(db: Database, postgres_server: Server, worker_id: str) -> AsyncIterator[Relay]:
    """Connections to the same database that get lost."""
    assert db
    async with Relay(postgres_server.address(worker_id, tcp=True)).relaying() as relay:
        yield relay
