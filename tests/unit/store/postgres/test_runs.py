"""Runs in PostgreSQL: what is locked, read and written, and what it costs in statements."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.common.states import AVAILABLE, DEAD
from router.store.postgres import runs
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import PostgresStore
from tests.clocks import START_MS
from tests.store_values import GENERATION, Maker
from tests.unit.store.postgres.ledger import add_delivery
from tests.unit.store.postgres.looking import rows
from tests.unit.store.postgres.running import add_runs, add_within, end, end_within, states

FREED = (("erp", START_MS),)


def chain(make: Maker) -> list[NewJob]:
    after = {"a": (), "b": (Predecessor("a"),), "c": (Predecessor("b"),)}
    return [make.job(action=name, run="r", after=needs) for name, needs in after.items()]


def turn(on_busy: str = "queue", limit: int = 1, key: str = "deploy\x1fx") -> Turn:
    return Turn(key, "x", Group(limit, on_busy))  # type: ignore[arg-type]  # words of a Literal


async def test_a_chain_goes_on_and_ends(db: Database, make: Maker) -> None:
    jobs = chain(make)
    assert await add_runs(db, make, jobs) == [((), ())]
    assert await states(db, *jobs) == ["available", "waiting", "waiting"]
    assert await end(db, jobs, jobs[0]) == (FREED, ())
    assert await end(db, jobs, jobs[1], DEAD) == ((), ("predecessor_dead",))
    assert await states(db, *jobs) == ["succeeded", "dead", "cancelled predecessor_dead: b"]


async def test_runs_of_a_group_take_their_turns(db: Database, make: Maker) -> None:
    runs = [[make.job(run=name, turn=turn())] for name in "abc"]
    assert await add_runs(db, make, *runs) == [(FREED, ()), ((), ()), ((), ())]
    jobs = [job for (job,) in runs]
    assert await states(db, *jobs) == ["available", "waiting", "waiting"]
    assert await end(db, runs[0], jobs[0]) == (FREED, ())
    assert await states(db, *jobs) == ["succeeded", "available", "waiting"]


async def test_more_may_wait_than_are_looked_at_at_once(db: Database, make: Maker) -> None:
    """The oldest begin, as many as may."""
    waiting = [make.job(run="r", turn=turn()) for _ in range(3 * runs.LOOKED_AT)]
    await add_runs(db, make, *[[job] for job in waiting])
    limit = runs.LOOKED_AT + 9
    regrouped = await db.transact(
        lambda tx: runs.regroup(tx, {"paid": Group(limit)}, generation=GENERATION, now=START_MS)
    )
    assert regrouped == len(waiting)
    found = await states(db, *waiting)
    assert found == ["available"] * limit + ["waiting"] * (len(waiting) - limit)


async def test_who_is_behind_those_that_were_looked_at_comes_after_them(
    db: Database, make: Maker
) -> None:
    """One by one, in the order in which they came."""
    jobs = [make.job(run="r", turn=turn()) for _ in range(2 * runs.LOOKED_AT + 3)]
    for half in (jobs[: runs.LOOKED_AT + 2], jobs[runs.LOOKED_AT + 2 :]):
        await add_runs(db, make, *[[job] for job in half])
    for n, job in enumerate(jobs):
        assert Counter(await states(db, *jobs[n:])) == Counter(
            {"available": 1, "waiting": len(jobs) - n - 1}
        )
        assert await states(db, job) == ["available"]
        await end(db, [job], job)


@contextmanager
def counting(tx: Tx) -> Iterator[list[str]]:
    """The statements of a transaction within the block."""
    said: list[str] = []

    def note(record: Any) -> None:
        said.append(record.query)

    tx.connection.add_query_logger(note)
    yield said
    tx.connection.remove_query_logger(note)


@pytest.mark.parametrize("on_busy", ["queue", "latest", "drop"])
async def test_many_runs_of_a_group_take_no_more_statements_than_a_few(
    db: Database, make: Maker, on_busy: str
) -> None:
    """Those that come together: everybody else of the group waits meanwhile."""

    async def taken(count: int) -> int:
        jobs = [
            make.job(run="r", turn=turn(on_busy, key=f"{on_busy}{count}")) for _ in range(count)
        ]

        async def add(tx: Tx) -> int:
            delivery = make.delivery().id
            await add_delivery(tx, delivery)
            number = await tx.generation(GENERATION)
            with counting(tx) as said:
                await add_within(tx, delivery, number, [[job] for job in jobs])
            return len(said)

        return await db.transact(add)

    await taken(2)  # asyncpg asks about types once a connection
    assert await taken(50) == await taken(5) <= 5


async def test_runs_of_many_groups_that_end_together_take_no_more_statements_than_a_few(
    db: Database, make: Maker
) -> None:
    async def taken(count: int) -> int:
        turns = [turn(key=f"{n} of {count}") for n in range(count)]
        ending, following = ([make.job(run="r", turn=one) for one in turns] for _ in "ab")
        await add_runs(db, make, *[[job] for job in (*ending, *following)])

        async def settle(tx: Tx) -> int:
            ids = [job.id for job in ending]
            with counting(tx) as said:
                async with runs.changing(tx, START_MS, runs=ids) as changes:
                    for job in ending:
                        await end_within(tx, job)
                    for id_ in ids:
                        await changes.follow(id_)
            return len(said) - 2 * count

        needed = await db.transact(settle)
        assert await states(db, *following) == ["available"] * count
        return needed

    await taken(2)
    assert await taken(20) == await taken(3) <= 5


async def test_a_limit_of_many_groups_changes_by_no_more_statements_than_a_few(
    db: Database, make: Maker
) -> None:
    async def taken(count: int) -> int:
        rule = f"of {count}"
        turns = [turn(key=f"{rule}: {n}") for n in range(count) for _ in "ab"]
        jobs = [make.job(run="r", rule=rule, turn=one) for one in turns]
        await add_runs(db, make, *[[job] for job in jobs])

        async def regroup(tx: Tx) -> int:
            with counting(tx) as said:
                groups = {rule: Group(2)}
                await runs.regroup(tx, groups, generation=GENERATION, now=START_MS)
            return len(said)

        needed = await db.transact(regroup)
        assert await states(db, *jobs) == ["available"] * 2 * count
        return needed

    await taken(2)
    assert await taken(20) == await taken(3)


async def test_rules_without_groups_change_nothing(db: Database, make: Maker) -> None:
    await add_runs(db, make, [make.job(run="r", turn=turn())], [make.job(run="s", turn=turn())])
    regroup = partial(runs.regroup, groups={}, generation=GENERATION, now=START_MS)
    assert await db.transact(regroup) == 0


@pytest.mark.long
async def test_however_many_groups_change_each_transaction_locks_some(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    keys = [f"{n}" for n in range(runs.REGROUPED + 1) for _ in "ab"]
    await add_runs(db, make, *[[make.job(run="r", turn=turn(key=key))] for key in keys])
    changed = partial(runs.regroup, groups={"paid": Group(2)}, generation=GENERATION, now=START_MS)
    assert await db.transact(changed) == 2 * runs.REGROUPED
    groups = {"paid": Group(3)}
    assert await store.regroup(groups, generation=GENERATION, now=START_MS) == len(keys)
    assert await rows(db, "SELECT DISTINCT state FROM queue") == [(AVAILABLE,)]


@pytest.mark.parametrize("key", ["\x00\ue000", "k" * 300, "\U0001f512" * 64])
async def test_any_text_is_a_group_s_key_and_value(db: Database, make: Maker, key: str) -> None:
    both = [[make.job(run=name, turn=Turn(key, key, Group()))] for name in "ab"]
    await add_runs(db, make, *both)
    assert (await states(db, *both[0], *both[1])) == ["available", "waiting"]
    assert await end(db, both[0], both[0][0]) == (FREED, ())
    assert await rows(db, "SELECT max(length(key)) <= 255 FROM groups") == [(True,)]


async def test_what_is_forgotten_halts_no_group_and_the_last_takes_the_group_along(
    db: Database, make: Maker
) -> None:
    halting = Turn("deploy\x1fx", "x", Group(1, "queue", "halt"))
    first, second = ([make.job(run=name, turn=halting)] for name in "ab")
    await add_runs(db, make, first)
    await add_runs(db, make, second)
    await end(db, first, first[0], DEAD)
    assert await states(db, *second) == ["waiting"]
    await db.transact(lambda tx: runs.forget(tx, START_MS, "r.id = $1", first[0].id))
    assert await states(db, *second) == ["available"]
    await db.transact(lambda tx: runs.forget(tx, START_MS, "r.id = $1", second[0].id))
    assert await rows(db, "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM groups)") == [
        (0, 0)
    ]
