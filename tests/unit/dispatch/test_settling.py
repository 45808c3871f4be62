"""Ends of attempts on their way into the store: in groups, each with an outcome of its own."""

import asyncio
from typing import Any

from router.dispatch import DispatchSettings
from router.kinds.kind import ActionCall
from router.model.job import Done, Job, Outcome, Settlement, Work
from router.model.settings import TargetLimits
from router.store.values import Acceptance, Settled
from tests.sim.ledger import Ledger
from tests.sim.makers import a_delivery, an_event
from tests.unit.dispatch.bench import AFTER, BEFORE, Act, Bench, on_bench

POISON: object = object()


class Choking(Ledger):
    """Cannot store a result that holds this."""

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        if POISON in settlement.attempt.result.values():
            raise TypeError("not JSON")
        return await super().settle(settlement, own)


class Prompt(Act):
    """Ends in passing."""

    def run_now(self, call: ActionCall, job: Job) -> Outcome:
        del call
        self.began.append((job.id, self.clock.monotonic()))
        return Done()


async def _handed_over(bench: Bench, count: int) -> None:
    leases = [bench.dispatcher.reserve("note/log", "log") for _ in range(count)]
    new = [j for one in leases for j in bench.new(kind="log", target="note/log", lease=one)]
    jobs = await bench.commit(*new)
    bench.dispatcher.hand_over([Work(job, a_delivery(), an_event()) for job in jobs])


@on_bench
async def test_ends_of_one_turn_are_one_group(bench: Bench) -> None:
    bench.act = Prompt(bench.clock)
    await bench.start()
    await _handed_over(bench, 8)
    await asyncio.sleep(0.01)
    assert bench.groups == [8]
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_what_ran_in_passing_is_settled_with_the_next_group_or_very_soon(
    bench: Bench,
) -> None:
    bench.act = Prompt(bench.clock)
    bench.settings = DispatchSettings(settle_within_s=1.0)
    dispatcher = await bench.start()
    await _handed_over(bench, 3)
    await asyncio.sleep(0.9)
    assert (len(bench.act.began), bench.groups) == (3, [])
    await _handed_over(bench, 2)
    await asyncio.sleep(0.05)
    assert bench.groups == [3], "as a slot was reserved for the next one"
    await asyncio.sleep(1)
    assert bench.groups == [3, 2], "as nobody came any more"
    await _handed_over(bench, 1)
    await asyncio.sleep(0.1)
    assert bench.groups == [3, 2]
    await dispatcher.drain(0)
    assert bench.groups == [3, 2, 1], "nothing waits at the end"
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_a_result_that_cannot_be_stored_costs_no_other_its_own(bench: Bench) -> None:
    bench.ledger = Choking()

    async def how(job: Job) -> Outcome:
        await asyncio.sleep(1)
        return Done({"kept": POISON if job.id == "job_1" else job.id})

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new(3))
    await asyncio.sleep(1.1)
    assert bench.groups == [3, 1, 1, 1]
    kept = {attempt.job: attempt.result for attempt in bench.ledger.attempts}
    assert kept == {"job_0": {"kept": "job_0"}, "job_1": {"lost": True}, "job_2": {"kept": "job_2"}}
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_of_a_group_only_what_was_not_taken_is_offered_again(bench: Bench) -> None:
    bench.failing["settle"] = [None, BEFORE, AFTER]
    bench.act = Prompt(bench.clock)
    await bench.start()
    await _handed_over(bench, 4)
    await asyncio.sleep(1)
    assert set(bench.states().values()) == {"succeeded"}
    assert bench.seen.failures == ["settle", "settle"]
    assert len(bench.seen.settlements) == len(bench.ledger.attempts) == 4


@on_bench
async def test_unsettled_ends_bound_what_is_reserved_and_leave_when_written(bench: Bench) -> None:
    bench.settings = DispatchSettings(hand_over=2, settle_within_s=0.0)
    bench.failing["settle"] = [BEFORE, BEFORE]
    bench.act = Prompt(bench.clock)
    dispatcher = await bench.start()
    await _handed_over(bench, 2)
    await asyncio.sleep(0.01)
    assert dispatcher.reserve("note/log", "log") is None
    await asyncio.sleep(1)
    assert dispatcher.reserve("note/log", "log")


@on_bench
async def test_what_runs_in_passing_is_reserved_up_to_the_hand_over_not_to_its_slots(
    bench: Bench,
) -> None:
    bench.act = Prompt(bench.clock)
    await bench.start()
    await _handed_over(bench, bench.settings.hand_over)
    assert bench.dispatcher.reserve("note/log", "log") is None
    await asyncio.sleep(0.1)
    assert set(bench.states().values()) == {"succeeded"}
    assert {job.attempt for job in bench.ledger.records.values()} == {1}
    assert bench.dispatcher.reserve("note/log", "log")


