"""Jobs of gone routers reclaimed; a row that cannot be read ends the router."""

import asyncio

import pytest

from router.model.job import Attempt, Job, NewJob, Predecessor
from router.model.store_address import DatabaseUrl
from router.store.common.damage import Damaged
from router.store.postgres.database import Database
from router.store.postgres.recovering import STEP
from router.store.postgres.store import PostgresStore
from router.store.values import APART_MS, LOST, Acceptance, Recovered
from tests.clocks import ManualClock
from tests.store_values import FAR, Maker, a_settlement, lease_one
from tests.unit.store.postgres.looking import jobs, rows, run

NOBODY: frozenset[tuple[str, str]] = frozenset()


async def states(db: Database) -> dict[str, str]:
    """By rule."""
    return {job.rule: job.state for job in await jobs(db)}


async def test_two_that_reclaim_the_same_do_it_once(
    store: PostgresStore, db: Database, empty_postgres: str, clock: ManualClock, make: Maker
) -> None:
    other = PostgresStore(Database(DatabaseUrl(empty_postgres), clock, 6))
    made = [make.job(rule=f"r{n % 3}") for n in range(60)]
    await store.accept(make.acceptance(jobs=made))
    await store.lease({"erp": 60}, lease="9/1", now=FAR)
    told: list[str] = []

    def died(job: Job, _attempt: Attempt) -> Acceptance:
        told.append(job.id)
        return make.acceptance(job.id.encode(), endpoint="router", jobs=())

    dead = frozenset({("r1", "erp")})
    both = await asyncio.gather(
        *[
            one.recover(nodes={"9"}, now=FAR, on_interrupt_dead=dead, died=died)
            for one in (store, other, store, other)
        ]
    )
    await other.close()
    assert sum(one.reclaimed for one in both) == 40
    assert sum(one.dead for one in both) == len(told) == 20
    assert {(j.rule, j.state, j.deaths) for j in await jobs(db) if j.rule != "router"} == {
        ("r0", "available", 1), ("r1", "dead", 1), ("r2", "available", 1)
    }  # fmt: skip
    counts = "SELECT (SELECT count(*) FROM attempts), (SELECT count(*) FROM deliveries)"
    assert [tuple(row) for row in await rows(db, counts)] == [(60, 21)]


async def test_however_many_those_that_died_twice_come_back_one_by_one(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    count = STEP + 1
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(count)]))
    await store.lease({"erp": count}, lease="9/1", now=FAR)
    await run(db, "UPDATE queue SET deaths = 1")
    recovered = await store.recover(nodes={"8", "9"}, now=FAR, on_interrupt_dead=NOBODY)
    assert recovered == Recovered(count, 0)
    due = sorted(job.due_at - FAR for job in await jobs(db))
    assert due == [n * APART_MS for n in range(count)]


def a_chain(make: Maker) -> list[NewJob]:
    """`b` runs after `a`."""
    first = make.job(rule="a", action="a")
    needs = (Predecessor("a"),)
    return [
        make.job(id=first.id, rule="a", action="a", run=first.id),
        make.job(rule="b", action="b", run=first.id, after=needs),
    ]


async def test_who_waits_for_one_that_is_dead_of_it_is_cancelled(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=a_chain(make)))
    job = await lease_one(store, lease="9/1")
    assert await states(db) == {"a": "running", "b": "waiting"}
    dead = frozenset({("a", "a")})
    recovered = await store.recover(nodes={"9"}, now=FAR, on_interrupt_dead=dead)
    assert recovered == Recovered(0, 1)
    assert await states(db) == {"a": "dead", "b": "cancelled"}
    assert await store.settle(a_settlement(job)) == LOST


# Rows that cannot be read

SPOILT = ("kind = 99", "needs = '[7]'", "generation = 99", "covers = NULL, kind = -1")


@pytest.mark.parametrize("spoilt", SPOILT)
async def test_a_due_job_that_cannot_be_read_ends_the_router(
    store: PostgresStore, db: Database, make: Maker, spoilt: str
) -> None:
    made = [make.job(rule=rule) for rule in "abc"]
    await store.accept(make.acceptance(jobs=made))
    await run(db, f"UPDATE jobs SET {spoilt} WHERE rule = 'b'")  # noqa: S608 - our words
    with pytest.raises(Damaged, match=rf"row {made[1].id} of table jobs .* restore a backup"):
        await store.lease({"erp": 3}, lease="9/1", now=FAR)
    assert made[1].id in store.failure.result()


async def test_a_run_with_a_row_that_cannot_be_read_ends_the_router(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    chain = a_chain(make)
    await store.accept(make.acceptance(jobs=chain))
    job = await lease_one(store, lease="9/1")
    await run(db, "UPDATE jobs SET needs = '[7]' WHERE rule = 'b'")
    with pytest.raises(Damaged, match=chain[1].id):
        await store.settle(a_settlement(job))
    assert chain[1].id in store.failure.result()


async def test_a_job_that_is_to_be_reclaimed_and_cannot_be_read_ends_the_router(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    made = [make.job(rule=rule) for rule in "ab"]
    await store.accept(make.acceptance(jobs=made))
    await store.lease({"erp": 2}, lease="9/1", now=FAR)
    await run(db, "UPDATE jobs SET kind = 99 WHERE rule = 'a'")
    with pytest.raises(Damaged, match=made[0].id):
        await store.recover(nodes={"9"}, now=FAR, on_interrupt_dead=NOBODY)
    assert await rows(db, "SELECT count(*) FROM queue WHERE lease = '9/1'") == [(2,)]
