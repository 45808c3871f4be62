"""A PostgreSQL store read without a router: by the command line."""

import asyncpg
import pytest

from router.errors import StoreRefused, StoreUnavailable
from router.store.common.states import DEAD
from router.store.postgres.database import Database, Tx
from router.store.postgres.reader import PostgresReader, open_reader
from router.store.postgres.store import PostgresStore
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import Maker
from tests.unit.store.postgres.ledger import add_delivery, add_job


async def test_it_reads_what_others_write(
    store: PostgresStore, make: Maker, empty_postgres: str
) -> None:
    reader = await open_reader(empty_postgres)
    assert await reader.deliveries(Selector()) == ()
    receipt = await store.accept(make.acceptance())
    assert [one.id for one in await reader.deliveries(Selector())] == [receipt.delivery]
    assert await reader.offset() == 0
    await reader.close()
    with pytest.raises(StoreUnavailable):
        await reader.counts()


async def test_what_reads_cannot_write(db: Database) -> None:
    with pytest.raises(StoreUnavailable, match="read-only"):
        await db.ask_once(lambda tx: tx.run("UPDATE ledger SET schema = 0"))


@pytest.mark.parametrize(
    ("found", "oldest", "words"),
    [(3, 1, "earlier development version"), (99, 99, "install a newer")],
)
async def test_another_schema_is_refused(
    store: PostgresStore,
    empty_postgres: str,
    found: int,
    oldest: int,
    words: str,
) -> None:
    database = await asyncpg.connect(empty_postgres)
    was = await database.fetchrow("SELECT schema, oldest_program FROM ledger")
    change = "UPDATE ledger SET schema = $1, oldest_program = $2"
    await database.execute(change, found, oldest)
    try:
        with pytest.raises(StoreRefused, match=words):
            await open_reader(empty_postgres)
    finally:
        await database.execute(change, *was)
        await database.close()


async def test_a_newer_schema_that_we_understand_is_read(
    store: PostgresStore, empty_postgres: str
) -> None:
    database = await asyncpg.connect(empty_postgres)
    await database.execute("UPDATE ledger SET schema = schema + 1")
    try:
        await (await open_reader(empty_postgres)).close()
    finally:
        await database.execute("UPDATE ledger SET schema = schema - 1")
        await database.close()


@pytest.mark.long
async def test_reasons_are_put_together_when_the_question_s_transaction_has_ended(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """They may take longer than one may stand idle."""
    delivery, count = make.delivery().id, 5_000

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        ids = [make.job().id for _ in range(count)]
        await add_job(tx, delivery, *ids, state=DEAD, ended_at=START_MS)
        await tx.run("UPDATE jobs SET reason = repeat(md5(id::text) || ' ', 100)")

    await db.transact(fill)
    reader = PostgresReader(db, _nothing)
    idle = "SET idle_in_transaction_session_timeout = '1s'"
    await db.read.run(lambda connection: connection.execute(idle))
    (cause,) = await reader.causes(Selector())
    assert cause.count == count
    assert await reader.names("cause") == (cause.key,)


async def _nothing() -> None:
    """Nothing is held in memory."""