class Begins(Act):
    """Runs without a task: `end` says what came of a job."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.open: dict[str, Any] = {}
        self.cancelled: list[str] = []
        self.takes = True

    def begin(self, call: ActionCall, job: Job, ended: Any) -> Any:
        del call
        if not self.takes:
            return None
        if job.id == "job_666":
            raise KeyError("s3cr3t")
        self.began.append((job.id, self.clock.monotonic()))
        self.open[job.id] = ended
        return lambda: self.cancelled.append(job.id)


def _begins(bench: Bench) -> Begins:
    bench.act = act = Begins(bench.clock)
    return act


@on_bench
async def test_an_action_that_begins_without_a_task_ends_when_it_says_so(bench: Bench) -> None:
    act = _begins(bench)
    await bench.start()
    await bench.commit_and_wake(*bench.new(2))
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "running", "job_1": "running"}
    act.open["job_0"](Done({"by": "callback"}))
    act.open["job_1"](KeyError("s3cr3t"))
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded", "job_1": "retryable"}
    assert bench.ledger.attempts[0].result == {"by": "callback"}
    assert [type(leak) for leak in bench.seen.leaks] == [KeyError]
    assert "s3cr3t" not in repr(bench.ledger.attempts)


@on_bench
async def test_a_call_that_it_does_not_take_is_run_in_a_task(bench: Bench) -> None:
    _begins(bench).takes = False
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_an_action_that_cannot_even_begin_is_a_retry(bench: Bench) -> None:
    _begins(bench)
    bench.made = 666
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_666": "retryable"}
    assert "s3cr3t" not in repr(bench.ledger.attempts)


@on_bench
async def test_one_that_never_ends_is_cut_off_and_what_it_says_later_is_nothing(
    bench: Bench,
) -> None:
    act = _begins(bench)
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(10 + bench.settings.guard_s + 0.1)
    assert act.cancelled == ["job_0"]
    act.open["job_0"](Done())
    await asyncio.sleep(0.1)
    assert [a.reason for a in bench.ledger.attempts] == ["not done within 10 s"]


@on_bench
async def test_draining_waits_for_what_has_begun_then_breaks_it_off(bench: Bench) -> None:
    act = _begins(bench)
    dispatcher = await bench.start()
    await bench.commit_and_wake(*bench.new(2))
    await asyncio.sleep(0.1)
    asyncio.get_running_loop().call_later(2, act.open["job_0"], Done())
    began = bench.clock.monotonic()
    await dispatcher.drain(5.0)
    assert 4.9 < bench.clock.monotonic() - began < 5.2
    assert act.cancelled == ["job_1"]
    assert bench.states() == {"job_0": "succeeded", "job_1": "available"}
    assert bench.ledger.records["job_1"].charged == 0


class EndsSlowly(Begins):
    """What ends its work takes a while, or fails."""

    leaks = False

    def begin(self, call: ActionCall, job: Job, ended: Any) -> Any:
        super().begin(call, job, ended)

        async def ending() -> None:
            await asyncio.sleep(0.5)
            self.cancelled.append(job.id)
            if self.leaks:
                raise KeyError("s3cr3t")

        return ending


@on_bench
async def test_a_job_that_is_broken_off_ends_when_its_work_has_gone(bench: Bench) -> None:
    bench.act = act = EndsSlowly(bench.clock)
    dispatcher = await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    draining = asyncio.create_task(dispatcher.drain(0.0))
    await asyncio.sleep(0.4)
    assert (act.cancelled, bench.states()) == ([], {"job_0": "running"})
    await draining
    assert (act.cancelled, bench.states()) == (["job_0"], {"job_0": "available"})


@on_bench
async def test_a_leak_while_work_is_cut_off_ends_the_attempt(bench: Bench) -> None:
    bench.act = act = EndsSlowly(bench.clock)
    act.leaks = True
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(10 + bench.settings.guard_s + 0.7)
    assert act.cancelled == ["job_0"]
    assert [type(leak) for leak in bench.seen.leaks] == [KeyError]
    assert "s3cr3t" not in repr(bench.ledger.attempts)


@on_bench
async def test_draining_ends_as_soon_as_the_last_one_has_ended(bench: Bench) -> None:
    act = _begins(bench)
    dispatcher = await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    asyncio.get_running_loop().call_later(1, act.open["job_0"], Done())
    began = bench.clock.monotonic()
    await dispatcher.drain(5.0)
    assert 0.9 < bench.clock.monotonic() - began < 1.1
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_slots_that_come_free_in_one_turn_are_leased_for_at_once(
    bench: Bench,
) -> None:
    act = _begins(bench)
    bench.limits["erp"] = TargetLimits(2)
    await bench.start()
    await bench.commit_and_wake(*bench.new(4))
    await asyncio.sleep(0.1)
    bench.verbs.clear()
    act.open["job_0"](Done())
    act.open["job_1"](Done())
    await asyncio.sleep(0.1)
    assert bench.groups == [2]
    assert bench.verbs == ["settle_all", "lease"]
    assert act.names() == ["job_0", "job_1", "job_2", "job_3"]


@on_bench
async def test_a_slot_that_comes_free_while_a_lease_is_under_way_need_not_wait_for_it(
    bench: Bench,
) -> None:
    async def commit() -> None:
        await asyncio.sleep(1)

    act = _begins(bench)
    bench.limits["erp"] = TargetLimits(2)
    await bench.start()
    await bench.commit_and_wake(*bench.new(6))
    await asyncio.sleep(0.1)
    bench.verbs.clear()
    bench.ledger.pause = commit
    act.open["job_0"](Done())
    await asyncio.sleep(0.5)
    act.open["job_1"](Done())
    await asyncio.sleep(0.1)
    assert bench.verbs == ["settle_all", "lease", "settle_all", "lease"]
    await asyncio.sleep(2)
    assert act.names() == ["job_0", "job_1", "job_2", "job_3"]
