"""`router store migrate` and `router store prune --dry-run` of a PostgreSQL database."""

import asyncio
import json
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.model.store_address import DatabaseUrl
from router.store.postgres import schema
from router.store.postgres.connection import Lane
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import open_store
from router.store.removal import Retain
from tests.clocks import START_MS
from tests.postgres.server import Server
from tests.store_values import FAR, Maker
from tests.unit.cli.conftest import Router


@pytest.fixture
def address(postgres_server: Server, new_database: str) -> str:
    return postgres_server.address(new_database)


@pytest.mark.long
def test_tables_are_looked_at(
    router: Router, address: str, new_database: str, postgres_server: Server
) -> None:
    none = router("store", "migrate", "--store", address)
    assert (none.code, "no tables" in none.err) == (1, True)

    async def make() -> None:
        await (await open_store(address, clock=SystemClock())).close()

    asyncio.run(make())
    found = router("store", "migrate", "--store", address)
    assert found.code == 0
    assert f"has schema {schema.VERSION}, as this router needs" in found.out
    postgres_server.execute("UPDATE ledger SET schema = 3", database=new_database)
    old = router("store", "migrate", "--store", address)
    assert (old.code, "earlier development version" in old.err) == (1, True)


def test_what_retention_would_remove_is_what_it_removes(
    router: Router, rules: Path, empty_postgres: str
) -> None:
    """Deliveries without jobs of months ago; one with an open job stays."""

    async def fill() -> None:
        store, make = await open_store(empty_postgres, clock=SystemClock()), Maker()
        for number in range(3):
            await store.accept(make.acceptance(b"k%d" % number, jobs=(), keys_until=START_MS))
        await store.accept(make.acceptance())
        await store.close()

    asyncio.run(fill())
    ran = router("store", "prune", "-f", rules, "--store", empty_postgres, "--dry-run", "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)

    async def removed() -> tuple[int, int]:
        store = await open_store(empty_postgres, clock=SystemClock())
        over = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=FAR)
        try:
            done = await store.prune(over, now=FAR)
            return done.deliveries, done.keys
        finally:
            await store.close()

    assert (said["deliveries"], said["keys"]) == asyncio.run(removed()) == (3, 3)
    assert said["dry_run"]


WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


async def test_who_comes_while_another_makes_the_tables_waits(address: str) -> None:
    """However long that takes: not only as long as for a lock of a row."""
    db = Database(DatabaseUrl(address), SystemClock(), 4)
    impatient = Lane(db.address, "impatient", 1, 5.0, {"lock_timeout": "1ms"})
    try:
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:

            async def hold(tx: Tx) -> None:
                await tx.run("SELECT pg_advisory_xact_lock($1)", schema._LOCK)
                tasks.create_task(impatient.run(schema.make))
                while not await tx.one(WAITING):  # noqa: ASYNC110 - it is the server that changes
                    await asyncio.sleep(0)
                await tx.run("SELECT pg_sleep(0.01)")
                assert await tx.one(WAITING), "it has not given up"

            await db.transact(hold)
        assert await db.ask(lambda tx: tx.one("SELECT schema FROM ledger")) == schema.VERSION
    finally:
        await db.close()
        await impatient.close()
