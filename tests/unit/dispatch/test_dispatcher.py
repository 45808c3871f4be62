"""The dispatcher's promises, one by one, in virtual time."""

import asyncio
from itertools import pairwise

import msgspec

from router.clock import Doubt
from router.dispatch import DispatchSettings
from router.dispatch.protocol import Results
from router.errors import RenderError
from router.kinds.kind import ActionCall
from router.model.job import Done, Job, Outcome, Predecessor, RetryOutcome, Skip, Work
from router.model.retry import AGE_LIMIT_MS, RetryPolicy
from router.model.settings import TargetLimits
from tests.sim.makers import a_delivery, an_event, an_http_call
from tests.unit.dispatch.bench import AFTER, BEFORE, Bench, on_bench


async def _for_ever(_job: Job) -> Outcome:
    await asyncio.Event().wait()
    return Done()


async def _at_once(_job: Job) -> Outcome:
    return Done()


async def _hand_over(bench: Bench, *leases: str | None) -> None:
    new = [job for lease in leases for job in bench.new(lease=lease)]
    works = [Work(job, a_delivery(), an_event()) for job in await bench.commit(*new)]
    bench.dispatcher.hand_over(works)


@on_bench
async def test_a_job_handed_over_runs_without_a_lease_call(bench: Bench) -> None:
    dispatcher = await bench.start()
    lease = dispatcher.reserve("erp", "http")
    assert lease == "boot/1"
    await _hand_over(bench, lease)
    assert bench.act.began == [], "never within intake's own turn"
    await asyncio.sleep(0.01)
    assert bench.states() == {"job_0": "succeeded"}
    assert bench.ledger.attempts[0].number == 1


