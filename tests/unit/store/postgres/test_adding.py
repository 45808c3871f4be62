"""Jobs added to deliveries of PostgreSQL while others add to the same, or retention keeps them."""

import msgspec
import pytest

from router.model.job import NewJob
from router.model.operations import Replay, ReplayStep
from router.store.postgres import adding, replaying
from router.store.postgres.accepting import accept_all
from router.store.postgres.database import Database, Tx
from router.store.values import Acceptance
from tests.clocks import START_MS
from tests.store_values import Maker
from tests.unit.store.postgres.at_once import meanwhile, uncommitted
from tests.unit.store.postgres.looking import rows

REPLAY = Replay("rpl_1", {}, START_MS)
OTHER = msgspec.structs.replace(REPLAY, id="rpl_2")


async def accepted(db: Database, make: Maker) -> Acceptance:
    """A delivery with a job, and two replays that make it again."""
    one = make.acceptance()
    await accept_all(db, [one], START_MS)
    for replay in (REPLAY, OTHER):
        await db.transact(lambda tx, replay=replay: replaying.begin(tx, replay))
    return one


def again(make: Maker, one: Acceptance) -> NewJob:
    return make.job(replay_of=one.jobs[0].id)


def a_step(make: Maker, one: Acceptance, replay: Replay = REPLAY) -> ReplayStep:
    """It makes the job once more, unless somebody has."""
    work = ((one.delivery.id, (again(make, one),)),)
    return ReplayStep(replay.id, "", "x", True, work, {}, once=True)


async def stepped(tx: Tx, step: ReplayStep) -> Replay | None:
    return await replaying.step(tx, step, now=START_MS)


async def test_two_replays_of_one_job_at_once_make_it_once(
    db: Database, other: Database, make: Maker
) -> None:
    one = await accepted(db, make)
    step = a_step(make, one, OTHER)
    async with uncommitted(db, lambda tx: stepped(tx, a_step(make, one))):
        second = await meanwhile(db, other.transact(lambda tx: stepped(tx, step)))
    done = await second
    assert done is not None
    assert (done.jobs, done.passed, done.state) == (0, 1, "made")
    assert await rows(db, "SELECT count(*) FROM jobs") == [(2,)]


async def test_two_routers_that_make_one_step_at_once_make_it_once(
    db: Database, other: Database, make: Maker
) -> None:
    one = await accepted(db, make)
    step = msgspec.structs.replace(a_step(make, one), once=False)
    async with uncommitted(db, lambda tx: stepped(tx, step)):
        second = await meanwhile(db, other.transact(lambda tx: stepped(tx, step)))
    assert await second is None
    assert await rows(db, "SELECT count(*) FROM jobs") == [(2,)]


async def test_two_routers_that_begin_one_replay_at_once_begin_it_once(
    db: Database, other: Database
) -> None:
    theirs = msgspec.structs.replace(REPLAY, asked={"ids": ["other"]})
    async with uncommitted(db, lambda tx: replaying.begin(tx, REPLAY)):
        second = await meanwhile(db, other.transact(lambda tx: replaying.begin(tx, theirs)))
    assert await second == REPLAY
    assert await rows(db, "SELECT count(*) FROM replays") == [(1,)]


async def test_what_is_added_to_a_delivery_lies_where_it_lies(db: Database, make: Maker) -> None:
    """One that is kept has no day any more."""
    one = await accepted(db, make)
    await db.transact(lambda tx: tx.run("UPDATE deliveries SET kept = true"))
    jobs = [again(make, one), make.job(run="r", replay_of=one.delivery.id)]
    assert await db.transact(lambda tx: adding.add(tx, one.delivery.id, jobs)) == 2
    assert await rows(db, "SELECT kept FROM jobs ORDER BY id") == [(False,), (True,), (True,)]


@pytest.mark.long
async def test_a_delivery_is_not_removed_while_jobs_are_added_to_it(
    db: Database, other: Database, make: Maker
) -> None:
    one = await accepted(db, make)
    free = (
        "DELETE FROM deliveries d WHERE NOT EXISTS "
        "(SELECT FROM jobs j WHERE j.delivery = d.id AND j.replay_of IS NOT NULL)"
    )
    async with uncommitted(db, lambda tx: adding.lock(tx, [one.delivery.id])):
        second = await meanwhile(db, other.transact(lambda tx: tx.run(free)))
        assert not second.done()
    assert await second == 1
