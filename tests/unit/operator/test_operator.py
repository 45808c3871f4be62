"""The operator's verbs on a real SQLite file."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from router.errors import NotFound, UsageError
from router.expressions import compile as compiled
from router.intake import acceptance
from router.model.delivery import as_request
from router.model.ids import Ids
from router.model.job import Attempt, Group, Predecessor, Settlement
from router.model.selector import Criteria
from router.operator.requests import ChangeRequest, ReplayRequest
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset, SecretValues
from router.rules.plan import Planner
from router.rules.ruleset import Ruleset
from router.rules.specs import Concurrency
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import NOW, a_delivery, a_log, a_rule, a_ruleset
from tests.clocks import ManualClock
from tests.operators import verbs_of


class World:
    """A store with one delivery in it, and an operator."""

    def __init__(self, store: SqliteStore, ruleset: Ruleset) -> None:
        self.store = store
        self.live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
        self.ids = Ids(random.Random(3))
        self.woken: list[str] = []
        self.operator = verbs_of(
            store,
            self.live,
            ManualClock(NOW + 1000),
            ids=self.ids,
            wake=lambda target, due_at: self.woken.append(target),
        )

    async def take(self, number: int = 1) -> str:
        """Commit a delivery as intake would; returns its id."""
        live = self.live.current
        endpoint = live.by_path[b"/wh_x"]
        delivery = a_delivery(id=self.ids.new("dlv", NOW), body=b'{"id": %d}' % number)
        plan = planned(live, endpoint, self.ids, delivery)
        await self.store.accept(acceptance(delivery, plan, endpoint, NOW))
        return delivery.id

    async def kill(self, target: str) -> str:
        """Lease a job of `target` and settle it dead; returns its id."""
        batch = await self.store.lease({target: 1}, lease="b/1", now=NOW)
        job = batch.jobs[0].job
        attempt = Attempt(job.id, 1, NOW, NOW + 5, "dead", "no", {}, job.generation)
        await self.store.settle(Settlement(job.id, "b/1", attempt, "dead", reason="no"))
        return job.id

    async def jobs(self) -> list[tuple[str, str, str | None]]:
        """Rule, state and origin of every job: the first ones by rule, then those made again."""
        found = await self.store.reads.jobs(Selector(limit=100))
        ordered = sorted(found, key=lambda j: (j.replay_of or "", j.rule))
        return [(j.rule, j.state, j.replay_of) for j in ordered]


def planned(live: LiveRuleset, endpoint: LiveEndpoint, ids: Ids, delivery: object) -> object:
    """The plan of a delivery without dedupe surprises."""
    reading = endpoint.provider.read(as_request(delivery))
    return Planner(live, ids, lambda _t, _k: None).plan(
        delivery, reading, endpoint.settings, NOW, NOW
    )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Two rules, one log action each."""
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock(NOW))
    one = a_rule("one", actions=(msgspec.structs.replace(a_log(), target="one/log"),))
    two = a_rule("two", actions=(msgspec.structs.replace(a_log(), target="two/log"),))
    yield World(store, a_ruleset(one, two))
    await store.close()


async def test_a_delivery_is_routed_anew_by_the_present_rules(world: World) -> None:
    """New jobs for what the rules want now, dedupe ignored, the origin named."""
    delivery = await world.take()
    world.live.swap(LiveRuleset(a_ruleset(a_rule("three")), SecretValues({}, {})))
    done = await world.operator.replay(ReplayRequest((delivery,)))
    assert (done.deliveries, done.jobs) == (1, 1)
    assert (await world.jobs())[2:] == [("three", "available", delivery)]
    assert world.woken == ["r/log"]


async def test_recorded_repeats_what_the_delivery_had(world: World) -> None:
    """The old jobs, once each."""
    delivery = await world.take()
    done = await world.operator.replay(ReplayRequest((delivery,), recorded=True))
    once = await world.operator.plan_replay(ReplayRequest((delivery,), recorded=True))
    again = await world.operator.plan_replay(ReplayRequest((delivery,), recorded=True, again=True))
    assert (done.jobs, once.jobs, once.passed, again.jobs) == (2, 0, 2, 2)
    assert sorted(rule for rule, _, _ in await world.jobs()) == ["one", "one", "two", "two"]