@on_bench
async def test_reserving_stops_where_slots_end(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(2)
    dispatcher = await bench.start()
    leases = [dispatcher.reserve("erp", "http") for _ in range(3)]
    assert [bool(lease) for lease in leases] == [True, True, False]
    dispatcher.release(leases[0] or "")
    assert dispatcher.reserve("erp", "http")


@on_bench
async def test_the_hand_over_is_bounded(bench: Bench) -> None:
    bench.settings = DispatchSettings(hand_over=3)
    dispatcher = await bench.start()
    leases = [dispatcher.reserve(f"t{n}", "http") for n in range(4)]
    assert [bool(lease) for lease in leases] == [True, True, True, False]


@on_bench
async def test_a_released_lease_cannot_be_handed_over(bench: Bench) -> None:
    dispatcher = await bench.start()
    lease = dispatcher.reserve("erp", "http")
    dispatcher.release(lease or "", unsure=True)
    await _hand_over(bench, lease)
    await asyncio.sleep(12)
    assert bench.act.names() == ["job_0"], "found by the sweep, run once"
    assert bench.ledger.records["job_0"].attempt == 2


@on_bench
async def test_a_woken_job_runs_at_once_and_a_later_one_when_due(bench: Bench) -> None:
    await bench.start()
    began = bench.clock.monotonic()
    later = bench.clock.now() + 700
    await bench.commit_and_wake(*bench.new(), *bench.new(due_at=later))
    await asyncio.sleep(1)
    times = [at - began for _, at in bench.act.began]
    assert times[0] < 0.01
    assert 0.699 <= times[1] < 0.71


@on_bench
async def test_what_nobody_woke_is_found_by_the_sweep(bench: Bench) -> None:
    await bench.start()
    await bench.commit(*bench.new())
    await asyncio.sleep(5.1)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_the_backlog_of_the_last_process_runs_in_order(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(1)
    now = bench.clock.now()
    await bench.commit(*bench.new(due_at=now - 1), *bench.new(due_at=now - 3), *bench.new())
    await bench.start()
    await asyncio.sleep(1)
    assert bench.act.names() == ["job_1", "job_0", "job_2"]


@on_bench
async def test_a_hanging_target_delays_no_other(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        return await _for_ever(job) if job.target.startswith("hang") else Done()

    bench.act.how = how
    await bench.start()
    hanging = [job for n in range(5) for job in bench.new(100, target=f"hang{n}")]
    await bench.commit_and_wake(*hanging)
    await asyncio.sleep(1)
    await bench.commit_and_wake(*bench.new(50, target="fine"))
    await asyncio.sleep(0.1)
    assert list(bench.states().values()).count("succeeded") == 50
    assert list(bench.states().values()).count("running") == 5 * 16


@on_bench
async def test_a_rate_spreads_the_starts(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(16, 5.0)
    await bench.start()
    await bench.commit_and_wake(*bench.new(40))
    await asyncio.sleep(4)
    times = [at for _, at in bench.act.began]
    assert 19 <= len(times) <= 22
    assert all(b - a > 0.19 for a, b in pairwise(times[1:]))
    assert bench.dispatcher.reserve("erp", "http") is None, "older jobs first"


@on_bench
async def test_one_lease_of_an_unknown_target_tells_its_kind(bench: Bench) -> None:
    bench.act.how = _for_ever
    await bench.commit(*(j for n in range(9) for j in bench.new(3, target=f"r{n}/s", kind="shell")))
    await bench.start()
    await asyncio.sleep(10)
    assert len(bench.act.began) == 4, "never more than the kind's total"
    bench.act.how = _at_once
    await asyncio.sleep(60)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_no_more_of_a_kind_are_leased_than_have_room(bench: Bench) -> None:
    """An action that is of another kind by now has jobs of both: the oldest go first."""
    bench.settings = DispatchSettings(totals={"http": 8, "log": 8, "python": 4, "shell": 1})

    async def how(_job: Job) -> Outcome:
        await asyncio.sleep(0.1)
        return Done()

    bench.act.how = how
    await bench.start()
    old = bench.new(6, target="r/a", kind="shell")
    await bench.commit(*old)
    for _ in range(6):
        await bench.commit_and_wake(*bench.new(target="r/a", kind="http"))
        await asyncio.sleep(0.05)
        running = [n for n, state in bench.states().items() if state == "running"]
        assert len(running) <= 1
    await asyncio.sleep(60)
    assert [(a.outcome, a.number) for a in bench.ledger.attempts] == [("succeeded", 1)] * 12
    assert bench.act.names()[:6] == [job.id for job in old]


@on_bench
async def test_a_render_error_is_dead_at_once(bench: Bench) -> None:
    def render(work: Work, results: Results) -> ActionCall:
        raise RenderError("http.path", "an empty segment")

    bench.render = render
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    job = bench.ledger.records["job_0"]
    assert (job.state, job.reason) == ("dead", "http.path: an empty segment")
    assert bench.act.began == []


@on_bench
async def test_a_leak_is_a_retry_and_its_text_is_not_stored(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        raise KeyError("s3cr3t")

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "retryable"}
    assert "s3cr3t" not in repr(bench.ledger.attempts)
    assert isinstance(bench.seen.leaks[0], KeyError)


@on_bench
async def test_a_missing_policy_strands_nobody(bench: Bench) -> None:
    def none(job: Job) -> RetryPolicy:
        raise KeyError(job.rule)

    bench.retry_of = none
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded"}
    assert len(bench.seen.leaks) == 1


@on_bench
async def test_a_defective_action_is_cancelled(bench: Bench) -> None:
    bench.act.how = _for_ever
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(10 + bench.settings.guard_s + 0.1)
    assert bench.ledger.attempts[0].reason == "not done within 10 s"


@on_bench
async def test_retries_come_by_themselves(bench: Bench) -> None:
    outcomes: list[Outcome] = [
        RetryOutcome("server", "HTTP 503"),
        RetryOutcome("timeout", "late"),
        Done(),
    ]

    async def how(job: Job) -> Outcome:
        return outcomes.pop(0)

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(50)
    assert bench.states() == {"job_0": "succeeded"}
    assert [a.outcome for a in bench.ledger.attempts] == ["failed", "failed", "succeeded"]
    gaps = [b[1] - a[1] for a, b in pairwise(bench.act.began)]
    assert 4 <= gaps[0] <= 6.01
    assert 24 <= gaps[1] <= 36.01


@on_bench
async def test_a_job_too_old_is_dead_without_running(bench: Bench) -> None:
    await bench.start()
    now = bench.clock.now()
    held = bench.new(due_at=now)  # made long ago, but it could not run until now
    await bench.ledger.commit(a_delivery(), held, now - AGE_LIMIT_MS - 1)
    await bench.commit(*bench.new(due_at=now - AGE_LIMIT_MS - 1))
    bench.dispatcher.wake("erp", now, "http")
    await asyncio.sleep(0.1)
    assert bench.ledger.records["job_1"].reason == "too_old"
    assert bench.act.names() == ["job_0"]


@on_bench
async def test_while_the_clock_is_doubtful_no_job_is_too_old(bench: Bench) -> None:
    await bench.start()
    now = bench.clock.now()
    bench.clock.doubt = Doubt(now - AGE_LIMIT_MS, now + 1_000)
    for _ in range(2):
        await bench.commit(*bench.new(due_at=now - AGE_LIMIT_MS - 1))
        bench.dispatcher.wake("erp", now, "http")
        await asyncio.sleep(1.1)
    assert bench.act.names() == ["job_0"]
    assert bench.ledger.records["job_1"].reason == "too_old"


@on_bench
async def test_a_result_is_offered_until_the_store_is_back(bench: Bench) -> None:
    bench.failing["settle"] = [BEFORE, AFTER, BEFORE]
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(5)
    assert bench.act.names() == ["job_0"]
    assert bench.seen.settlements == [("job_0", "succeeded", True)]


@on_bench
async def test_patience_ends_and_the_job_is_given_back(bench: Bench) -> None:
    bench.settings = DispatchSettings(patience_s=3)
    bench.failing["settle"] = [BEFORE] * 8
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(30)
    assert bench.act.names() == ["job_0", "job_0"]
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_a_result_that_cannot_be_stored_is_left_out(bench: Bench) -> None:
    bench.failing["settle"] = [TypeError("not JSON")]
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded"}
    assert bench.ledger.attempts[0].result == {"lost": True}


@on_bench
async def test_a_lost_lease_is_reported(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        await bench.ledger.recover(
            nodes=await bench.ledger.reads.lost_nodes("other"), now=0, on_interrupt_dead=frozenset()
        )
        return Done()

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.1)
    assert bench.seen.settlements == [("job_0", "lost", False)]
    assert bench.states() == {"job_0": "available"}


@on_bench
async def test_a_lease_of_unknown_outcome_strands_nobody(bench: Bench) -> None:
    bench.failing["lease"] = [AFTER]
    await bench.start()
    await bench.commit_and_wake(*bench.new(3))
    await asyncio.sleep(12)
    assert set(bench.states().values()) == {"succeeded"}
    assert bench.seen.failures == ["lease"]


@on_bench
async def test_the_loop_outlives_a_store_that_raises_anything(bench: Bench) -> None:
    bench.failing = {"lease": [BEFORE, KeyError("x"), BEFORE], "targets": [KeyError("x")]}
    await bench.start()
    await bench.commit_and_wake(*bench.new(3))
    await asyncio.sleep(12)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_draining_gives_grace_then_interrupts(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        await asyncio.sleep(2 if job.id == "job_0" else 60)
        return Done()

    bench.act.how = how
    bench.dead_if_interrupted = frozenset({("once", "a")})
    dispatcher = await bench.start()
    await bench.commit_and_wake(*bench.new(2), *bench.new(rule="once"))
    await asyncio.sleep(0.1)
    began = bench.clock.monotonic()
    await dispatcher.drain(5.0)
    assert 4.9 < bench.clock.monotonic() - began < 5.2
    assert bench.states() == {"job_0": "succeeded", "job_1": "available", "job_2": "dead"}
    job = bench.ledger.records["job_1"]
    assert (job.charged, job.attempt) == (0, 1)
    assert bench.ledger.records["job_2"].reason == "interrupted"
    assert dispatcher.reserve("erp", "http") is None


@on_bench
async def test_what_is_handed_over_while_draining_is_given_back(bench: Bench) -> None:
    dispatcher = await bench.start()
    lease = dispatcher.reserve("erp", "http")
    draining = asyncio.create_task(dispatcher.drain(1.0))
    await asyncio.sleep(0)
    await _hand_over(bench, lease)
    await draining
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "available"}
    assert bench.act.began == []


@on_bench
async def test_what_never_began_may_run_although_interruption_is_its_death(bench: Bench) -> None:
    bench.dead_if_interrupted = frozenset({("r", "a")})
    dispatcher = await bench.start()
    lease = dispatcher.reserve("erp", "http")
    draining = asyncio.create_task(dispatcher.drain(1.0))
    await asyncio.sleep(0)
    await _hand_over(bench, lease)
    await draining
    await asyncio.sleep(0.1)
    job = bench.ledger.records["job_0"]
    assert (job.state, job.charged) == ("available", 0)


@on_bench
async def test_a_lease_that_was_never_reported_kills_nobody(bench: Bench) -> None:
    bench.dead_if_interrupted = frozenset({("r", "a")})
    bench.failing["lease"] = [AFTER]
    await bench.start()
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(12)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_recovering_spares_our_own_leases(bench: Bench) -> None:
    dispatcher = await bench.start()
    await bench.commit(*bench.new(lease="boot/9"), *bench.new(lease="boot2/9"))
    assert (await dispatcher.recover()).reclaimed == 1
    assert bench.states() == {"job_0": "running", "job_1": "available"}


@on_bench
async def test_waiting_jobs_are_left_alone(bench: Bench) -> None:
    await bench.start()
    await bench.commit_and_wake(*bench.new(state="waiting"))
    await asyncio.sleep(12)
    assert bench.states() == {"job_0": "waiting"}


CHAIN = {"run": "r", "rule": "r"}


async def _chain(bench: Bench) -> None:
    first, second = bench.new(2, **CHAIN)
    await bench.commit_and_wake(
        msgspec.structs.replace(first, action="one"),
        msgspec.structs.replace(second, action="two", after=(Predecessor("one"),), target="chat"),
    )


@on_bench
async def test_what_comes_after_starts_at_once_not_at_the_next_sweep(bench: Bench) -> None:
    await bench.start()
    await _chain(bench)
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded", "job_1": "succeeded"}


@on_bench
async def test_results_are_read_for_whoever_wants_them(bench: Bench) -> None:
    seen: list[Results] = []

    def render(work: Work, results: Results) -> ActionCall:
        seen.append(results)
        return an_http_call()

    bench.render, bench.reads = render, frozenset({"one"})
    bench.failing["results"] = [BEFORE, BEFORE]
    await bench.start()
    await _chain(bench)
    await asyncio.sleep(1)
    assert seen == [{}, {"one": {"ok": True}}]
    assert bench.seen.failures == ["results", "results"]
    assert bench.states()["job_1"] == "succeeded"
    assert bench.ledger.records["job_1"].attempt == 1


@on_bench
async def test_a_when_that_does_not_hold_cancels_and_spends_nothing(bench: Bench) -> None:
    def render(work: Work, results: Results) -> ActionCall | Skip:
        return Skip("when")

    bench.render = render
    await bench.start()
    await _chain(bench)
    await asyncio.sleep(0.1)
    first, second = bench.ledger.records.values()
    assert (first.state, first.reason, first.charged) == ("cancelled", "when", 0)
    assert (second.state, second.reason) == ("cancelled", "predecessor_cancelled: one")
    assert [a.outcome for a in bench.ledger.attempts] == ["skipped"]
    assert bench.seen.cancelled == ["predecessor_cancelled"]
    assert bench.act.began == []


class LimitsThatFailOnce(dict[str, TargetLimits]):
    """A defect, the first time that they are asked for `erp`."""

    fails = True

    def get(self, target: str, default: TargetLimits) -> TargetLimits:  # type: ignore[override]
        if target == "erp" and self.fails:
            self.fails = False
            raise RuntimeError("defect")
        return super().get(target, default)


@on_bench
async def test_a_dispatcher_that_ended_by_a_defect_runs_again(bench: Bench) -> None:
    bench.limits = LimitsThatFailOnce()
    dispatcher = await bench.start()
    await bench.commit_and_wake(*bench.new())
    [ended] = await asyncio.gather(bench.loop_task, return_exceptions=True)
    assert isinstance(ended, RuntimeError)
    bench.loop_task = asyncio.create_task(dispatcher.run())
    await asyncio.sleep(1)
    await bench.commit_and_wake(*bench.new(due_at=bench.clock.now() + 700))
    await asyncio.sleep(1)
    assert bench.act.names() == ["job_0", "job_1"]
