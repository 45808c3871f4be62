"""Retries of a target that begins to fail: it never gets more than twice what it is used to."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from router.dispatch.health import BUCKET_MS, Health
from router.dispatch.retry_budget import LEAST, RetryBudget, bearable
from router.model.job import Done, Job, Outcome, RetryOutcome
from router.model.settings import TargetLimits
from tests.unit.dispatch.bench import Bench, on_bench

T = 1_750_000_000_000 // BUCKET_MS * BUCKET_MS


def _used_to(rate: float | None) -> Health:
    health = Health(T)
    health.usual = rate
    return health


def _turns(count: int, rate: float | None, *, due_at: int = T) -> list[int]:
    budget, health = RetryBudget(), _used_to(rate)
    return [budget.turn(due_at, T, health) for _ in range(count)]


@pytest.mark.parametrize(
    ("usual", "a_second"), [(None, 5), (0.5, 4), (2.5, 2), (5.0, 4), (10.0, 8), (100.0, 80)]
)
def test_so_many_retries_start_in_each_second(usual: float | None, a_second: int) -> None:
    turns = _turns(3 * a_second, usual)
    assert turns == sorted(turns)
    assert Counter((turn - T) // 1000 for turn in turns) == dict.fromkeys(range(3), a_second)
    assert a_second + (usual or 0) <= max(2 * (usual or 0), LEAST)


def test_those_that_have_to_wait_are_spread_over_their_second() -> None:
    assert _turns(12, 5.0, due_at=T + 900)[4:] == [
        *(T + 1_000 + n * 250 for n in range(4)),
        *(T + 2_000 + n * 250 for n in range(4)),
    ]


def test_a_retry_that_there_is_room_for_is_due_when_its_policy_says() -> None:
    budget, health = RetryBudget(), _used_to(10)
    assert [budget.turn(due, T, health) for due in (T + 77, T + 5_123)] == [T + 77, T + 5_123]
    for _ in range(80):
        budget.turn(T + 60_000, T, health)
    assert budget.turn(T + 5_000, T, health) == T + 5_000, "it need not wait behind later ones"


def test_full_seconds_are_passed_also_when_more_is_borne_later() -> None:
    budget, health = RetryBudget(), _used_to(5)
    for _ in range(20):
        budget.turn(T, T, health)
    health.usual = 100
    later = [budget.turn(T, T, health) for _ in range(76 + 80)]
    assert max(Counter(turn // 1000 for turn in later).values()) <= 80
    assert min(later) >= T


def test_turns_that_have_passed_are_forgotten() -> None:
    budget, health = RetryBudget(), _used_to(None)
    for second in range(3_600):
        now = T + second * 1000
        for _ in range(6):
            budget.turn(now + 5_000, now, health)
    assert len(budget._taken) < 3_600
    later = T + 8 * 3_600_000
    assert budget.turn(later, later, health) == later
    assert len(budget._taken) == 1
    assert budget._beyond == {}


@pytest.mark.parametrize(("usual", "most"), [(0.0, 5.0), (1.0, 5.0), (10.0, 18.0)])
def test_what_a_target_bears(usual: float, most: float) -> None:
    assert bearable(usual) == most


class Onset:
    """A target that is called so often a second and, from some moment on, answers 503."""

    def __init__(self, bench: Bench, rate: int) -> None:
        self.bench, self.rate, self.up = bench, rate, True
        self.calls: Counter[int] = Counter()
        bench.act.how = self.called

    async def called(self, _job: Job) -> Outcome:
        self.calls[int(self.bench.clock.monotonic())] += 1
        return Done() if self.up else RetryOutcome("server", "HTTP 503", None, {"status": 503})

    async def goes_on(self, seconds: int) -> None:
        for _ in range(seconds * self.rate):
            await self.bench.commit_and_wake(*self.bench.new())
            await asyncio.sleep(1 / self.rate)

    async def fails(self, seconds: int) -> None:
        await self.goes_on(900)
        self.calls.clear()
        self.up = False
        await self.goes_on(seconds)


@pytest.mark.long
@on_bench
async def test_at_the_onset_of_503_it_never_gets_twice_its_usual_calls(bench: Bench) -> None:
    target = Onset(bench, rate=10)
    await bench.start()
    await target.fails(600)
    assert max(target.calls.values()) <= 20
    assert bench.dispatcher.breakers.unhealthy["erp"].blocked, "and the breaker opened meanwhile"
    assert max(job.charged for job in bench.ledger.records.values()) <= 6
    target.up = True
    bench.dispatcher.breakers.resume("erp", "mended", "ops")
    await asyncio.sleep(1_800)
    assert set(bench.states().values()) == {"succeeded"}
    assert max(target.calls.values()) <= 20, "nor when it was back"


@pytest.mark.long
@on_bench
async def test_what_was_put_off_is_done_when_it_is_back_after_a_short_while(bench: Bench) -> None:
    target = Onset(bench, rate=10)
    await bench.start()
    await target.fails(100)
    assert 12 <= max(target.calls.values()) <= 20
    assert bench.dispatcher.breakers.unhealthy == {}
    target.up = True
    await asyncio.sleep(300)
    assert set(bench.states().values()) == {"succeeded"}
    assert max(target.calls.values()) <= 20


async def _fails_once(bench: Bench, outcome: Outcome, **job: Any) -> None:
    """Forty jobs that come to this at first, and five seconds and a jitter more."""
    outcomes = [outcome] * 40

    async def how(_job: Job) -> Outcome:
        return outcomes.pop() if outcomes else Done()

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new(40, **job))
    await asyncio.sleep(7)
    assert len(bench.act.began) >= 40


@on_bench
async def test_retries_of_commands_keep_their_times(bench: Bench) -> None:
    await _fails_once(bench, RetryOutcome("error", "exit 1"), kind="shell", target="r/a")
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_retries_after_an_answer_keep_their_times(bench: Bench) -> None:
    await _fails_once(bench, RetryOutcome("client", "HTTP 404", None, {"status": 404}))
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_without_a_breaker_the_policy_alone_decides(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(16, breaker=False)
    await _fails_once(bench, RetryOutcome("server", "HTTP 503", None, {"status": 503}))
    assert set(bench.states().values()) == {"succeeded"}
