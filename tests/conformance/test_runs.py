"""Chains, promise by promise: the file and the model alike."""

from typing import Any

import pytest

from router.model.job import JobState, Predecessor
from router.store.values import Selector, Settled
from tests.clocks import START_MS
from tests.conformance.rig import CHAIN, Rig, replayed
from tests.store_values import FAR, GENERATION, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()


# Chains


async def test_i17_a_chain_runs_in_its_order(rig: Rig) -> None:
    await rig.accept(CHAIN)
    assert [job.waits_for for job in (await rig.jobs()).values()] == [
        (),
        ("the end of a",),
        ("the end of b",),
    ]
    assert await rig.run() == Settled(freed=(("erp", START_MS),))
    (job,) = await rig.begin()
    assert (job.action, job.due_at) == ("b", START_MS)
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
    await rig.accept(
        (("a", ()), ("b", (Predecessor("a", "dead"),)), ("c", (Predecessor("a", "ended"),)))
    )
    await rig.run(end)
    states = await rig.states()
    assert {name: states[name] for name in "bc"} == expected


async def test_i17_all_predecessors_must_end_as_wanted(rig: Rig) -> None:
    await rig.accept((("a", ()), ("b", ()), ("c", (Predecessor("a"), Predecessor("b")))))
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
        await rig.store.recover(
            nodes=await rig.store.reads.lost_nodes("new"),
            now=START_MS + 7,
            on_interrupt_dead=NOBODY,
        )
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
    assert await rig.store.hold(paused, generation=GENERATION) == 2
    assert (await rig.jobs())["b"].waits_for == ("the end of a", "its paused rule")
    assert await rig.store.settle(a_settlement(job)) == Settled()
    assert (await rig.jobs())["b"].waits_for == ("its paused rule",)
    assert await rig.store.hold(paused, generation=GENERATION) == 0
    assert await rig.store.hold(frozenset(), generation=GENERATION) == 2
    assert await rig.state(-1, "b") == "available"
    assert await rig.state(-1, "c") == "waiting"


# Results


async def test_i26_results_are_those_of_the_last_attempt_that_ran(rig: Rig) -> None:
    await rig.accept(CHAIN)
    b = (await rig.jobs())["b"].id
    asked = frozenset({"a", "c"})
    assert await rig.store.reads.results(b, asked) == {}
    await rig.run("retryable", due_at=START_MS)
    await rig.begin()
    await rig.store.recover(
        nodes=await rig.store.reads.lost_nodes("new"), now=START_MS, on_interrupt_dead=NOBODY
    )
    assert await rig.store.reads.results(b, asked) == {"a": {"status": 200}}
    await rig.run()
    assert await rig.store.reads.results(b, asked) == {"a": {"status": 200}}
    assert await rig.store.reads.results(b, frozenset({"c"})) == {}


# Replays


async def test_i21_a_replayed_job_starts_at_once_and_reads_the_recorded_results(rig: Rig) -> None:
    await rig.accept(CHAIN)
    await rig.run()
    new = await replayed(rig, "b")
    assert new["b"].state == "available"
    assert await rig.store.reads.results(new["b"].id, frozenset({"a"})) == {"a": {"status": 200}}


async def test_i21_jobs_replayed_together_keep_their_order(rig: Rig) -> None:
    await rig.accept(CHAIN)
    for _ in "abc":
        await rig.run()
    new = await replayed(rig, "c", "b")
    assert (new["b"].state, new["c"].state) == ("available", "waiting")
    await rig.run()
    assert (await rig.store.reads.job(new["c"].id) or new["c"]).state == "available"
    again = await rig.store.reads.results(new["c"].id, frozenset({"a", "b"}))
    assert set(again) == {"a", "b"}
