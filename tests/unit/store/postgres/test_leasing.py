"""Leasing and settling: what is handed out, to whom, and what becomes of it."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from router.errors import StoreUnavailable
from router.model.ids import Ids
from router.model.job import Job
from router.model.store_address import DatabaseUrl
from router.store.postgres import leasing
from router.store.postgres.connection import Connection
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import PostgresStore
from router.store.values import ALREADY, HELD, LOST, LeaseBatch
from tests.clocks import START_MS, ManualClock
from tests.postgres.proxy import Relay
from tests.store_values import FAR, GENERATION, Maker, a_settlement, lease_one
from tests.unit.store.postgres.looking import jobs, rows, run


def ids(batch: LeaseBatch) -> list[str]:
    return [work.job.id for work in batch.jobs]


# What is handed out


async def test_jobs_of_a_replay_come_when_no_other_is_due(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    made = [make.job(due_at=START_MS + at) for at in (1, 2, 3, 5_000)]
    await store.accept(make.acceptance(jobs=made))
    replayed, first, second, later = [job.id for job in made]
    await run(db, "UPDATE queue SET replayed = true WHERE due_at = 1750000000001")
    batch = await store.lease({"erp": 1}, lease="1/1", now=START_MS + 9)
    assert (ids(batch), batch.next_due) == ([first], {"erp": START_MS + 1})
    batch = await store.lease({"erp": 3}, lease="1/2", now=START_MS + 9)
    assert sorted(ids(batch)) == sorted([replayed, second])
    assert batch.next_due == {"erp": START_MS + 5_000}
    assert ids(await store.lease({"erp": 3}, lease="1/3", now=FAR)) == [later]


@pytest.mark.long
async def test_bodies_handed_out_at_once_are_bounded(store: PostgresStore, make: Maker) -> None:
    """The rest is not leased: it is due as before."""
    body = bytes(leasing.LEASED_BYTES // 2 + 1)
    given = [make.acceptance(body=body, jobs=[make.job()]) for _ in range(3)]
    small = make.acceptance(jobs=[make.job(target="other")])
    await store.accept_all([*given, small])
    batch = await store.lease({"erp": 3, "other": 1}, lease="1/1", now=FAR)
    assert ids(batch) == [one.jobs[0].id for one in given[:2]]
    assert batch.next_due == {"erp": START_MS, "other": START_MS}
    batch = await store.lease({"erp": 3, "other": 1}, lease="1/2", now=FAR)
    assert ids(batch) == [given[2].jobs[0].id, small.jobs[0].id]
    assert {work.job.attempt for work in batch.jobs} == {1}


async def test_those_named_come_first_and_once(store: PostgresStore, make: Maker) -> None:
    made = [make.job(due_at=START_MS + at) for at in (1, 2, 3, 4, 5_000)]
    await store.accept(make.acceptance(jobs=[*made, make.job(target="other")]))
    one, two, three, four, later = [job.id for job in made]
    fresh = {"erp": [four, later, one], "none": [two]}
    batch = await store.lease({"erp": 3}, lease="1/1", now=START_MS + 9, fresh=fresh)
    assert ids(batch) == [one, two, four]
    assert batch.next_due == {"erp": START_MS + 3}
    assert ids(await store.lease({"erp": 3}, lease="1/2", now=START_MS + 9)) == [three]


async def test_what_another_holds_just_now_is_passed_over_and_asked_for_soon(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    made = [make.job(due_at=START_MS + at) for at in (1, 2, 3)]
    await store.accept(make.acceptance(jobs=made))

    async def hold(tx: Tx) -> LeaseBatch:
        await tx.run("SELECT FROM queue WHERE due_at = $1 FOR UPDATE", START_MS + 1)
        return await store.lease({"erp": 3}, lease="1/1", now=START_MS + 9)

    batch = await db.transact(hold)
    assert ids(batch) == [job.id for job in made[1:]]
    assert batch.next_due == {"erp": START_MS + 9 + leasing.LOCKED_MS}
    assert ids(await store.lease({"erp": 3}, lease="1/2", now=START_MS + 9)) == [made[0].id]


async def test_a_router_that_has_just_started_knows_the_generations(
    store: PostgresStore, empty_postgres: str, clock: ManualClock, make: Maker
) -> None:
    other = "1" * 16
    acceptance = make.acceptance(jobs=[make.job(generation=other)])
    await store.accept(acceptance)
    db = Database(DatabaseUrl(empty_postgres), clock, 6)
    (work,) = (await leasing.lease(db, {"erp": 1}, lease="2/1", now=FAR)).jobs
    await db.close()
    assert (work.job.generation, work.delivery) == (other, acceptance.delivery)
    assert work.delivery.generation == GENERATION


_MANY = """
    INSERT INTO queue (job, delivery, target, rule, state, replayed, due_at)
    SELECT gen_random_uuid(), gen_random_uuid(), 'erp', 'paid', 0, false, n
    FROM generate_series(1, 5000) n
