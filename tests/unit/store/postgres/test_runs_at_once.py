"""Two routers change runs at once: a turn is given once, and nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.common.run_changes import NewRun
from router.store.common.states import RUNNING
from router.store.postgres import leasing, runs
from router.store.postgres.database import Database, Tx
from router.store.postgres.job_rows import job_row
from router.store.postgres.store import PostgresStore, open_store
from router.store.protocol import Store
from router.store.values import Accepted
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker, a_settlement
from tests.unit.store.postgres.at_once import Pause, meanwhile, paused, uncommitted
from tests.unit.store.postgres.ledger import add_delivery
from tests.unit.store.postgres.looking import rows
from tests.unit.store.postgres.running import Outcome, add_runs, add_within, end, end_within, states

FREED = (("erp", START_MS),)


def grouped(make: Maker, on_busy: str = "queue", value: str = "x") -> list[NewJob]:
    """A run of one job in a group of one at a time."""
    turn = Turn(f"deploy\x1f{value}", value, Group(1, on_busy))  # type: ignore[arg-type]  # a word
    return [make.job(run="r", turn=turn)]


async def adding(tx: Tx, make: Maker, *runs_of: list[NewJob]) -> list[Outcome]:
    """As `add_runs`, within a transaction."""
    delivery = make.delivery().id
    await add_delivery(tx, delivery)
    return await add_within(tx, delivery, await tx.generation(GENERATION), runs_of)


async def never() -> None:
    """No pause."""


async def ending(tx: Tx, run: list[NewJob], job: NewJob) -> Outcome:
    """As `end`, within a transaction."""
    async with runs.changing(tx, START_MS, runs=[run[0].id]) as changes:
        await end_within(tx, job)
        await changes.follow(run[0].id)
    return changes.outcome()


async def test_the_last_two_predecessors_of_a_job_end_at_once(
    db: Database, other: Database, make: Maker
) -> None:
    both = (Predecessor("a"), Predecessor("b"))
    jobs = [make.job(action=name, run="r") for name in "ab"]
    jobs.append(make.job(action="c", run="r", after=both))
    await add_runs(db, make, jobs)
    begun: list[NewJob] = []

    async def end_it(tx: Tx, pause: Pause, job: NewJob) -> Outcome:
        begun.append(job)
        async with runs.changing(tx, START_MS, runs=[jobs[0].id]) as changes:
            await end_within(tx, job)
            await pause()
            await changes.follow(jobs[0].id)
        return changes.outcome()

    async with paused(db, partial(end_it, job=jobs[0])) as first:
        work = partial(end_it, pause=never, job=jobs[1])
        second = await meanwhile(db, other.transact(work))
    assert (await first, await second) == (((), ()), (FREED, ()))
    assert await states(db, *jobs) == ["succeeded", "succeeded", "available"]
    assert begun == jobs[:2], "neither stood in the other's way"


@pytest.mark.parametrize("met", [False, True], ids=["a new group", "a known group"])
@pytest.mark.parametrize(
    ("on_busy", "expected"),
    [
        ("queue", ["available", "waiting"]),
        ("latest", ["cancelled superseded", "available"]),
        ("drop", ["available", "cancelled busy"]),
    ],
)
async def test_two_runs_of_a_group_come_at_once(
    db: Database, other: Database, make: Maker, on_busy: str, met: bool, expected: list[str]
) -> None:
    """The one that has the lock first is the first: as one after the other, whatever the order."""
    if met:
        earlier = grouped(make, on_busy)
        await add_runs(db, make, earlier)
        await end(db, earlier, earlier[0])
    younger, older = grouped(make, on_busy), grouped(make, on_busy)
    async with uncommitted(db, lambda tx: adding(tx, make, older)):
        second = await meanwhile(db, add_runs(other, make, younger))
    await second
    assert await states(db, older[0], younger[0]) == expected
    places = await rows(db, "SELECT n FROM runs WHERE turn IS NOT NULL ORDER BY n")
    assert len({n for (n,) in places}) == len(places)


async def test_a_run_comes_as_the_one_before_it_ends(
    db: Database, other: Database, make: Maker
) -> None:
    first, second = grouped(make), grouped(make)
    await add_runs(db, make, first)
    async with uncommitted(db, partial(ending, run=first, job=first[0])):
        added = await meanwhile(db, add_runs(other, make, second))
    assert await added == [(FREED, ())]
    assert await states(db, second[0]) == ["available"]


async def test_a_run_ends_as_the_one_after_it_comes(
    db: Database, other: Database, make: Maker
) -> None:
    first, second = grouped(make), grouped(make)
    await add_runs(db, make, first)
    async with uncommitted(db, lambda tx: adding(tx, make, second)):
        ended = await meanwhile(db, end(other, first, first[0]))
    assert await ended == (FREED, ())
    assert await states(db, second[0]) == ["available"]


async def test_a_job_is_not_leased_while_a_newer_run_supersedes_its_own(
    db: Database, other: Database, make: Maker
) -> None:
    first, second = grouped(make, "latest"), grouped(make, "latest")
    await add_runs(db, make, first)
    delivery = make.delivery().id
    row = job_row(second[0], delivery, db.numbers_today()[GENERATION], START_MS)
    new = NewRun(second, [row], second[0].turn)

    async def add(tx: Tx, pause: Pause) -> None:
        await add_delivery(tx, delivery)
        async with runs.changing(tx, START_MS, new=[new]) as changes:
            await changes.add(new)
            await pause()

    async with paused(db, add):
        batch = await leasing.lease(other, {"erp": 9}, lease="n/1", now=FAR)
    assert batch.jobs == ()
    assert await states(db, first[0], second[0]) == ["cancelled superseded", "available"]


async def test_a_run_is_not_superseded_while_its_job_is_leased(
    db: Database, other: Database, make: Maker
) -> None:
    """Its attempt has been recorded, so it will begin."""
    first, second = grouped(make, "latest"), grouped(make, "latest")
    await add_runs(db, make, first)
    lease = "UPDATE queue SET state = $1, lease = 'n/1', attempt = 1"
    async with uncommitted(db, lambda tx: tx.run(lease, RUNNING)):
        added = await meanwhile(db, add_runs(other, make, second))
    assert await added == [((), ())]
    assert await states(db, first[0], second[0]) == ["running", "waiting"]


async def test_groups_are_locked_in_one_order(db: Database, other: Database, make: Maker) -> None:
    """Whoever waits for one holds none of those behind it."""

    def given(values: str) -> list[list[NewJob]]:
        return [grouped(make, value=value) for value in values]

    await add_runs(db, make, *given("xy"))
    async with uncommitted(db, lambda tx: adding(tx, make, *given("x"))):
        back = await meanwhile(db, add_runs(other, make, *given("yx")))
        free = "SELECT key FROM groups FOR UPDATE SKIP LOCKED"
        assert await db.transact(lambda tx: tx.all(free)) == [(b"deploy\x1fy",)]
    await back


@pytest.fixture
async def both(empty_postgres: str, clock: ManualClock) -> AsyncIterator[list[PostgresStore]]:
    stores = [await open_store(empty_postgres, clock=clock) for _ in range(2)]
    yield stores
    for store in stores:
        await store.close()


class Work:
    """Runs of one group, each of two jobs, that any router accepts, leases and settles."""

    def __init__(self, make: Maker, limit: int, count: int) -> None:
        turn = Turn("deploy\x1fx", "x", Group(limit))
        self.make = make
        self.runs = [
            [make.job(action="a", run="r", turn=turn), make.job(action="b", run="r", turn=turn)]
            for _ in range(count)
        ]
        self.coming = list(self.runs)
        self.run_of = {job.id: n for n, run in enumerate(self.runs) for job in run}
        self.left = 2 * count
        self.under_way: set[str] = set()
        self.begun: list[int] = []
        self.most = 0

    async def accept(self, store: Store) -> None:
        while self.coming:
            jobs = self.coming.pop(0)
            assert isinstance(await store.accept(self.make.acceptance(jobs=jobs)), Accepted)

    async def run(self, store: Store, name: str) -> None:
        leases = 0
        while self.left:
            leases += 1
            batch = await store.lease({"erp": 2}, lease=f"{name}/{leases}", now=FAR)
            for work in batch.jobs:
                self.under_way.add(work.job.id)
                self.begun.append(self.run_of[work.job.id])
            self.most = max(self.most, len({self.run_of[id_] for id_ in self.under_way}))
            for work in batch.jobs:
                self.under_way.remove(work.job.id)
                assert await store.settle(a_settlement(work.job))
                self.left -= 1


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 3])
async def test_two_routers_work_through_a_group(
    db: Database, both: list[PostgresStore], make: Maker, limit: int
) -> None:
    """All at once: every run has its turn, never more than may, and in their order."""
    work = Work(make, limit, 24)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for n, store in enumerate(both):
            for worker in range(2):
                tasks.create_task(work.accept(store))
                tasks.create_task(work.run(store, f"{n}.{worker}"))
    assert work.most <= limit
    assert sorted(work.begun) == sorted([*range(24), *range(24)])
    came = [
        work.run_of[f"job_{id_}"] for (id_,) in await rows(db, "SELECT id FROM runs ORDER BY n")
    ]
    assert limit > 1 or list(dict.fromkeys(work.begun)) == came
