"""Somebody set the clock: nobody waits longer or shorter for it."""

import asyncio

import pytest

from router.dispatch import DispatchSettings
from router.model.job import Done, Job, Outcome, Predecessor, RetryOutcome
from router.model.retry import RetryPolicy
from tests.sim.loop import SimClock
from tests.unit.dispatch.bench import BEFORE, Bench, on_bench

DAY_MS = 86_400_000


class Stepped(SimClock):
    """Virtual time that somebody has set."""

    by = 0

    def now(self) -> int:
        return super().now() + self.by


def _set(clock: Stepped, ms: int) -> None:
    clock.by += ms
    clock.resume(clock.offset + ms)


def _stepped(bench: Bench) -> Stepped:
    clock = bench.clock = Stepped()
    bench.settings = DispatchSettings(sweep_s=3_600.0)  # so that no sweep mends what was not moved
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
        assert 0 < bench.seen.due[0] - clock.now() < 12_000
        _set(clock, ms)
        await asyncio.sleep(6)
        assert len(bench.act.began) == 1
        await asyncio.sleep(6)
        assert bench.states() == {"job_0": "succeeded"}

    comes()


@pytest.mark.parametrize("ms", [DAY_MS, -DAY_MS, 3650 * DAY_MS])
def test_a_retry_of_a_result_that_could_not_be_written_comes_at_its_time(ms: int) -> None:
    @on_bench
    async def written(bench: Bench) -> None:
        clock = _stepped(bench)
        bench.act.how = _fails_once
        bench.failing["settle"] = [BEFORE] * 6  # a good second
        await bench.start()
        await bench.commit_and_wake(*bench.new())
        await asyncio.sleep(0.5)
        _set(clock, ms)
        await asyncio.sleep(4)
        job = bench.ledger.records["job_0"]
        assert job.state == "retryable"
        assert 0 < job.due_at - clock.ledger() < 12_000
        assert bench.seen.due == [job.due_at + ms]  # as the clock is now
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
        _set(clock, 3650 * DAY_MS)
        await asyncio.sleep(5)
        assert bench.states() == {"job_0": "succeeded"}

    leased()