"""


async def test_leases_go_by_indexes_when_the_queue_is_long(db: Database) -> None:
    """Though it was empty when it was last counted."""
    await run(db, "ANALYZE")
    await run(db, _MANY)

    async def plan(tx: Tx) -> str:
        values = (["erp"], [16], FAR, "1/1", FAR, 1, *leasing._recent(db), [None])
        found = await tx.all(f"EXPLAIN (COSTS off) {leasing._LEASE}", *values)
        return "\n".join([line for (line,) in found])

    text = await db.state(1, plan, db.dispatch)
    assert text.count("using queue_due on queue") == 4, text
    assert "Index Cond: (job = ANY" in text, text
    for words in ("Seq Scan", "Hash Join", "Materialize", "Memoize", "Join Filter"):
        assert words not in text, text
    for table in ("jobs", "deliveries"):  # of yesterday, today, tomorrow
        assert len(set(re.findall(rf"on ({table}_[0-9]+)", text))) == 3, text


async def test_plans_are_made_anew_as_tables_grow(db: Database, clock: ManualClock) -> None:
    said: list[str] = []

    async def listen(connection: Connection) -> None:
        connection.add_query_logger(lambda record: said.append(record.query))

    await db.dispatch.run(listen)
    for step, plans in (
        (0.09, 0),
        (0.02, 1),
        (0.09, 1),
        (0.02, 2),
        (0.22, 3),
        (9, 4),
        (4.9, 4),
        (5, 5),
    ):
        await clock.advance(step)
        await db.dispatch.run(lambda c: c.execute("SELECT 1"))
        assert said.count("DISCARD PLANS") == plans, (step, said)


@pytest.mark.long
async def test_jobs_of_deliveries_of_any_day_are_leased_within_the_same_bounds(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """Also when the router has not met one of that day before."""
    body = bytes(leasing.LEASED_BYTES // 2 + 1)
    ids_at = [START_MS + day * 86_400_000 for day in (-30, -9, 0, 5)]
    made = []
    for n, at in enumerate(ids_at):
        delivery = Ids(random.Random(n)).new("dlv", at)
        jobs_ = [make.job(due_at=START_MS + n), make.job(target=f"t{n}")]
        made.append(make.acceptance(id=delivery, body=body, jobs=jobs_))
    await store.accept_all(made)
    batch = await store.lease({"erp": 4, "t0": 1}, lease="1/1", now=FAR)
    assert [work.delivery.id for work in batch.jobs] == [one.delivery.id for one in made[:2]]
    assert batch.next_due == {"erp": START_MS + 2, "t0": START_MS}
    assert len((await store.lease({"t0": 2, "t3": 1}, lease="1/2", now=FAR)).jobs) == 2
    assert {job.id for job in await jobs(db) if job.state == "running"} == {
        made[0].jobs[0].id, made[1].jobs[0].id, made[0].jobs[1].id, made[3].jobs[1].id
    }  # fmt: skip


# Several at once


async def client(address: str, clock: ManualClock, number: int, done: Counter[str]) -> None:
    """Leases and settles until nothing is left; counts what it has settled."""
    db = Database(DatabaseUrl(address), clock, 6)
    store = PostgresStore(db)
    batch = 0
    while True:
        batch += 1
        lease = f"{number}/{batch}"
        leased = await store.lease({"erp": 5, "chat": 3}, lease=lease, now=FAR)
        ends = [a_settlement(work.job) for work in leased.jobs]
        settled = await store.settle_all([(end, None) for end in ends]) if ends else ()
        assert list(settled) == [HELD] * len(ends)
        done.update([end.job for end in ends])
        if not ends and not any(leased.next_due.values()):
            break
    await store.close()


@pytest.mark.long
async def test_each_job_is_handed_to_one_router_and_ends_once(
    store: PostgresStore, db: Database, empty_postgres: str, clock: ManualClock, make: Maker
) -> None:
    made = [make.acceptance(jobs=[make.job(), make.job(target="chat")]) for _ in range(100)]
    await store.accept_all(made)
    done: Counter[str] = Counter()
    await asyncio.gather(*[client(empty_postgres, clock, n, done) for n in range(4)])
    assert done == Counter([job.id for one in made for job in one.jobs])
    assert {(job.state, job.attempt) for job in await jobs(db)} == {("succeeded", 1)}
    assert await rows(db, "SELECT count(*) FROM queue") == [(0,)]


async def test_an_old_lease_settles_nothing(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """What is given back, and leased by another, is the other's."""
    await store.accept(make.acceptance())
    old = await lease_one(store, lease="1/1")
    assert await store.settle(a_settlement(old, "available", charged=False)) == HELD
    new = await lease_one(store, lease="2/1")
    assert await store.settle(a_settlement(old)) == LOST
    assert await jobs(db) == [new]
    assert await store.settle(a_settlement(new, "dead", reason="no")) == HELD
    assert await store.settle(a_settlement(old)) == LOST
    assert await store.settle(a_settlement(new, "dead", lease="2/2")) == LOST
    assert [(job.state, job.reason) for job in await jobs(db)] == [("dead", "no")]


