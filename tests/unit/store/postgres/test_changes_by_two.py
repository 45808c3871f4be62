"""Jobs that several routers cancel or revive at once, on a PostgreSQL server: each one once."""

import asyncio
from functools import partial

import pytest

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.common.states import AVAILABLE, CANCELLED, DEAD, RUNNING
from router.store.postgres import operations
from router.store.postgres.database import Database, Tx
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import Maker
from tests.unit.store.postgres.ledger import add_delivery, add_job, add_open_job
from tests.unit.store.postgres.running import add_runs, end, states

pytestmark = pytest.mark.long

COUNT = operations.STEP + 100
DEAD_JOB = {"state": DEAD, "attempt": 3, "charged": 2, "deaths": 1, "due_at": 1, "reason": "why"}


async def many(db: Database, make: Maker, *, dead: int = 0, idle: int = 0) -> None:
    """One delivery with so many jobs."""
    delivery = make.delivery().id

    async def fill(tx: Tx) -> None:
        await add_delivery(tx, delivery)
        ids = [make.job().id for _ in range(dead + idle)]
        await add_job(tx, delivery, *ids[:dead], **DEAD_JOB, started_at=7, ended_at=9)
        await add_open_job(tx, delivery, *ids[dead:], attempt=3, charged=2, deaths=1)
        await add_open_job(tx, delivery, make.job().id, state=RUNNING, lease="1/1")

    await db.transact(fill)


async def all_steps(db: Database, verb: str, selector: Selector) -> int:
    """As a store does it."""
    given = {"reason": "no\x00more"} if verb == "cancel" else {}
    step = partial(getattr(operations, verb), selector=selector, now=START_MS + 5, **given)
    changed, after = await db.transact(partial(step, after=None))
    while after is not None:
        more, after = await db.transact(partial(step, after=after))
        changed += more
    return changed


async def counted(db: Database) -> dict[int | None, int]:
    """Jobs by state; that of an open one is in the queue."""
    sql = (
        "SELECT coalesce(j.state, q.state), count(*) FROM jobs j "
        "LEFT JOIN queue q ON q.job = j.id AND j.state IS NULL GROUP BY 1"
    )
    return dict(await db.ask(lambda tx: tx.all(sql)))


@pytest.mark.parametrize("limit", [None, COUNT])
async def test_several_cancel(db: Database, make: Maker, limit: int | None) -> None:
    await many(db, make, idle=COUNT)
    changed = await asyncio.gather(
        *[all_steps(db, "cancel", Selector(limit=limit)) for _ in range(3)]
    )
    assert sum(changed) == COUNT
    assert await counted(db) == {CANCELLED: COUNT, RUNNING: 1}
    ends = "SELECT DISTINCT attempt, charged, deaths, due_at, ended_at, reason FROM jobs"
    ends += " WHERE state IS NOT NULL"
    assert [tuple(row) for row in await db.ask(lambda tx: tx.all(ends))] == [
        (3, 2, 1, START_MS, START_MS + 5, "no\ue0000more")
    ]
    assert await db.ask(lambda tx: tx.one("SELECT count(*) FROM queue")) == 1


@pytest.mark.parametrize("limit", [None, COUNT])
async def test_several_revive(db: Database, make: Maker, limit: int | None) -> None:
    await many(db, make, dead=COUNT)
    changed = await asyncio.gather(
        *[all_steps(db, "revive", Selector(limit=limit)) for _ in range(3)]
    )
    assert sum(changed) == COUNT
    assert await counted(db) == {AVAILABLE: COUNT, RUNNING: 1}
    queued = (
        "SELECT DISTINCT attempt, charged, deaths, due_at, waits FROM queue WHERE lease IS NULL"
    )
    assert [tuple(row) for row in await db.ask(lambda tx: tx.all(queued))] == [
        (3, 0, 0, START_MS + 5, 0)
    ]


async def test_some_revive_what_others_cancel(db: Database, make: Maker) -> None:
    """However it ends, each job stands in one place, and the counts add up."""
    await many(db, make, dead=60, idle=60)
    verbs = ["revive", "cancel", "revive", "cancel"]
    revived, cancelled, *more = await asyncio.gather(
        *[all_steps(db, verb, Selector()) for verb in verbs]
    )
    assert revived + more[0] == 60
    ends = await counted(db)
    assert ends.get(CANCELLED, 0) == cancelled + more[1]
    assert ends.get(CANCELLED, 0) + ends.get(AVAILABLE, 0) == 120
    assert DEAD not in ends


def chain(make: Maker, key: str) -> list[NewJob]:
    """Two jobs, one after the other, of a group that a dead job halts."""
    turn = Turn(key, key, Group(1, "queue", "halt"))
    first = make.job(action="a", run="r", turn=turn)
    return [first, make.job(action="b", run="r", turn=turn, after=(Predecessor("a"),))]


async def test_successors_follow_and_groups_go_on(db: Database, make: Maker) -> None:
    halting, waiting, other = chain(make, "k"), chain(make, "k"), chain(make, "m")
    await add_runs(db, make, halting, waiting, other)
    await end(db, halting, halting[0], DEAD)
    assert await states(db, *halting) == ["dead", "cancelled predecessor_dead: a"]
    assert sum(await asyncio.gather(*[all_steps(db, "revive", Selector()) for _ in range(3)])) == 1
    assert await states(db, *halting, *waiting) == ["available", "waiting", "waiting", "waiting"]
    await end(db, halting, halting[0], DEAD)
    named = Selector(ids=(halting[0].id, other[0].id))
    assert sum(await asyncio.gather(*[all_steps(db, "cancel", named) for _ in range(3)])) == 2
    told = ["cancelled no\x00more", "cancelled predecessor_dead: a"]
    assert await states(db, *halting) == told
    assert await states(db, *waiting) == ["available", "waiting"]
    assert (await states(db, *other))[0] == "cancelled no\x00more"
    assert (await states(db, *other))[1].startswith("cancelled predecessor_cancelled")


async def test_a_dead_job_that_halts_nothing_is_not_cancelled(db: Database, make: Maker) -> None:
    await many(db, make, dead=2)
    assert await all_steps(db, "cancel", Selector(state="dead")) == 0
    assert await counted(db) == {DEAD: 2, RUNNING: 1}
