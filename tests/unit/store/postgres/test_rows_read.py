"""How many rows of a long queue are read, though it was empty when it was counted last."""

import pytest

from router.model.job import Predecessor
from router.store.common.chains import TARGET
from router.store.postgres import holding, operations, runs
from router.store.postgres.connection import Lane
from router.store.postgres.database import Database, Tx
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import GENERATION, Maker
from tests.unit.store.postgres.ledger import add_delivery, add_open_job
from tests.unit.store.postgres.looking import run
from tests.unit.store.postgres.running import add_runs, end_within, states

pytestmark = pytest.mark.long

LONG = 1_000
_MANY = f"""
    INSERT INTO queue (job, delivery, target, rule, state, replayed, due_at, waits, lease)
    SELECT gen_random_uuid(), gen_random_uuid(), 'crm', 'other', 0, false, n,
        CASE WHEN n % 2 = 0 THEN 1 ELSE 0 END, CASE WHEN n % 2 = 1 THEN '7/' || n END
    FROM generate_series(1, {LONG}) n
"""  # noqa: S608 - our words
_READ = (
    "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables "
    "WHERE relname = 'queue'"
)


@pytest.fixture
async def long(db: Database) -> Database:
    """Its queue has pages, and no rows as far as the planner knows."""
    await run(db, _MANY)
    await run(db, "DELETE FROM queue")
    await run(db, "ANALYZE")
    await run(db, _MANY)
    return db


async def read(tx: Tx) -> int:
    """By this transaction."""
    return int(await tx.one(_READ))


@pytest.mark.parametrize("purpose", ["dispatch", "write"])
async def test_ends_of_runs_read_their_jobs_alone(
    long: Database, make: Maker, purpose: str
) -> None:
    count, after = 20, (Predecessor("a"),)
    both = [
        [make.job(run=name, action="a"), make.job(run=name, action="b", after=after)]
        for name in map(str, range(count))
    ]
    await add_runs(long, make, *both)
    ids = [first.id for first, _ in both]

    async def settle(tx: Tx) -> int:
        for first, _ in both:
            await end_within(tx, first)
        before = await read(tx)
        async with runs.changing(tx, START_MS, runs=ids) as changes:
            for id_ in ids:
                await changes.follow(id_)
        return await read(tx) - before

    lane: Lane = getattr(long, purpose)
    rows = await long.transact(settle, lane)
    assert await states(long, *[second for _, second in both]) == ["available"] * count
    assert rows <= 4 * count


@pytest.mark.parametrize("verb", ["cancel", "hold", "resume"])
async def test_changes_of_some_jobs_read_the_queue_a_few_times(
    long: Database, make: Maker, verb: str
) -> None:
    count, delivery = 40, make.delivery().id
    waits = TARGET if verb == "resume" else 0

    async def change(tx: Tx) -> tuple[int, int]:
        before = await read(tx)
        if verb == "cancel":
            paid = Selector(rule="paid")
            changed, _ = await operations.cancel(
                tx, selector=paid, reason="no", now=START_MS, after=None
            )
        elif verb == "hold":
            changed = await holding.hold(tx, {"paid"}, generation=GENERATION, now=START_MS)
        else:
            changed = await holding.resume(tx, "erp", START_MS)
        return changed, await read(tx) - before

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        await add_open_job(tx, delivery, *[make.job().id for _ in range(count)], waits=waits)

    await long.transact(fill)
    changed, rows = await long.transact(change)
    assert changed == count
    assert rows <= 4 * LONG