# Ends


async def leased(store: PostgresStore, make: Maker, count: int) -> list[Job]:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(count)]))
    batch = await store.lease({"erp": count}, lease="1/1", now=FAR)
    return [work.job for work in batch.jobs]


async def test_one_that_cannot_be_stored_fails_alone(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    good, bad, other = await leased(store, make, 3)
    given = [a_settlement(good), a_settlement(bad, reason="\ud800"), a_settlement(other)]
    answers = await store.settle_all([(end, None) for end in given])
    assert [answers[0], answers[2]] == [HELD, HELD]
    assert isinstance(answers[1], StoreUnavailable)
    assert "cannot be stored" in str(answers[1])
    assert {job.id: job.state for job in await jobs(db)} == {
        good.id: "succeeded", bad.id: "running", other.id: "succeeded"
    }  # fmt: skip


async def test_the_lease_of_another_job_settles_nothing(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(3)]))
    a, b, c = [await lease_one(store, lease=f"1/{n}") for n in range(3)]
    swapped = [a_settlement(a, lease="1/1"), a_settlement(c), a_settlement(b, lease="1/0")]
    answers = await store.settle_all([(end, None) for end in swapped])
    assert list(answers) == [LOST, HELD, LOST]
    assert {job.id for job in await jobs(db) if job.state == "running"} == {a.id, b.id}


