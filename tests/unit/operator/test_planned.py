"""What cancelling or reviving a selection would change, told before and done to nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.errors import UsageError
from router.model.operations import Change
from router.operator import ReplayRequest
from router.store.sqlite.store import open_store
from router.store.values import Selector
from tests.builders import NOW
from tests.clocks import ManualClock
from tests.store_values import a_settlement
from tests.unit.operator.world import World


@pytest.fixture
def clock() -> ManualClock:
    """The store's."""
    return ManualClock(NOW)


@pytest.fixture
async def world(tmp_path: Path, clock: ManualClock) -> AsyncIterator[World]:
    """Four deliveries that two rules wanted; of rule `one` two jobs are dead."""
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    world = World(store)
    for number in range(4):
        await world.take(number)
    for leased in (await store.lease({"one": 2}, lease="b.1", now=NOW + 10**9)).jobs:
        await store.settle(a_settlement(leased.job, "dead"))
    yield world
    await store.close()


@pytest.mark.parametrize(
    ("verb", "selector", "jobs"),
    [
        ("cancel", Selector(rule="one"), 2),
        ("cancel", Selector(endpoint="shop"), 6),
        ("cancel", Selector(endpoint="shop", limit=3), 3),
        ("cancel", Selector(where="payload.id < 3"), 4),
        ("cancel", Selector(rule="one", where="payload.id < 3", limit=1), 1),
        ("revive", Selector(rule="one"), 2),
        ("revive", Selector(rule="two"), 0),
        ("revive", Selector(where="payload.id == 0"), 1),
        ("revive", Selector(where="payload.id < 3", limit=1), 1),
    ],
)
async def test_it_is_what_is_done(
    verb: Change, selector: Selector, jobs: int, world: World
) -> None:
    before = await world.real.reads.jobs(Selector(limit=100))
    planned, same = await world.operator.planned(verb, (), selector)
    assert planned.jobs == sum(part.jobs for part in planned.parts) == jobs
    assert await world.real.reads.jobs(Selector(limit=100)) == before
    assert await world.real.reads.audited(None, None, 9) == ()
    act = world.operator.cancel if verb == "cancel" else world.operator.revive
    assert await act((), same) == jobs


@pytest.mark.parametrize("where", [None, "payload.id < 9"])
async def test_what_was_made_again_since_is_not_revived(where: str | None, world: World) -> None:
    """It is no part of a limit either; the plan says how many these are."""
    newest, oldest = await world.real.reads.jobs(Selector(state="dead"))
    await world.operator.replay(ReplayRequest(ids=(newest.id,)))
    [again] = await world.replayed()
    selector = Selector(state="dead", where=where, limit=1)
    plan, same = await world.operator.planned("revive", (), selector)
    assert (plan.jobs, plan.passed, plan.earlier) == (1, 1, again.id)
    assert await world.operator.revive((), same) == 1
    assert [j.id for j in await world.real.reads.jobs(Selector(state="dead"))] == [newest.id]
    plan, same = await world.operator.planned("revive", (), selector)
    assert (plan.jobs, await world.operator.revive((), same)) == (0, 0)
    assert await world.operator.newer((newest.id, oldest.id)) == {newest.id: again}
    assert await world.operator.revive((newest.id,), None) == 1


async def test_what_comes_after_the_plan_is_no_part_of_it(world: World, clock: ManualClock) -> None:
    planned, same = await world.operator.planned("cancel", (), Selector(rule="two"))
    await clock.advance(60)
    await world.take(5)
    assert (planned.jobs, await world.operator.cancel((), same)) == (4, 4)
    assert len(await world.real.reads.jobs(Selector(rule="two", state="available"))) == 1


async def test_a_replay_is_cancelled_whole(world: World) -> None:
    """Also what it makes between the plan and the yes."""
    made = await world.operator.replay(ReplayRequest(selector=Selector(rule="two")))
    planned, same = await world.operator.planned("cancel", (), Selector(replay=made.id))
    assert (planned.jobs, same) == (4, Selector(replay=made.id))


async def test_what_cannot_be_meant_is_said(world: World) -> None:
    for selector in (None, Selector(rule="on"), Selector(replay="x", where="payload.id == 1")):
        with pytest.raises(UsageError):
            await world.operator.planned("cancel", (), selector)
