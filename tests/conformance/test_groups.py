"""Concurrency groups, promise by promise: the file and the model alike."""

import pytest

from router.model.job import Group, Turn
from router.store.removal import Retain
from router.store.values import Selector, Settled
from tests.clocks import START_MS
from tests.conformance.rig import CHAIN, Rig, replayed
from tests.store_values import FAR, GENERATION, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()
HALT = Group(1, "queue", "halt")


# Concurrency groups: the table, row by row


async def test_i23_queue_a_new_run_waits_while_one_is_busy(rig: Rig) -> None:
    for _ in range(3):
        await rig.accept(group=Group())
    assert [await rig.state(i) for i in range(3)] == ["available", "waiting", "waiting"]
    assert (await rig.jobs(1))["a"].waits_for == ("its turn in group x",)
    assert (await rig.run()).freed == (("erp", START_MS),)
    assert [await rig.state(i) for i in range(3)] == ["succeeded", "available", "waiting"]


async def test_i23_queue_a_run_keeps_its_turn_between_its_retries(rig: Rig) -> None:
    await rig.accept(group=Group())
    await rig.run("retryable", due_at=START_MS)
    await rig.accept(group=Group())
    assert [await rig.state(i) for i in range(2)] == ["retryable", "waiting"]
    await rig.begin()
    await rig.store.recover(
        nodes=await rig.store.reads.lost_nodes("new"), now=START_MS, on_interrupt_dead=NOBODY
    )
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


@pytest.mark.parametrize(
    "way", ["revive", "cancel", "replay", "replay again", "replay delivery", "prune"]
)
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
    elif way == "replay again":
        await replayed(rig, "a")
        await rig.run("dead")
        again = rig.jobs_of((("a", ()),), None, replay_of=dead.id)
        await rig.store.add(rig.deliveries[-1], again)
        assert await rig.state(0) == "waiting", "that of the same original is next"
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
    job = await rig.store.reads.job(other.id)
    assert job is not None
    assert job.state == "available"


async def test_i23_a_changed_limit_applies_from_then_on(rig: Rig) -> None:
    for _ in range(4):
        await rig.accept(group=Group())
    assert await rig.store.regroup({"other": None}, now=START_MS, generation=GENERATION) == 0
    assert await rig.store.regroup({"deploy": Group(3)}, now=START_MS, generation=GENERATION) == 4
    states = [await rig.state(i) for i in range(4)]
    assert states == ["available", "available", "available", "waiting"]
    assert await rig.store.regroup({"deploy": Group(1)}, now=START_MS, generation=GENERATION) == 4
    for _ in range(3):
        assert await rig.state(3) == "waiting"
        job = (await rig.store.lease({"erp": 1}, lease="b", now=FAR)).jobs[0].job
        await rig.store.settle(a_settlement(job))
    assert await rig.state(3) == "available"


async def test_i23_a_rule_without_its_group_holds_nobody_back(rig: Rig) -> None:
    for _ in range(3):
        await rig.accept(group=Group())
    assert await rig.store.regroup({"deploy": None}, now=START_MS, generation=GENERATION) == 3
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
