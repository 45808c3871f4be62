"""Replays made step by step: paced, once, and to the end whatever happens on the way."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreUnavailable, UsageError
from router.model.operations import Replay, ReplayStep
from router.model.selector import Criteria
from router.operator.replay_source import STEP_DELIVERIES
from router.operator.requests import ReplayRequest
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import NOW
from tests.clocks import ManualClock
from tests.unit.operator.world import World

MANY = 2 * STEP_DELIVERIES + 30
EVERYTHING = Selector(endpoint="shop")


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock(NOW))
    yield store
    await store.close()


class Failing:
    """
    The store, which fails at the given steps: before or after what it does, or for good as if the
    process had been killed there.
    """

    def __init__(self, real: SqliteStore, faults: dict[int, str]) -> None:
        self._real = real
        self._faults = faults
        self._steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        self._steps += 1
        fault = self._faults.get(self._steps, "")
        if fault == "before":
            raise StoreUnavailable("not now")
        done = await self._real.replay_step(step, now=now)
        if fault == "after":
            raise StoreUnavailable("who knows")
        if fault == "kill":
            raise asyncio.CancelledError
        return done


async def test_each_target_has_its_pace(real: SqliteStore) -> None:
    """Ten a second unless told otherwise, each target by itself."""
    world = World(real)
    for number in range(3):
        await world.take(number)
    await world.operator.replay(ReplayRequest(selector=EVERYTHING))
    now = world.clock.now()
    due = [(j.target, j.due_at - now) for j in await world.replayed()]
    assert due == [(t, at) for at in (0, 100, 200) for t in ("one", "two")]
    assert sorted(world.woken) == [("one", now), ("two", now)]


@pytest.mark.parametrize(("rate", "gaps"), [(2.0, [0, 500]), (None, [0, 0]), (3.0, [0, 333])])
async def test_the_pace_can_be_told(rate: float | None, gaps: list[int], real: SqliteStore) -> None:
    world = World(real)
    for number in range(2):
        await world.take(number)
    await world.operator.replay(ReplayRequest(selector=EVERYTHING, rate=rate))
    due = [j.due_at - world.clock.now() for j in await world.replayed() if j.target == "one"]
    assert due == gaps


async def test_two_replays_share_a_target_s_pace(real: SqliteStore) -> None:
    """The second goes on where the first leaves off; what is named by id does not wait."""
    world = World(real)
    first = await world.take(1)
    await world.take(2)
    for again in (False, True):
        await world.operator.replay(ReplayRequest(selector=EVERYTHING, again=again))
    now = world.clock.now()
    due = [j.due_at - now for j in await world.replayed() if j.target == "one"]
    assert due == [0, 100, 200, 300]
    await world.operator.replay(ReplayRequest((first,), again=True))
    due = [j.due_at - now for j in await world.replayed() if j.target == "one"]
    assert due == [0, 0, 100, 200, 300]


async def test_the_same_replay_again_makes_nothing_twice(real: SqliteStore) -> None:
    """Even if other deliveries have come since, or its times are others."""
    world = World(real)
    await world.take(1)
    asked = ReplayRequest(selector=EVERYTHING, name="monday")
    first = await world.operator.replay(asked)
    await world.take(2)
    later = ReplayRequest(selector=Criteria(endpoint="shop", since=5), name="monday", rate=None)
    assert await world.operator.replay(later) == first
    assert len(await world.replayed()) == 2
    with pytest.raises(UsageError, match="another replay"):
        await world.operator.replay(ReplayRequest(selector=Criteria(rule="one"), name="monday"))


@pytest.mark.parametrize("fault", ["before", "after"])
async def test_a_failing_commit_is_tried_again(fault: str, real: SqliteStore) -> None:
    """Whether it was one or not: no delivery is left out, none is made twice."""
    world = World(real, Failing(real, {1: fault, 3: fault}))
    for number in range(MANY):
        await world.take(number)
    replay = await world.operator.replay(ReplayRequest(selector=EVERYTHING))
    assert (replay.state, replay.deliveries, replay.jobs) == ("made", MANY, 2 * MANY)
    assert set(Counter(j.replay_of for j in await world.replayed()).values()) == {2}


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(
    "asked",
    [ReplayRequest(selector=EVERYTHING), ReplayRequest(selector=Criteria(rule="one", limit=MANY))],
)
async def test_a_killed_replay_goes_on_at_the_next_start(
    at: int, asked: ReplayRequest, real: SqliteStore
) -> None:
    """From the step after the last one that was committed."""
    world = World(real, Failing(real, {at: "kill"}))
    for number in range(MANY):
        await world.take(number)
    with pytest.raises(asyncio.CancelledError):
        await world.operator.replay(asked)
    made = len(await world.replayed())
    assert made > 0
    following = world.another()
    assert await following.replays.resume() == (0 if at == 3 else 1)
    [replay] = await real.reads.replays(9)
    done = await following.replay(_named(asked, replay))
    made = len(await world.replayed())
    assert (done.state, done.jobs, made) == ("made", made, MANY * (1 if asked.selector.rule else 2))
    origins = Counter(j.replay_of for j in await world.replayed())
    assert len(origins) == MANY
    await following.replays.close()


def _named(asked: ReplayRequest, replay: Replay) -> ReplayRequest:
    return ReplayRequest(selector=asked.selector, name=replay.id)


async def test_a_replay_that_cannot_go_on_does_not_keep_the_router_from_starting(
    real: SqliteStore,
) -> None:
    """Its condition names a variable that today's rules do not have."""
    world = World(real)
    told = ReplayRequest(selector=Criteria(where="var.gone == 1")).as_json()
    await real.begin_replay(Replay("rpl_1", told, NOW))
    assert await world.operator.replays.resume() == 1
    assert [r.state for r in await real.reads.replays(9)] == ["making"]


