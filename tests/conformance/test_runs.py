"""Chains and concurrency groups, promise by promise: the file and the model alike."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.model.job import Group, Job, JobState, Need, NewJob, Turn
from router.store.protocol import Accepted, Selector, Settled, Store
from router.store.sqlite import open_store
from router.store.upkeep import Retain
from tests.clocks import START_MS, ManualClock
from tests.conformance.model_store import ModelStore
from tests.store_values import FAR, Maker, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()
A = (Need("a"),)
CHAIN = (("a", ()), ("b", A), ("c", (Need("b"),)))
HALT = Group(1, "queue", "halt")


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture(params=["sqlite", "model"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "model":
        yield ModelStore(ManualClock())
        return
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    yield store
    await store.close()


class Rig:
    """A store with runs in it; its jobs are known by the names of their actions."""

    def __init__(self, store: Store, make: Maker) -> None:
        self.store, self.make = store, make
        self.deliveries: list[str] = []
        self.leases = 0

    def jobs_of(self, shape: Any, group: Group | None, **given: Any) -> list[NewJob]:
        turn = group and Turn("deploy\x1fx", "x", group)
        return [
            self.make.job(action=action, after=after, run="r", turn=turn, rule="deploy", **given)
            for action, after in shape
        ]

    async def accept(self, shape: Any = (("a", ()),), group: Group | None = None) -> Accepted:
        acceptance = self.make.acceptance(jobs=self.jobs_of(shape, group))
        receipt = await self.store.accept(acceptance)
        assert isinstance(receipt, Accepted)
        self.deliveries.append(receipt.delivery)
        return receipt

    async def jobs(self, run: int = -1) -> dict[str, Job]:
        record = await self.store.delivery(self.deliveries[run])
        assert record is not None
        return {job.action: job for job in record.jobs}

    async def states(self, run: int = -1) -> dict[str, tuple[JobState, str | None]]:
        return {name: (job.state, job.reason) for name, job in (await self.jobs(run)).items()}

    async def state(self, run: int, action: str = "a") -> JobState:
        return (await self.jobs(run))[action].state

    async def begin(self) -> list[Job]:
        """Lease all that is due."""
        self.leases += 1
        now = START_MS + 1_000 * self.leases
        batch = await self.store.lease({"erp": 100}, lease=f"b.{self.leases}", now=now)
        return [leased.job for leased in batch.jobs]

    async def run(self, state: JobState = "succeeded", **given: Any) -> Settled:
        """Lease the one job that is due, and end it so."""
        (job,) = await self.begin()
        return await self.store.settle(a_settlement(job, state, **given))


@pytest.fixture
def rig(store: Store, make: Maker) -> Rig:
    return Rig(store, make)


# Chains


async def test_i17_a_chain_runs_in_its_order(rig: Rig) -> None:
    await rig.accept(CHAIN)
    assert [job.waits_for for job in (await rig.jobs()).values()] == [
        (),
        ("the end of a",),
        ("the end of b",),
    ]
    assert await rig.run() == Settled(freed=(("erp", START_MS + 1_005),))
    (job,) = await rig.begin()
    assert (job.action, job.due_at) == ("b", START_MS + 1_005)
    await rig.store.settle(a_settlement(job))
    assert await rig.run() == Settled()
    assert {state for state, _ in (await rig.states()).values()} == {"succeeded"}


async def test_i17_a_dead_predecessor_cancels_what_comes_after_it_at_once(rig: Rig) -> None:
    await rig.accept(CHAIN)
    settled = await rig.run("dead", reason="HTTP 410")
    assert settled.cancelled == ("predecessor_cancelled", "predecessor_dead")
    states = await rig.states()
    assert states["b"] == ("cancelled", "predecessor_dead: a")
    assert states["c"] == ("cancelled", "predecessor_cancelled: b")
    assert (await rig.jobs())["c"].ended_at is not None


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("succeeded", {"b": ("cancelled", "not_needed: a"), "c": ("available", None)}),
        ("dead", {"b": ("available", None), "c": ("available", None)}),
        ("cancelled", {"b": ("cancelled", "not_needed: a"), "c": ("available", None)}),
    ],
)
async def test_i17_a_failure_branch_is_taken_or_not_needed(
    rig: Rig, end: JobState, expected: dict[str, Any]
) -> None:
    await rig.accept((("a", ()), ("b", (Need("a", "dead"),)), ("c", (Need("a", "ended"),))))
    await rig.run(end)
    states = await rig.states()
    assert {name: states[name] for name in "bc"} == expected


async def test_i17_all_predecessors_must_end_as_wanted(rig: Rig) -> None:
    await rig.accept((("a", ()), ("b", ()), ("c", (Need("a"), Need("b")))))
    first, second = await rig.begin()
    await rig.store.settle(a_settlement(first))
    assert await rig.state(-1, "c") == "waiting"
    await rig.store.settle(a_settlement(second))
    assert await rig.state(-1, "c") == "available"


async def test_i26_a_retry_keeps_what_comes_after_it_waiting(rig: Rig) -> None:
    await rig.accept(CHAIN)
    assert await rig.run("retryable", due_at=START_MS + 9) == Settled()
    assert (await rig.jobs())["a"].due_at == START_MS + 9
    assert await rig.state(-1, "b") == "waiting"


async def test_i18_a_late_finisher_frees_nobody(rig: Rig) -> None:
    await rig.accept(CHAIN)
    (job,) = await rig.begin()
    assert not await rig.store.settle(a_settlement(job, lease="b.other"))
    assert await rig.state(-1, "b") == "waiting"


async def test_i22_a_crash_loop_cancels_what_comes_after_it(rig: Rig) -> None:
    await rig.accept(CHAIN)
    for _ in range(3):
        await rig.begin()
        await rig.store.recover(alive="new", now=START_MS + 7, on_interrupt_dead=NOBODY)
    assert await rig.states() == {
        "a": ("dead", "crash_loop"),
        "b": ("cancelled", "predecessor_dead: a"),
        "c": ("cancelled", "predecessor_cancelled: b"),
    }


async def test_an_operator_s_cancel_goes_down_the_chain(rig: Rig) -> None:
    await rig.accept(CHAIN)
    chosen = Selector(ids=((await rig.jobs())["b"].id,))
    assert await rig.store.cancel(chosen, reason="cancelled by operator", now=FAR) == 1
    states = await rig.states()
    assert states["b"] == ("cancelled", "cancelled by operator")
    assert states["c"] == ("cancelled", "predecessor_cancelled: b")
    assert states["a"] == ("available", None)


async def test_cancelling_a_rule_drops_its_waiting_jobs(rig: Rig) -> None:
    await rig.accept(CHAIN)
    assert await rig.store.cancel(Selector(rule="deploy"), reason="x", now=FAR) == 3
    assert set((await rig.states()).values()) == {("cancelled", "x")}


async def test_i30_reviving_a_dead_job_lets_its_successors_wait_again(rig: Rig) -> None:
    await rig.accept(CHAIN)
    await rig.run("dead")
    assert await rig.store.revive(Selector(ids=tuple(rig.deliveries)), now=START_MS) == 1
    assert await rig.states() == {
        "a": ("available", None),
        "b": ("waiting", None),
        "c": ("waiting", None),
    }
    for _ in "abc":
        await rig.run()
    assert {state for state, _ in (await rig.states()).values()} == {"succeeded"}


async def test_reviving_leaves_what_an_operator_cancelled(rig: Rig) -> None:
    await rig.accept(CHAIN)
    chosen = Selector(ids=((await rig.jobs())["c"].id,))
    await rig.store.cancel(chosen, reason="cancelled by operator", now=FAR)
    await rig.run("dead")
    await rig.store.revive(Selector(state="dead"), now=START_MS)
    assert (await rig.states())["c"] == ("cancelled", "cancelled by operator")
    assert await rig.state(-1, "b") == "waiting"


async def test_a_paused_rule_and_a_predecessor_are_two_things_to_wait_for(rig: Rig) -> None:
    await rig.accept(CHAIN)
    paused = frozenset({"deploy"})
    (job,) = await rig.begin()
    assert await rig.store.hold(paused) == 2
    assert (await rig.jobs())["b"].waits_for == ("the end of a", "its paused rule")
    assert await rig.store.settle(a_settlement(job)) == Settled()
    assert (await rig.jobs())["b"].waits_for == ("its paused rule",)
    assert await rig.store.hold(paused) == 0
    assert await rig.store.hold(frozenset()) == 2
    assert await rig.state(-1, "b") == "available"
    assert await rig.state(-1, "c") == "waiting"


# Results


async def test_i26_results_are_those_of_the_last_attempt_that_ran(rig: Rig) -> None:
    await rig.accept(CHAIN)
    b = (await rig.jobs())["b"].id
    asked = frozenset({"a", "c"})
    assert await rig.store.results(b, asked) == {}
    await rig.run("retryable", due_at=START_MS)
    await rig.begin()
    await rig.store.recover(alive="new", now=START_MS, on_interrupt_dead=NOBODY)
    assert await rig.store.results(b, asked) == {"a": {"status": 200}}
    await rig.run()
    assert await rig.store.results(b, asked) == {"a": {"status": 200}}
    assert await rig.store.results(b, frozenset({"c"})) == {}


# Replays


async def replayed(rig: Rig, *actions: str) -> dict[str, Job]:
    old = await rig.jobs()
    jobs = [
        rig.make.job(action=name, after=old[name].after, replay_of=old[name].id, rule="deploy")
        for name in actions
    ]
    await rig.store.add(rig.deliveries[-1], jobs)
    return {job.action: job for job in await rig.store.jobs(Selector()) if job.replay_of}


async def test_i21_a_replayed_job_starts_at_once_and_reads_the_recorded_results(rig: Rig) -> None:
    await rig.accept(CHAIN)
    await rig.run()
    new = await replayed(rig, "b")
    assert new["b"].state == "available"
    assert await rig.store.results(new["b"].id, frozenset({"a"})) == {"a": {"status": 200}}


async def test_i21_jobs_replayed_together_keep_their_order(rig: Rig) -> None:
    await rig.accept(CHAIN)
    for _ in "abc":
        await rig.run()
    new = await replayed(rig, "c", "b")
    assert (new["b"].state, new["c"].state) == ("available", "waiting")
    await rig.run()
    assert (await rig.store.job(new["c"].id) or new["c"]).state == "available"
    again = await rig.store.results(new["c"].id, frozenset({"a", "b"}))
    assert set(again) == {"a", "b"}


# Concurrency groups: the table, row by row


async def test_i23_queue_a_new_run_waits_while_one_is_busy(rig: Rig) -> None:
    for _ in range(3):
        await rig.accept(group=Group())
    assert [await rig.state(i) for i in range(3)] == ["available", "waiting", "waiting"]
    assert (await rig.jobs(1))["a"].waits_for == ("its turn in group x",)
    assert (await rig.run()).freed == (("erp", START_MS + 1_005),)
    assert [await rig.state(i) for i in range(3)] == ["succeeded", "available", "waiting"]


async def test_i23_queue_a_run_keeps_its_turn_between_its_retries(rig: Rig) -> None:
    await rig.accept(group=Group())
    await rig.run("retryable", due_at=START_MS)
    await rig.accept(group=Group())
    assert [await rig.state(i) for i in range(2)] == ["retryable", "waiting"]
    await rig.begin()
    await rig.store.recover(alive="new", now=START_MS, on_interrupt_dead=NOBODY)
    assert [await rig.state(i) for i in range(2)] == ["available", "waiting"]


async def test_i23_a_run_keeps_its_turn_until_its_last_job_has_ended(rig: Rig) -> None:
    await rig.accept(CHAIN, Group())
    await rig.accept(group=Group())
    for _ in "ab":
        await rig.run()
    assert await rig.state(1) == "waiting"
    await rig.run()
    assert await rig.state(1) == "available"


async def test_i23_as_many_runs_as_the_limit_allows(rig: Rig) -> None:
    for _ in range(4):
        await rig.accept(group=Group(2))
    states = [await rig.state(i) for i in range(4)]
    assert states == ["available", "available", "waiting", "waiting"]


async def test_i23_a_dead_run_lets_the_queue_go_on(rig: Rig) -> None:
    await rig.accept(group=Group())
    await rig.accept(group=Group())
    assert (await rig.run("dead")).freed
    assert await rig.state(1) == "available"


@pytest.mark.parametrize("way", ["revive", "cancel", "replay", "replay delivery", "prune"])
async def test_i23_halt_keeps_the_queue_waiting_for_an_operator(rig: Rig, way: str) -> None:
    await rig.accept(group=HALT)
    assert await rig.run("dead") == Settled()
    await rig.accept(group=HALT)
    waits = (await rig.jobs())["a"].waits_for
    assert waits == ("its turn in group x (halted by a dead job)",)
    rig.deliveries.reverse()
    dead = (await rig.jobs())["a"]
    if way == "revive":
        await rig.store.revive(Selector(ids=(dead.id,)), now=START_MS)
        assert [await rig.state(i) for i in (1, 0)] == ["available", "waiting"]
        await rig.run()
    elif way == "cancel":
        assert await rig.store.cancel(Selector(rule="none"), reason="x", now=FAR) == 0
        assert await rig.store.cancel(Selector(ids=(dead.id,)), reason="x", now=FAR) == 1
        assert await rig.states() == {"a": ("cancelled", "x")}
    elif way == "replay":
        await replayed(rig, "a")
        assert await rig.state(0) == "waiting", "the replay is next, not the queue"
        await rig.run()
    elif way == "replay delivery":
        again = rig.jobs_of((("a", ()),), HALT, replay_of=rig.deliveries[-1])
        await rig.store.add(rig.deliveries[-1], again)
        assert await rig.state(0) == "waiting"
        await rig.run()
    else:
        long_ago = Retain(succeeded_before=0, unmatched_before=0, dead_before=FAR)
        assert (await rig.store.prune(long_ago, now=FAR)).deliveries == 1
        rig.deliveries.pop()
    assert await rig.state(0) == "available"


async def test_i23_latest_only_the_newest_waits(rig: Rig) -> None:
    latest = Group(1, "latest")
    await rig.accept(group=latest)
    (running,) = await rig.begin()
    await rig.accept(group=latest)
    receipt = await rig.accept(group=latest)
    assert receipt.cancelled == ("superseded",)
    assert [await rig.state(i) for i in range(3)] == ["running", "cancelled", "waiting"]
    assert (await rig.states(1))["a"] == ("cancelled", "superseded")
    await rig.store.settle(a_settlement(running))
    assert await rig.state(2) == "available"


async def test_i23_latest_leaves_an_executing_attempt_alone_but_not_its_retry(rig: Rig) -> None:
    latest = Group(1, "latest")
    await rig.accept(CHAIN, latest)
    (running,) = await rig.begin()
    await rig.accept(group=latest)
    settled = await rig.store.settle(a_settlement(running, "retryable", due_at=FAR))
    assert settled.cancelled == ("superseded",) * 3
    assert set((await rig.states(0)).values()) == {("cancelled", "superseded")}
    assert await rig.state(1) == "available"


async def test_i23_latest_supersedes_a_run_between_its_retries_at_once(rig: Rig) -> None:
    latest = Group(1, "latest")
    await rig.accept(group=latest)
    await rig.run("retryable", due_at=FAR)
    assert (await rig.accept(group=latest)).cancelled == ("superseded",)
    assert [await rig.state(i) for i in range(2)] == ["cancelled", "available"]


async def test_i23_latest_does_not_break_a_chain_that_goes_well(rig: Rig) -> None:
    latest = Group(1, "latest")
    await rig.accept(CHAIN, latest)
    await rig.run()
    await rig.accept(group=latest)
    assert await rig.state(0, "b") == "available"
    assert await rig.state(1) == "waiting"


async def test_i23_drop_cancels_what_comes_while_one_is_busy(rig: Rig) -> None:
    drop = Group(1, "drop")
    await rig.accept(CHAIN, drop)
    await rig.run("retryable", due_at=START_MS)
    assert (await rig.accept(group=drop)).cancelled == ("busy",)
    assert (await rig.states())["a"] == ("cancelled", "busy")
    for _ in "abc":
        await rig.run()
    assert (await rig.accept(group=drop)).cancelled == ()
    assert await rig.state(-1) == "available"


async def test_i23_keys_have_nothing_to_do_with_one_another(rig: Rig) -> None:
    await rig.accept(group=Group())
    other = rig.make.job(rule="deploy", run="r", turn=Turn("deploy\x1fy", "y", Group()))
    await rig.store.accept(rig.make.acceptance(jobs=[other]))
    job = await rig.store.job(other.id)
    assert job is not None
    assert job.state == "available"


async def test_i23_a_changed_limit_applies_from_then_on(rig: Rig) -> None:
    for _ in range(4):
        await rig.accept(group=Group())
    assert await rig.store.regroup({"other": None}, now=START_MS) == 0
    assert await rig.store.regroup({"deploy": Group(3)}, now=START_MS) == 4
    states = [await rig.state(i) for i in range(4)]
    assert states == ["available", "available", "available", "waiting"]
    assert await rig.store.regroup({"deploy": Group(1)}, now=START_MS) == 4
    for _ in range(3):
        assert await rig.state(3) == "waiting"
        job = (await rig.store.lease({"erp": 1}, lease="b", now=FAR)).jobs[0].job
        await rig.store.settle(a_settlement(job))
    assert await rig.state(3) == "available"


async def test_i23_a_rule_without_its_group_holds_nobody_back(rig: Rig) -> None:
    for _ in range(3):
        await rig.accept(group=Group())
    assert await rig.store.regroup({"deploy": None}, now=START_MS) == 3
    assert {await rig.state(i) for i in range(3)} == {"available"}


async def test_i30_a_revived_run_queues_for_its_turn_again(rig: Rig) -> None:
    await rig.accept(group=Group())
    await rig.run("dead")
    await rig.accept(group=Group())
    (running,) = await rig.begin()
    await rig.store.revive(Selector(ids=(rig.deliveries[0],)), now=START_MS)
    assert await rig.state(0) == "waiting"
    await rig.store.settle(a_settlement(running))
    assert await rig.state(0) == "retryable"


async def test_a_replayed_run_takes_its_turn_like_any_other(rig: Rig) -> None:
    await rig.accept(group=Group())
    await rig.run()
    await rig.accept(group=Group())
    rig.deliveries.reverse()
    new = await replayed(rig, "a")
    assert new["a"].state == "waiting"


async def test_i17_a_run_whose_events_are_known_is_no_run(rig: Rig) -> None:
    first = rig.make.acceptance(b"k", jobs=rig.jobs_of(CHAIN, Group()))
    await rig.store.accept(first)
    await rig.store.accept(rig.make.acceptance(b"k", jobs=rig.jobs_of(CHAIN, Group())))
    await rig.accept(group=Group())
    for _ in "abc":
        await rig.run()
    assert await rig.state(-1) == "available"
