"""Days of the big tables."""

import asyncio

from router.model.settings import DAY_MS
from router.store.postgres import partitions
from router.store.postgres.database import Database, Tx
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker
from tests.unit.store.postgres.ledger import add_delivery

TODAY = START_MS // DAY_MS
FAR_OFF = 90_000


async def test_days_are_there_a_week_ahead(db: Database, clock: ManualClock) -> None:
    await clock.advance(86_400)
    await db.transact(lambda tx: partitions.prepare(tx, clock.ledger()))
    assert set(range(TODAY, TODAY + 9)) <= set(await db.ask(partitions.there))


async def test_a_day_that_several_add_at_once_is_there_once(db: Database) -> None:
    await asyncio.gather(
        *[db.transact(lambda tx: partitions.add(tx, FAR_OFF, FAR_OFF + 1)) for _ in range(4)]
    )
    assert {FAR_OFF, FAR_OFF + 1} <= set(await db.ask(partitions.there))


async def test_a_day_is_added_beside_whoever_reads_and_writes(db: Database, make: Maker) -> None:
    """Each would wait for the other's end, for ever, if one of them waited."""

    async def write(tx: Tx) -> None:
        await add_delivery(tx, make.delivery().id)
        await tx.all("SELECT 1 FROM deliveries, jobs, attempts")
        await db.transact(lambda other: partitions.add(other, FAR_OFF + 2))

    await db.transact(write)
    assert FAR_OFF + 2 in await db.ask(partitions.there)


async def test_a_new_day_has_what_its_table_has(db: Database) -> None:
    """The same indexes, defaults and ways of storing, so that bodies are not compressed there."""
    await db.transact(lambda tx: partitions.add(tx, FAR_OFF))
    of_columns = (
        "SELECT attname, atttypid, attnotnull, attstorage, pg_get_expr(adbin, adrelid) "
        "FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
        "WHERE attrelid = $1::text::regclass AND attnum > 0 ORDER BY 1"
    )
    attached = (
        "SELECT count(*) FROM pg_index i JOIN pg_inherits h ON h.inhrelid = i.indexrelid "
        "WHERE i.indrelid = $1::text::regclass"
    )
    indexes = "SELECT count(*) FROM pg_index WHERE indrelid = $1::text::regclass"
    for table in partitions.DAYS:
        parent, day = f"{table}_days", f"{table}_{FAR_OFF}"
        both = [await db.ask(lambda tx, at=at: tx.all(of_columns, at)) for at in (parent, day)]
        assert both[0] == both[1]
        count = await db.ask(lambda tx, at=parent: tx.one(indexes, at))
        assert count == await db.ask(lambda tx, at=day: tx.one(indexes, at))
        assert count == await db.ask(lambda tx, at=day: tx.one(attached, at))
