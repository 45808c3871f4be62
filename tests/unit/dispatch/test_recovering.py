"""How a target comes back: step by step, never faster than it is used to."""

import pytest

from router.dispatch.breaker import (
    FIRST_PACE,
    STEP_MS,
    Breaker,
)
from router.model.settings import TargetLimits
from router.model.target import TargetMemory
from tests.unit.dispatch.breaker_rig import OWN, T, fail, opened, probed


def test_it_recovers_twice_as_fast_with_every_good_step_and_half_as_fast_after_a_bad() -> None:
    gate = opened()
    now = probed(gate)
    gate.answered("p", now)
    seen = []
    for bad in (False, False, False, True, False):
        limits = gate.narrowed(OWN)
        seen.append((limits.concurrency, limits.rate))
        now += STEP_MS
        gate.answered("j", now - 1)
        if bad:
            fail(gate, now)
        else:
            gate.answered("j", now)
    assert seen == [(2, 5.0), (4, 10.0), (8, 20.0), (16, 40.0), (8, 20.0)]


def test_without_an_answer_it_gets_no_faster() -> None:
    gate = opened()
    now = probed(gate)
    gate.answered("p", now)
    fail(gate, now + 3 * STEP_MS)
    assert gate.narrowed(OWN).rate == FIRST_PACE


def _used_to(rate: int) -> tuple[Breaker, int]:
    """A gate that has seen so many attempts a second for an hour, now down and answered again."""
    gate, now = Breaker("erp", T), T
    for second in range(3_600):
        now = T + second * 1000
        for _ in range(rate):
            gate.answered("j", now)
    for _ in range(5):
        fail(gate, now, connecting=True)
    now = probed(gate)
    gate.answered("p", now)
    return gate, now


def test_it_never_recovers_faster_than_nearly_twice_its_usual_rate() -> None:
    gate, now = _used_to(40)
    assert gate.health.usual == pytest.approx(40, rel=0.01)
    for _ in range(12):
        now += STEP_MS
        gate.answered("j", now)
    rate = gate.narrowed(OWN).rate
    assert rate is not None
    assert 60 < rate < 80
    assert gate.narrowed(TargetLimits(16, 300.0)).rate == 300.0, "its owner knows what it bears"


def test_the_usual_rate_stands_still_while_it_recovers_and_learns_again_after() -> None:
    gate, now = _used_to(40)
    before = gate.health.usual
    for second in range(120):
        gate.answered("j", now + second * 1000)
    assert gate.health.usual == before
    gate.drained(now)
    for second in range(120, 600):
        gate.answered("j", now + second * 1000)
    assert gate.health.usual is not None
    assert before is not None
    assert gate.health.usual < before


def test_when_nothing_waits_any_more_its_own_limits_hold() -> None:
    gate, now = _used_to(10)
    change = gate.drained(now)
    assert change is not None
    assert (change.old, change.new, change.at) == ("recovering", "healthy", now)
    assert gate.healthy
    assert gate.narrowed(OWN) == OWN
    assert gate.openings == 0


def _recovering(usual: float | None = None) -> tuple[Breaker, int]:
    gate = Breaker("erp", T, TargetMemory(state="recovering", usual=usual))
    assert gate.ramping
    return gate, T


def _good(gate: Breaker, now: int, steps: int) -> int:
    for _ in range(steps):
        now += STEP_MS
        gate.answered("j", now)
    return now


@pytest.mark.parametrize(
    ("usual", "rate", "pace"),
    [
        (None, None, 40.0),
        (10.0, None, 18.0),
        (1.0, None, 5.0),
        (10.0, 30.0, 30.0),
        (10.0, 2.0, 2.0),
        (1_000.0, None, 40.0),
    ],
)
def test_how_fast_it_may_recover(usual: float | None, rate: float | None, pace: float) -> None:
    gate, now = _recovering(usual)
    _good(gate, now, 3)
    assert gate.pace(rate) == pace
    assert gate.narrowed(TargetLimits(16, rate)).rate == pace
    gate.drained(now)
    assert gate.pace(rate) is None


def test_a_recovery_has_bounds_both_ways() -> None:
    gate, now = _recovering()
    now = _good(gate, now, 40)
    wide = gate.narrowed(TargetLimits(5_000, None))
    assert (wide.concurrency, wide.rate) == (1024, 1e6)
    assert gate.narrowed(OWN).concurrency == 16, "never more than its own limit"
    for _ in range(40):
        now += STEP_MS
        fail(gate, now)
        gate.answered("j", now)
    assert (gate.narrowed(OWN).concurrency, gate.narrowed(OWN).rate) == (2, 5.0)


def test_a_step_takes_its_time_whatever_happens_in_it() -> None:
    gate, now = _recovering()
    for _ in range(100):
        gate.answered("j", now + STEP_MS - 1)
    assert gate.narrowed(OWN).rate == 5.0
    gate.answered("j", now + STEP_MS)
    assert gate.narrowed(OWN).rate == 10.0
    fail(gate, now + 2 * STEP_MS)
    assert gate.narrowed(OWN).rate == 5.0, "one failure, and no answer in this step"
    gate.answered("j", now + 3 * STEP_MS)
    assert gate.narrowed(OWN).rate == 10.0, "the failure of the step before is over"
    gate.answered("j", now - 10 * STEP_MS)
    assert gate.narrowed(OWN).rate == 20.0, "a clock set back does not hold it"


def test_after_a_recovery_it_is_judged_anew() -> None:
    gate = opened()
    now = probed(gate)
    gate.answered("p", now)
    assert gate.health.window(now) == (0, 0)
    for _ in range(9):
        assert fail(gate, now) is None
    assert fail(gate, now) is not None


def test_an_ordinary_gate_that_is_drained_stays_as_it_is() -> None:
    gate = opened()
    assert gate.drained(T) is None
    assert (gate.state, gate.openings, gate.health.learns) == ("failing", 1, False)
