"""A selector means originals: what a replay has made is not made again, unless that is asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.model.job import Job, JobState
from router.model.operations import Replay, ReplayStep
from router.model.selector import Criteria
from router.operator.requests import ReplayRequest
from router.rules.live import LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import NOW, a_rule, a_ruleset
from tests.clocks import ManualClock
from tests.store_values import a_settlement
from tests.unit.operator.world import World, two_rules

SELECTIONS = (
    Selector(rule="one"),
    Selector(state="available"),
    Selector(endpoint="shop"),
    Selector(rule="one", where="payload.id < 100"),
    Selector(rule="one", limit=100),
    Selector(endpoint="shop", limit=100),
    Selector(endpoint="shop", event="unknown", since=NOW),
)


@pytest.fixture
def clock() -> ManualClock:
    """The store's."""
    return ManualClock(NOW)


@pytest.fixture
async def world(tmp_path: Path, clock: ManualClock) -> AsyncIterator[World]:
    """Three deliveries that two rules wanted."""
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    world = World(store)
    for number in range(3):
        await world.take(number)
    yield world
    await store.close()


async def end(world: World, state: JobState, lease: str = "b.1") -> list[str]:
    """Every job of rule `one` that is due, ended so; their ids."""
    batch = await world.real.lease({"one": 100}, lease=lease, now=NOW + 10**9)
    for leased in batch.jobs:
        await world.real.settle(a_settlement(leased.job, state))
    return sorted(leased.job.id for leased in batch.jobs)


async def origins(world: World, made: Replay) -> list[str | None]:
    found = await world.real.reads.jobs(Selector(replay=made.id, limit=1000))
    return sorted(job.replay_of or "" for job in found)


@pytest.mark.parametrize("selector", SELECTIONS)
async def test_the_same_selection_again_makes_none(selector: Selector, world: World) -> None:
    """However it selects; the plan and the replay say the same, and how it is done once more."""
    first = await world.operator.replay(ReplayRequest(selector=selector))
    made = 3 if selector.rule else 6
    assert (first.jobs, first.passed, first.earlier) == (made, 0, None)
    for _ in range(2):
        planned = await world.operator.plan_replay(ReplayRequest(selector=selector))
        same = await world.operator.replay(ReplayRequest(selector=selector))
        passed = made if selector.rule or selector.state else 3
        assert (planned.jobs, planned.deliveries, planned.passed) == (0, 0, passed)
        assert (same.jobs, same.deliveries, same.passed) == (0, 0, passed)
        assert planned.earlier == same.earlier
        assert same.earlier is not None
        assert same.earlier.id == first.id
    assert len(await world.replayed()) == made
    again = ReplayRequest(selector=selector, again=True)
    assert (await world.operator.plan_replay(again)).jobs == made
    assert (await world.operator.replay(again)).jobs == made


async def test_replays_of_replays_are_of_the_originals(world: World) -> None:
    """Whatever was made of them meanwhile, by job or by delivery."""
    asked = ReplayRequest(selector=Criteria(rule="one"))
    first = await world.operator.replay(asked)
    again = await world.operator.replay(msgspec.structs.replace(asked, again=True))
    assert await origins(world, first) == await origins(world, again)
    replayed = [j.id for j in await world.real.reads.jobs(Selector(replay=first.id))]
    assert not {j.replay_of for j in await world.replayed()} & set(replayed)


async def test_what_came_since_is_made_once(world: World) -> None:
    await world.operator.replay(ReplayRequest(selector=Criteria(rule="one")))
    await world.take(4)
    more = await world.operator.replay(ReplayRequest(selector=Criteria(rule="one")))
    assert (more.jobs, more.passed) == (1, 3)


async def test_dead_are_the_originals_whose_newest_run_is_dead(world: World) -> None:
    """One that succeeded when it was made again is dead no more; one that died again is."""
    dead = await end(world, "dead")
    state = ReplayRequest(selector=Criteria(state="dead"))
    first = await world.operator.replay(state)
    assert await origins(world, first) == dead
    await end(world, "dead", "b.2")
    assert (await world.operator.plan_replay(state)).passed == 3
    again = msgspec.structs.replace(state, again=True)
    assert await origins(world, await world.operator.replay(again)) == dead
    await end(world, "succeeded", "b.3")
    planned = await world.operator.plan_replay(again)
    assert (planned.jobs, planned.passed) == (0, 0)


