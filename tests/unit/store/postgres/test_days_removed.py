"""A day of a PostgreSQL store goes at once, and whatever comes to life again meanwhile stays."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from router.model.job import Group, Settlement, Turn
from router.model.settings import DAY_MS
from router.store.postgres import partitions
from router.store.postgres.database import Database, Tx
from router.store.postgres.day_removal import DayRemoval
from router.store.postgres.finished import Ages
from router.store.postgres.store import PostgresStore
from router.store.removal import Pruned, Retain
from router.store.values import Acceptance, Selector
from tests.clocks import START_MS
from tests.store_values import FAR, Maker, a_settlement, lease_one
from tests.unit.store.postgres.ledger import add_ended

pytestmark = pytest.mark.long

ALL = Selector()
TODAY = START_MS // DAY_MS
OVER = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=FAR)
DEAD_STAY = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=0)


@pytest.fixture
async def store(db: Database) -> PostgresStore:
    return PostgresStore(db)


async def prune(store: PostgresStore, retain: Retain = OVER) -> Pruned:
    return await store.prune(retain, now=FAR)


async def counts(db: Database, *tables: str) -> list[int]:
    sql = "SELECT count(*) FROM {}"
    return [await db.ask(lambda tx, of=of: tx.one(sql.format(of))) for of in tables]


EVERYWHERE = ("deliveries", "jobs", "attempts", "queue", "runs", "groups", "copies")


async def ended(store: PostgresStore, make: Maker, state: str = "succeeded") -> Acceptance:
    """A delivery whose one job has ended so."""
    one = make.acceptance()
    await store.accept(one)
    await store.settle(a_settlement(await lease_one(store, now=START_MS), state))
    return one


async def test_its_tables_go_and_nothing_is_left(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    first = await ended(store, make)
    turn = Turn("k", "k", Group())
    for key in (b"a", b"a"):
        run = [make.job(run="r", turn=turn, target="t") for _ in range(2)]
        await store.accept(make.acceptance(key, jobs=run))
    for _ in range(2):
        await store.settle(a_settlement(await lease_one(store, "t", now=START_MS)))
    await store.accept(make.acceptance(jobs=()))
    await store.add(first.delivery.id, [make.job(replay_of=first.jobs[0].id)])
    await store.settle(a_settlement(await lease_one(store, now=START_MS)))
    await store.reads.deliveries(ALL)  # writes the counts of copies
    assert await counts(db, "copies", "runs", "groups") == [1, 1, 1]
    await db.transact(lambda tx: partitions.add(tx, *range(TODAY - 20, TODAY)))
    assert (await prune(store)).deliveries == 3, "empty days before it hold up nothing"
    assert TODAY not in await db.ask(partitions.there)
    assert await counts(db, *EVERYWHERE) == [0] * len(EVERYWHERE)


async def test_what_outlives_it_goes_on_as_if_nothing_had_happened(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """One runs and one is dead; one is added to what stays, and goes with it."""
    await ended(store, make)
    dead = await ended(store, make, "dead")
    await store.accept(make.acceptance(jobs=[make.job(target="slow")]))
    running = await lease_one(store, "slow", now=START_MS)
    assert (await prune(store, DEAD_STAY)).deliveries == 1
    assert TODAY not in await db.ask(partitions.there)
    assert await counts(db, "deliveries_kept", "jobs_kept", "attempts_kept") == [2, 2, 1]

    assert await store.settle(a_settlement(running, "retryable", due_at=START_MS))
    again = await lease_one(store, "slow", now=FAR)
    assert await store.settle(a_settlement(again))
    assert await store.revive(ALL, now=FAR) == 1
    await store.settle(a_settlement(await lease_one(store, now=FAR)))
    await store.add(dead.delivery.id, [make.job(target="new", replay_of=dead.jobs[0].id)])
    await store.settle(a_settlement(await lease_one(store, "new", now=FAR)))
    record = await store.reads.delivery(dead.delivery.id)
    assert record is not None
    assert [(a.job, a.number) for a in record.attempts] == [
        (dead.jobs[0].id, 1),
        (dead.jobs[0].id, 2),
        (record.jobs[1].id, 1),
    ]
    assert TODAY not in await db.ask(partitions.there)
    much_later = Retain(*[2 * FAR] * 3)
    assert (await prune(store, much_later)).deliveries == 2
    assert await counts(db, *EVERYWHERE) == [0] * len(EVERYWHERE)


async def test_a_group_that_a_dead_job_halts_goes_on_when_that_is_removed(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    turn = Turn("k", "k", Group(1, "queue", "halt"))
    for target in ("a", "b"):
        job = make.job(target=target, run="r", turn=turn, due_at=START_MS)
        await store.accept(make.acceptance(jobs=[job]))
    await store.settle(a_settlement(await lease_one(store, "a", now=START_MS), "dead"))
    assert (await store.lease({"b": 1}, lease="x/1", now=FAR)).jobs == ()
    assert (await prune(store)).deliveries == 1, "moved first, then by itself"
    assert (await store.lease({"b": 1}, lease="x/2", now=FAR)).jobs


# What happens between the search and the drop


async def settle_next(store: PostgresStore, state: str) -> None:
    job = await lease_one(store, now=FAR)
    await store.settle(a_settlement(job, state))


async def revived(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    assert await store.revive(ALL, now=FAR) == 1


async def revived_and_done(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    await revived(store, make, dead)
    await settle_next(store, "succeeded")


async def revived_and_dead_again(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    await revived(store, make, dead)
    await settle_next(store, "dead")


async def replayed(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    late = Maker(7)
    late._at = FAR
    job = late.job(replay_of=dead.jobs[0].id)
    await store.add(dead.delivery.id, [job])


async def replayed_and_done(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    await replayed(store, make, dead)
    await settle_next(store, "succeeded")


async def another_came(store: PostgresStore, make: Maker, dead: Acceptance) -> None:
    await store.accept(make.acceptance())


Change = Callable[[PostgresStore, Maker, Acceptance], Awaitable[None]]
CHANGES: list[Change] = [
    revived,
    revived_and_done,
    revived_and_dead_again,
    replayed,
    replayed_and_done,
    another_came,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_it_does_not_go_when_something_came_to_life(
    store: PostgresStore, db: Database, make: Maker, change: Change
) -> None:
    await ended(store, make)
    dead = await ended(store, make, "dead")
    ages = Ages.of(OVER, FAR, 0)
    day = DayRemoval(TODAY, ages)
    await day.look(db)
    assert day.is_through
    assert day.deliveries == 2
    await change(store, make, dead)
    assert await db.transact(day.drop) is False
    assert len(await store.reads.deliveries(ALL)) >= 2
    again = DayRemoval(TODAY, ages)
    await again.look(db)
    assert await db.transact(again.drop) is True


async def test_it_goes_though_what_was_looked_at_first_has_been_moved_since(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await ended(store, make)
    await store.accept(make.acceptance())
    day = DayRemoval(TODAY, Ages.of(OVER, FAR, 0))
    await day.look(db)
    await settle_next(store, "dead")
    assert await db.transact(day.drop) is True
    assert len(await store.reads.deliveries(ALL)) == 1


async def test_several_routers_remove_it_once(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await ended(store, make)
    await store.accept(make.acceptance())
    others = [PostgresStore(db) for _ in range(3)]
    pruned = await asyncio.gather(*[prune(one) for one in (store, *others)])
    assert sum(one.deliveries for one in pruned) == 1
    assert len(await store.reads.jobs(ALL)) == 1


async def test_an_attempt_ends_while_its_job_is_moved(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """Whichever is first, the end is written once, with the rest of what outlives the day."""
    count = 40
    for _ in range(count):
        await store.accept(make.acceptance())
    batch = await store.lease({"erp": count}, lease="x/1", now=START_MS)
    ends: list[Settlement] = [a_settlement(work.job) for work in batch.jobs]
    *settled, pruned = await asyncio.gather(
        *[store.settle(end) for end in ends], prune(store, OVER)
    )
    assert all(settled)
    assert await counts(db, "queue") == [0]
    left = count - pruned.deliveries
    assert await counts(db, "deliveries", "jobs", "attempts") == [left] * 3


# Others use what is to be locked


async def test_it_gives_way_to_whoever_reads_and_accepting_goes_on(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    await ended(store, make)

    async def read(tx: Tx) -> None:
        await tx.all("SELECT * FROM deliveries")
        pruned = await prune(store)
        assert (pruned.deliveries, pruned.more) == (0, True)

    await db.ask(read)
    assert (await prune(store)).deliveries == 1


async def test_accepting_goes_on_while_a_large_day_goes(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """An answer has two and a half seconds."""
    count = 20_000
    ids = [make.delivery().id for _ in range(count)]
    await db.transact(lambda tx: add_ended(tx, ids))
    new = Maker(3)
    new._at = FAR
    await db.transact(lambda tx: partitions.prepare(tx, FAR))
    loop = asyncio.get_running_loop()
    waits: list[float] = []

    async def remove() -> int:
        return sum([(await prune(store)).deliveries for _ in range(2)])

    removing = asyncio.create_task(remove())
    while not removing.done():
        begun = loop.time()
        await store.accept(new.acceptance())
        waits.append(loop.time() - begun)
    assert await removing == count
    assert len(waits) > 3
    assert max(waits) < 2.0
    assert len(await store.reads.deliveries(Selector(limit=count))) == len(waits)