async def test_the_newest_are_taken_up_to_a_limit(real: SqliteStore) -> None:
    """And run in the order in which they came."""
    world = World(real)
    ids = [await world.take(number) for number in range(4)]
    asked = ReplayRequest(selector=Criteria(endpoint="shop", limit=2))
    assert (await world.operator.plan_replay(asked)).jobs == 4
    await world.operator.replay(asked)
    ones = [j.replay_of for j in await world.replayed() if j.target == "one"]
    assert ones == ids[2:]


class Shifting(Failing):
    """Somebody sets the clock when the first step is stored."""

    def __init__(self, real: SqliteStore, ms: int) -> None:
        super().__init__(real, {})
        self._ms = ms
        self.world: World

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        done = await super().replay_step(step, now=now)
        if self._steps == 1:
            self.world.clock.elapsed += self._ms / 1000
            self.world.clock.resume(self._ms)
            await self._real.keep_clock()
        return done


@pytest.mark.parametrize("ms", [86_400_000, -86_400_000])
async def test_its_pace_goes_on_when_somebody_sets_the_clock(ms: int, real: SqliteStore) -> None:
    store = Shifting(real, ms)
    world = store.world = World(real, store)
    for number in range(MANY):
        await world.take(number)
    await world.operator.replay(ReplayRequest(selector=EVERYTHING))
    due = [job.due_at for job in await world.replayed() if job.target == "one"]
    assert len(due) == MANY
    assert {after - before for before, after in pairwise(due)} == {100}
    await world.take(min(ms, 0) + 700)  # by the new clock
    await world.operator.replay(ReplayRequest(selector=EVERYTHING, again=True))
    again = [job.due_at for job in await world.replayed() if job.target == "one"]
    assert again[MANY] == due[-1] + 100


async def test_a_replay_that_another_node_makes_is_left_to_it_until_it_stops(
    real: SqliteStore,
) -> None:
    world = World(real, Failing(real, {2: "kill"}))
    for number in range(MANY):
        await world.take(number)
    with pytest.raises(asyncio.CancelledError):
        await world.operator.replay(ReplayRequest(selector=EVERYTHING))
    made, holders = len(await world.replayed()), set[str]()

    async def claimed(name: str, _ttl_ms: int) -> bool:
        (replay,) = await real.reads.replays(9)
        assert name == f"replay/{replay.id}"
        return not holders

    another = world.another(claimed=claimed)
    holders.add("the first")
    assert await another.replays.resume() == 0
    assert len(await world.replayed()) == made
    (replay,) = await real.reads.replays(9)
    assert (await another.replays.go_on(replay)).state == "making"
    holders.clear()
    assert await another.replays.resume() == 1
    assert (await another.replays.go_on(replay)).state == "made"
    assert len(await world.replayed()) == 2 * MANY
