"""Somebody set the clock: what is remembered of times to come moves, and nobody waits for it."""

import asyncio
import random

import pytest

from router.dispatch import Measures
from router.dispatch.breaker import GIVE_UP_MS, Breaker
from router.dispatch.due import DueTimes
from router.dispatch.fairness import FreshJobs
from router.dispatch.health import BUCKET_MS, Health
from router.model.job import Done, Job, Outcome, Predecessor, RetryOutcome
from router.model.retry import RetryPolicy
from tests.sim.loop import SimClock
from tests.unit.dispatch.bench import BEFORE, Bench, on_bench

T = 1_750_000_000_000
DAY_MS = 86_400_000
STEPS = pytest.mark.parametrize("ms", [DAY_MS, -DAY_MS, 3650 * DAY_MS, -T, 12_345])


@STEPS
def test_due_times_stay_in_order(ms: int) -> None:
    due = DueTimes()
    for target, at in (("c", 30), ("a", 10), ("b", 20), ("a", 5)):
        due.put(target, at)
    due.shift(ms)
    assert due.next() == 5 + ms
    assert due.take(4 + ms) == []
    assert due.take(20 + ms) == ["a", "b"]
    assert due.put("c", 29 + ms)


@STEPS
def test_fresh_jobs_have_their_turn_at_their_time(ms: int) -> None:
    fresh = FreshJobs()
    fresh.put("erp", "shop", "job_1", T + 50)
    fresh.shift(ms)
    assert fresh.pick("erp", 1, T + 49 + ms) == []
    assert fresh.pick("erp", 1, T + 50 + ms) == ["job_1"]


def _open() -> Breaker:
    gate = Breaker("erp", T)
    for _ in range(5):
        gate.failed("j", T, "no connection", connecting=True, rng=random.Random(1))
    assert gate.state == "failing"
    return gate


@STEPS
def test_an_open_gate_waits_as_long_as_it_would_have(ms: int) -> None:
    gate = _open()
    wait = gate.next_probe - T
    gate.shift(ms)
    assert gate.since == T + ms
    assert gate.tick(T + ms + wait - 1) is None
    assert gate.tick(T + ms + wait) is not None


@STEPS
def test_a_failing_target_is_given_up_no_sooner_and_no_later(ms: int) -> None:
    gate = _open()
    gate.shift(ms)
    late = T + ms + GIVE_UP_MS
    states = []
    for now in (late - 1, late):
        gate.failed("j", now, "no", connecting=True, rng=random.Random(1))
        states.append(gate.state)
    assert states == ["failing", "paused"]


@STEPS
def test_the_five_minutes_that_are_judged_go_on(ms: int) -> None:
    health = Health(T)
    health.failed(T + BUCKET_MS, "no", connecting=False)
    health.answered(T + 2 * BUCKET_MS)
    health.shift(ms)
    assert health.last_error_at == T + BUCKET_MS + ms
    assert health.window(T + ms + 10 * BUCKET_MS) == (1, 1)
    assert health.window(T + ms + 11 * BUCKET_MS) == (1, 0)
    assert health.window(T + ms + 12 * BUCKET_MS) == (0, 0)


class Stepped(SimClock):
    """Virtual time that somebody has set."""

    by = 0

    def now(self) -> int:
        return super().now() + self.by


async def _set(bench: Bench, clock: Stepped, ms: int) -> None:
    await bench.ledger.shift(ms, boot="b", now=clock.now() + ms)
    clock.by += ms
    bench.dispatcher.shift(ms)


def _stepped(bench: Bench) -> Stepped:
    clock = bench.clock = Stepped()
    bench.measures = Measures(sweep_s=3_600.0)  # so that no sweep mends what was not moved
    bench.retry_of = lambda job: RetryPolicy("test", (10_000, 20_000))
    return clock


async def _fails_once(job: Job) -> Outcome:
    return Done() if job.charged else RetryOutcome("network", "no connection")


@pytest.mark.parametrize("ms", [DAY_MS, -DAY_MS, 3650 * DAY_MS])
def test_a_retry_comes_at_its_time(ms: int) -> None:
    @on_bench
    async def comes(bench: Bench) -> None:
        clock = _stepped(bench)
        bench.act.how = _fails_once
        await bench.start()
        await bench.commit_and_wake(*bench.new())
        await asyncio.sleep(1)
        assert bench.states() == {"job_0": "retryable"}
        await _set(bench, clock, ms)
        await asyncio.sleep(6)
        assert len(bench.act.began) == 1
        await asyncio.sleep(6)
        assert bench.states() == {"job_0": "succeeded"}

    comes()


@pytest.mark.parametrize("ms", [DAY_MS, -DAY_MS, 3650 * DAY_MS])
def test_a_result_that_could_not_be_written_is_written_by_the_new_clock(ms: int) -> None:
    @on_bench
    async def written(bench: Bench) -> None:
        clock = _stepped(bench)
        bench.act.how = _fails_once
        bench.failing["settle"] = [BEFORE] * 6  # a good second
        await bench.start()
        await bench.commit_and_wake(*bench.new())
        await asyncio.sleep(0.5)
        await _set(bench, clock, ms)
        await asyncio.sleep(4)
        job = bench.ledger.records["job_0"]
        assert job.state == "retryable"
        assert 0 < job.due_at - clock.now() < 12_000
        await asyncio.sleep(12)
        assert bench.states() == {"job_0": "succeeded"}

    written()


def test_a_job_that_was_leased_before_is_not_too_old_after() -> None:
    @on_bench
    async def leased(bench: Bench) -> None:
        clock = _stepped(bench)
        bench.failing["results"] = [BEFORE] * 5
        bench.reads = frozenset({"first"})
        await bench.start()
        await bench.commit_and_wake(*bench.new(after=(Predecessor("first"),)))
        await asyncio.sleep(0.1)
        assert bench.states() == {"job_0": "running"}
        assert bench.act.began == []
        await _set(bench, clock, 3650 * DAY_MS)
        await asyncio.sleep(5)
        assert bench.states() == {"job_0": "succeeded"}

    leased()
