"""What cancelling or reviving a selection would change, told before and done to nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from router.errors import UsageError
from router.model.delivery import Redaction
from router.model.operations import Change
from router.model.selector import Criteria
from router.operator.answers import OperatorPlan
from router.operator.requests import ChangeRequest, ReplayRequest
from router.store.removal import RedactionStep, Rewritten
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


def exactly(selector: Criteria, plan: OperatorPlan) -> ChangeRequest:
    """What the plan was of, and nothing that came later."""
    return ChangeRequest((), msgspec.structs.replace(selector, until=plan.until))


@pytest.mark.parametrize(
    ("verb", "selector", "jobs"),
    [
        ("cancel", Criteria(rule="one"), 2),
        ("cancel", Criteria(endpoint="shop"), 6),
        ("cancel", Criteria(endpoint="shop", limit=3), 3),
        ("cancel", Criteria(where="payload.id < 3"), 4),
        ("cancel", Criteria(rule="one", where="payload.id < 3", limit=1), 1),
        ("revive", Criteria(rule="one"), 2),
        ("revive", Criteria(rule="two"), 0),
        ("revive", Criteria(where="payload.id == 0"), 1),
        ("revive", Criteria(where="payload.id < 3", limit=1), 1),
    ],
)
async def test_it_is_what_is_done(
    verb: Change, selector: Criteria, jobs: int, world: World
) -> None:
    before = await world.real.reads.jobs(Selector(limit=100))
    planned = await world.operator.plan_change(verb, ChangeRequest((), selector))
    assert planned.jobs == sum(part.jobs for part in planned.parts) == jobs
    assert await world.real.reads.jobs(Selector(limit=100)) == before
    assert await world.real.reads.audited(None, None, 9) == ()
    same = exactly(selector, planned)
    if verb == "cancel":
        assert (await world.operator.cancel(same)).cancelled == jobs
    else:
        assert (await world.operator.revive(same)).revived == jobs


@pytest.mark.parametrize("where", [None, "payload.id < 9"])
async def test_what_was_made_again_since_is_not_revived(where: str | None, world: World) -> None:
    """It is no part of a limit either; the plan says how many these are."""
    newest, oldest = await world.real.reads.jobs(Selector(state="dead"))
    replay = await world.operator.replay(ReplayRequest(ids=(newest.id,)))
    [again] = await world.replayed()
    selector = Criteria(state="dead", where=where, limit=1)
    plan = await world.operator.plan_change("revive", ChangeRequest((), selector))
    assert plan.earlier is not None
    assert (plan.jobs, plan.passed, plan.earlier.id) == (1, 1, replay.id)
    assert (await world.operator.revive(exactly(selector, plan))).revived == 1
    assert [j.id for j in await world.real.reads.jobs(Selector(state="dead"))] == [newest.id]
    plan = await world.operator.plan_change("revive", ChangeRequest((), selector))
    assert plan.jobs == 0
    assert (await world.operator.revive(exactly(selector, plan))).revived == 0
    named = ChangeRequest((newest.id, oldest.id))
    newer = {newest.id: (again.id, again.state)}
    assert (await world.operator.plan_change("revive", named)).newer == newer
    revived = await world.operator.revive(ChangeRequest((newest.id,)))
    assert (revived.revived, revived.newer) == (1, newer)


async def test_what_comes_after_the_plan_is_no_part_of_it(world: World, clock: ManualClock) -> None:
    selector = Criteria(rule="two")
    planned = await world.operator.plan_change("cancel", ChangeRequest((), selector))
    await clock.advance(60)
    await world.take(5)
    assert planned.jobs == 4
    assert (await world.operator.cancel(exactly(selector, planned))).cancelled == 4
    assert len(await world.real.reads.jobs(Selector(rule="two", state="available"))) == 1


async def test_a_replay_is_cancelled_whole(world: World) -> None:
    """Also what it makes between the plan and the yes."""
    made = await world.operator.replay(ReplayRequest(selector=Criteria(rule="two")))
    request = ChangeRequest((), Criteria(replay=made.id))
    planned = await world.operator.plan_change("cancel", request)
    assert (planned.jobs, planned.until) == (4, None)


async def test_what_cannot_be_meant_is_said(world: World) -> None:
    for selector in (None, Criteria(rule="on"), Criteria(replay="x", where="payload.id == 1")):
        with pytest.raises(UsageError):
            await world.operator.plan_change("cancel", ChangeRequest((), selector))


async def test_the_plan_of_a_replay_counts_what_is_redacted(world: World) -> None:
    [first, *_] = await world.real.reads.deliveries(Selector())
    record = await world.real.reads.delivery(first.id)
    assert record is not None
    marked = msgspec.structs.replace(record.delivery, redacted=Redaction(NOW, "ab" * 32))
    for job in record.jobs:
        await world.real.cancel(Selector(ids=(job.id,)), reason="-", now=NOW)
    rewritten = Rewritten(marked, record.events, len(record.jobs), len(record.attempts))
    assert await world.real.redact(RedactionStep((rewritten,)), now=NOW) == 1
    plan = await world.operator.plan_replay(ReplayRequest((), Criteria(endpoint="shop")))
    assert (plan.deliveries, plan.redacted) == (4, 1)