async def test_replays_are_made_again_only_by_their_name(world: World) -> None:
    first = await world.operator.replay(ReplayRequest(selector=Criteria(rule="one")))
    mine = sorted(j.id for j in await world.real.reads.jobs(Selector(replay=first.id)))
    of_these = ReplayRequest(selector=Criteria(replay=first.id))
    assert await origins(world, await world.operator.replay(of_these)) == mine
    same = await world.operator.replay(of_these)
    assert (same.jobs, same.passed) == (0, 3)


async def test_a_named_job_or_delivery_is_made_again_once(world: World) -> None:
    job = (await world.real.reads.jobs(Selector(rule="one")))[0]
    for asked, made, passed in (
        (ReplayRequest((job.id,)), 1, 1),
        (ReplayRequest((job.delivery,)), 2, 1),
        (ReplayRequest((job.id, job.delivery), again=True), 2, 0),
    ):
        first, same = [await world.operator.replay(asked) for _ in range(2)]
        assert (first.jobs, same.passed) == (made, passed)


async def test_other_rules_route_a_delivery_anew(world: World) -> None:
    """By delivery and generation: a mended rule is a reason to run it again."""
    everything = ReplayRequest(selector=Criteria(endpoint="shop"))
    await world.operator.replay(everything)
    mended = msgspec.structs.replace(two_rules(), generation="mended")
    world.live.swap(LiveRuleset(mended, SecretValues({}, {})))
    assert (await world.operator.replay(everything)).jobs == 6
    assert (await world.operator.replay(everything)).jobs == 0


async def test_times_are_those_of_the_originals(world: World, clock: ManualClock) -> None:
    """A selection of last hour's work does not grow by what was made of older work since."""
    await clock.advance(60)
    late = Selector(rule="one", since=NOW + 30_000)
    early = Selector(rule="one", until=NOW + 30_000)
    await world.operator.replay(ReplayRequest(selector=Criteria(rule="one")))
    assert (await world.operator.plan_replay(ReplayRequest(selector=late))).passed == 0
    assert (await world.operator.plan_replay(ReplayRequest(selector=early))).passed == 3


async def test_what_was_routed_anew_for_the_first_time_is_an_original(world: World) -> None:
    """No rule wanted it when it came; what a mended one made of it is all there is."""
    three = msgspec.structs.replace(a_ruleset(a_rule("three")), generation="mended")
    world.live.swap(LiveRuleset(three, SecretValues({}, {})))
    await world.operator.replay(ReplayRequest(selector=Criteria(endpoint="shop")))
    planned = await world.operator.plan_replay(ReplayRequest(selector=Criteria(rule="three")))
    assert planned.jobs == 3


class Meeting:
    """The store, at whose first step another operator replays the same."""

    def __init__(self, real: SqliteStore) -> None:
        self._real = real
        self.first: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        first, self.first = self.first, None
        if first is not None:
            await first()
        return await self._real.replay_step(step, now=now)


@pytest.mark.parametrize("selector", [Selector(rule="one"), Selector(endpoint="shop")])
async def test_of_two_at_once_one_makes_them(selector: Selector, world: World) -> None:
    """It looked before the other had made anything."""
    store = Meeting(world.real)
    other = world.another()
    store.first = lambda: other.replay(ReplayRequest(selector=selector))
    late = await world.another(store).replay(ReplayRequest(selector=selector))
    assert (late.jobs, late.deliveries, late.passed) == (0, 0, 3)
    assert late.earlier is not None
    assert len(await world.replayed()) == (3 if selector.rule else 6)


async def test_many_at_once_make_each_once(world: World) -> None:
    asked = ReplayRequest(selector=Criteria(rule="one"))
    done = await asyncio.gather(*[world.another().replay(asked) for _ in range(5)])
    assert sum(replay.jobs for replay in done) == 3
    assert _count(await world.replayed()) == 3


def _count(jobs: list[Job]) -> int:
    return len({job.replay_of for job in jobs})