async def test_who_comes_twice_in_a_group_is_judged_twice(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    (job,) = await leased(store, make, 1)
    first, second = a_settlement(job), a_settlement(job, "dead")
    given = [first, second, first]
    assert list(await store.settle_all([(end, None) for end in given])) == [HELD, LOST, ALREADY]
    assert [one.state for one in await jobs(db)] == ["succeeded"]


async def test_only_an_attempt_that_counts_makes_up_for_earlier_deaths(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    dead, again, back = await leased(store, make, 3)
    await run(db, "UPDATE queue SET deaths = 2")
    ends = [
        a_settlement(dead, "dead"),
        a_settlement(again, "retryable", due_at=FAR),
        a_settlement(back, "available", charged=False),
    ]
    assert list(await store.settle_all([(end, None) for end in ends])) == [HELD] * 3
    assert {job.id: job.deaths for job in await jobs(db)} == {dead.id: 0, again.id: 0, back.id: 2}


async def test_names_and_reasons_are_as_they_were(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(event="a\x00b\ue000")]))
    job = await lease_one(store)
    assert job.event == "a\x00b\ue000"
    await store.settle(a_settlement(job, "dead", reason="no\x00\ue0000"))
    assert [(one.event, one.reason) for one in await jobs(db)] == [
        ("a\x00b\ue000", "no\x00\ue0000")
    ]


async def test_an_end_of_a_job_whose_delivery_is_of_another_day(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """A group of several days, and one whose day is gone: what it kept is apart."""
    yesterday, today = make.acceptance(), make.acceptance()
    await store.accept_all([yesterday, today])
    await run(db, "UPDATE jobs SET kept = true")
    both = [work.job for work in (await store.lease({"erp": 2}, lease="1/1", now=FAR)).jobs]
    ends = a_settlement(both[0]), a_settlement(both[1], "retryable", due_at=FAR)
    assert list(await store.settle_all([(end, None) for end in ends])) == [HELD, HELD]
    found = await rows(db, "SELECT kept, number FROM attempts")
    assert [tuple(row) for row in found] == [(True, 1)] * 2


# What has an unknown outcome


@pytest.fixture
async def other(relay: Relay, clock: ManualClock) -> AsyncIterator[PostgresStore]:
    """A store whose answers can be lost."""
    store = PostgresStore(Database(DatabaseUrl(relay.address), clock, 6))
    yield store
    await store.close()


async def test_jobs_of_a_lease_whose_answer_is_lost_are_found_and_given_back(
    store: PostgresStore, other: PostgresStore, relay: Relay, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await lease_one(other, lease="2/1")
    relay.lose(b"2/2", "answer")
    with pytest.raises(StoreUnavailable):
        await other.lease({"erp": 1}, lease="2/2", now=FAR)
    assert relay.lost.is_set()
    (found,) = await other.reads.lost_leases({"2/2", "2/3"})
    assert (found.state, found.lease, found.attempt) == ("running", "2/2", 1)
    assert await other.settle(a_settlement(found, "available", charged=False)) == HELD
    again = await lease_one(store, lease="1/1")
    assert (again.id, again.attempt, again.charged) == (found.id, 2, 0)


@pytest.mark.parametrize("state", ["succeeded", "retryable"])
async def test_an_end_whose_answer_is_lost_is_found_to_be_written(
    store: PostgresStore,
    db: Database,
    other: PostgresStore,
    relay: Relay,
    make: Maker,
    state: str,
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    both = [work.job for work in (await other.lease({"erp": 2}, lease="2/1", now=FAR)).jobs]
    ends = [a_settlement(job, state, due_at=FAR) for job in both]  # type: ignore[arg-type]
    await other.settle(ends[0])
    relay.lose(b"2/1", "answer")
    assert list(await other.settle_all([(ends[1], None), (ends[0], None)])) == [ALREADY] * 2
    assert relay.lost.is_set()
    assert {(job.state, job.charged) for job in await jobs(db)} == {(state, 1)}
    assert await rows(db, "SELECT count(*) FROM attempts") == [(2,)]
