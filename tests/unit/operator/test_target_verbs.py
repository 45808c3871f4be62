"""Pausing and resuming targets on a real SQLite file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.errors import UsageError
from router.model.settings import Target
from router.model.target import TargetRow
from router.operator.answers import TargetChanged
from router.operator.requests import By, TargetRequest
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import a_ruleset
from tests.clocks import ManualClock
from tests.operators import breakers_of, questions_of, verbs_of
from tests.store_values import Maker

OPS = By("ops", "10.0.0.7")


class World:
    """A store with jobs of two targets, and the desk; `restarted` forgets all but the store."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        erp = Target("erp", url="https://erp.example.net/x?key=s3cr3t", rate=5.0)
        ruleset = a_ruleset(targets={"erp": erp, "chat": Target("chat", url_secret="c")})
        self.live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
        self.woken: list[str] = []
        self.restarted()

    def restarted(self) -> None:
        self.breakers = breakers_of(self.clock)
        self.verbs = verbs_of(
            self.store,
            self.live,
            self.clock,
            breakers=self.breakers,
            wake=lambda target, _due_at: self.woken.append(target),
        )

    async def rows(self) -> dict[str, TargetRow]:
        found = await questions_of(self.store.reads, self.live, self.clock).targets()
        return {row.name: row for row in found.targets}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    make = Maker()
    jobs = [make.job(target="erp"), make.job(target="erp"), make.job(target="gone")]
    await store.accept(make.acceptance(jobs=jobs))
    yield World(store, clock)
    await store.close()


async def test_paused_and_resumed_with_reason_and_audit(world: World) -> None:
    answer = await world.verbs.pause(TargetRequest("erp", "they migrate"), OPS)
    assert answer == TargetChanged("erp", "paused", True, 2)
    jobs = await world.store.reads.jobs(Selector())
    assert sorted(job.state for job in jobs) == ["available", "waiting", "waiting"]
    again = await world.verbs.pause(TargetRequest("erp"), OPS)
    assert (again.changed, again.jobs) == (False, 0)
    answer = await world.verbs.resume(TargetRequest("erp"), OPS)
    assert answer == TargetChanged("erp", "recovering", True, 2)
    assert world.woken == ["erp"]
    lines = await world.store.reads.audited(None, None, 10)
    assert [(one.verb, one.who, one.peer, one.count, one.asked) for one in lines] == [
        ("resume_target", "ops", "10.0.0.7", 2, {"target": "erp"}),
        ("pause_target", "ops", "10.0.0.7", 2, {"target": "erp", "reason": "they migrate"}),
    ]


async def test_a_restart_remembers_who_paused_what_and_why(world: World) -> None:
    await world.verbs.pause(TargetRequest("erp", "they migrate"), OPS)
    world.restarted()
    await world.breakers.restore(world.store)
    assert world.breakers.paused() == {"erp"}
    gate = world.breakers.of("erp")
    assert (gate.reason, gate.by, gate.since) == ("they migrate", "ops", world.clock.now())
    await world.verbs.resume(TargetRequest("erp"), OPS)
    world.restarted()
    await world.breakers.restore(world.store)
    assert world.breakers.paused() == frozenset()
    assert world.breakers.of("erp").ramping


async def test_what_another_node_has_paused_is_resumed_here(world: World) -> None:
    """Its breaker here has not heard of it: that it is a change, the store tells."""
    await world.verbs.pause(TargetRequest("erp", "they migrate"), OPS)
    world.restarted()
    assert not (await world.verbs.pause(TargetRequest("erp", "again"), OPS)).changed
    world.restarted()
    answer = await world.verbs.resume(TargetRequest("erp"), OPS)
    assert answer == TargetChanged("erp", "recovering", True, 2)


async def test_its_jobs_are_let_go_before_its_gate_opens(world: World) -> None:
    await world.verbs.pause(TargetRequest("erp"), OPS)
    await world.clock.advance(8 * 86_400)
    await world.verbs.resume(TargetRequest("erp"), OPS)
    jobs = [job for job in await world.store.reads.jobs(Selector()) if job.target == "erp"]
    assert {(job.state, job.due_at) for job in jobs} == {("available", world.clock.now())}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (TargetRequest("epr"), "there is no target 'epr'; did you mean 'erp'?"),
        (TargetRequest(""), "there is no target ''"),
        (TargetRequest("erp", "x" * 201), "at most 200 characters"),
    ],
)
async def test_what_cannot_be_paused(world: World, request_: TargetRequest, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        await world.verbs.pause(request_)
    assert world.breakers.paused() == frozenset()


async def test_what_has_only_jobs_can_be_paused_too(world: World) -> None:
    assert (await world.verbs.pause(TargetRequest("gone"))).jobs == 1


async def test_rows_tell_of_named_targets_and_of_others_with_work(world: World) -> None:
    rows = await world.rows()
    assert list(rows) == ["erp", "chat", "gone"]
    assert (rows["erp"].url, rows["erp"].rate) == ("https://erp.example.net/x", 5.0)
    assert (rows["chat"].url, rows["chat"].named) == (None, True)
    assert (rows["erp"].available, rows["gone"].available, rows["gone"].named) == (2, 1, False)