async def test_a_dry_run_changes_nothing(world: World) -> None:
    """It only counts."""
    delivery = await world.take()
    planned = await world.operator.plan_replay(ReplayRequest((delivery,)))
    assert (planned.jobs, len(await world.jobs())) == (2, 2)
    assert await world.store.reads.replays(9) == ()


async def test_a_job_is_made_again_alone(world: World) -> None:
    """Event x rule x action of that job, as a new job."""
    await world.take()
    job = await world.kill("one/log")
    await world.operator.replay(ReplayRequest((job,)))
    assert (await world.jobs())[2:] == [("one", "available", job)]


async def test_a_job_of_a_chain_is_made_again_alone_and_at_once(world: World) -> None:
    """It waits for nobody: what came before it is as it was."""
    then = msgspec.structs.replace(a_log(id_="then"), after=(Predecessor("log"),), target="then")
    first = msgspec.structs.replace(a_log(), target="first")
    world.live.swap(
        LiveRuleset(a_ruleset(a_rule("one", actions=(first, then))), SecretValues({}, {}))
    )
    await world.take()
    await world.kill("first")
    last = next(j for j in await world.store.reads.jobs(Selector()) if j.action == "then")
    await world.operator.replay(ReplayRequest((last.id,)))
    assert (await world.jobs())[2:] == [("one", "available", last.id)]
    assert world.woken == ["then"]


async def test_a_chain_replayed_whole_is_a_chain_again(world: World) -> None:
    """Recorded, or routed anew."""
    then = msgspec.structs.replace(a_log(id_="then"), after=(Predecessor("log"),))
    world.live.swap(
        LiveRuleset(a_ruleset(a_rule("one", actions=(a_log(), then))), SecretValues({}, {}))
    )
    delivery = await world.take()
    for recorded in (True, False):
        await world.operator.replay(ReplayRequest((delivery,), recorded=recorded))
    states = sorted(j.state for j in await world.store.reads.jobs(Selector()) if j.replay_of)
    assert states == ["available", "available", "waiting", "waiting"]


async def test_cancelling_a_run_wakes_the_next_of_its_group(world: World) -> None:
    """Its target may never have heard of it."""
    turns = Concurrency(compiled("endpoint"), Group())
    world.live.swap(LiveRuleset(a_ruleset(a_rule("one", concurrency=turns)), SecretValues({}, {})))
    first = await world.take(1)
    await world.take(2)
    assert (await world.operator.cancel(ChangeRequest((first,)))).cancelled == 1
    assert world.woken == ["r/log"]


async def test_a_selector_with_a_state_makes_only_those_jobs_again(world: World) -> None:
    """Dead ones here."""
    await world.take(1)
    await world.take(2)
    job = await world.kill("two/log")
    done = await world.operator.replay(ReplayRequest(selector=Criteria(state="dead")))
    assert done.jobs == 1
    assert (await world.jobs())[4:] == [("two", "available", job)]


async def test_a_selector_of_deliveries_routes_each_anew(world: World) -> None:
    """By endpoint or time."""
    await world.take(1)
    await world.take(2)
    done = await world.operator.replay(ReplayRequest(selector=Criteria(endpoint="shop")))
    assert (done.deliveries, done.jobs) == (2, 4)


async def test_cancel_ends_what_waits_and_revive_opens_what_died(world: World) -> None:
    """Each says how many."""
    await world.take()
    await world.kill("one/log")
    assert (await world.operator.cancel(ChangeRequest((), Criteria(rule="two")))).cancelled == 1
    assert (await world.operator.revive(ChangeRequest((), Criteria(state="dead")))).revived == 1
    states = [(rule, state) for rule, state, _ in await world.jobs()]
    assert states == [("one", "available"), ("two", "cancelled")]
    assert world.woken == ["one/log"]


async def test_nothing_selected_is_a_mistake(world: World) -> None:
    """Never everything by accident."""
    for verb in (world.operator.cancel, world.operator.revive):
        with pytest.raises(UsageError):
            await verb(ChangeRequest())
    with pytest.raises(UsageError):
        await world.operator.replay(ReplayRequest())


async def test_unknown_ids_are_said(world: World) -> None:
    """By their name."""
    for missing in ("dlv_00000000000000000000000009", "job_00000000000000000000000009"):
        with pytest.raises(NotFound, match=missing):
            await world.operator.replay(ReplayRequest((missing,)))
