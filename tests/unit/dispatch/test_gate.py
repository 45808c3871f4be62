"""One target's gate: pure, with times as arguments."""

import random

import pytest

from router.dispatch.gate import (
    ATTEMPTS,
    FIRST_OPEN_MS,
    FIRST_PACE,
    FIRST_SLOTS,
    GIVE_UP_MS,
    JITTER,
    LONGEST_OPEN_MS,
    OF_USUAL,
    RATIO,
    REFUSALS,
    SAVE_MS,
    STEP_MS,
    Gate,
)
from router.dispatch.health import BUCKET_MS
from router.model.settings import TargetLimits
from router.model.target import TargetChange, TargetMemory

T = 1_750_000_000_000 // BUCKET_MS * BUCKET_MS
OWN = TargetLimits(16, None)
RNG = random.Random(1)


def _fail(gate: Gate, now: int, *, connecting: bool = False, job: str = "j") -> TargetChange | None:
    return gate.failed(job, now, "HTTP 503", connecting=connecting, rng=RNG)


def _opened(now: int = T) -> Gate:
    gate = Gate("erp", now)
    for _ in range(5):
        _fail(gate, now, connecting=True)
    assert gate.state == "open"
    return gate


def _probed(gate: Gate) -> int:
    """Half-open at its time, with a probe named p; that time."""
    now = gate.next_probe
    assert gate.tick(now) is not None
    gate.probe = "p"
    return now


@pytest.mark.parametrize(
    ("answered", "failed", "opens"),
    [(0, 9, False), (0, 10, True), (3, 7, True), (4, 7, False), (300, 699, False), (4, 10, True)],
)
def test_it_opens_at_seven_in_ten_of_at_least_ten(answered: int, failed: int, opens: bool) -> None:
    gate = Gate("erp", T)
    for _ in range(answered):
        gate.answered("j", T)
    changes = [_fail(gate, T) for _ in range(failed)]
    assert (gate.state == "open") is opens
    assert [c for c in changes[:-1] if c] == []
    if opens:
        change = changes[-1]
        assert change is not None
        assert (change.old, change.new, change.at) == ("closed", "open", T)
        assert change.reason == (
            f"{failed} of {answered + failed} attempts in 5 minutes failed: HTTP 503"
        )


def test_what_is_older_than_five_minutes_does_not_count() -> None:
    gate = Gate("erp", T)
    for _ in range(9):
        _fail(gate, T)
    later = T + 10 * BUCKET_MS
    assert _fail(gate, later) is None
    assert gate.health.window(later) == (0, 1)


def test_five_failures_to_connect_in_a_row_open_it_and_an_answer_between_does_not() -> None:
    gate = Gate("erp", T)
    for _ in range(4):
        _fail(gate, T, connecting=True)
    gate.answered("j", T)
    for _ in range(4):
        _fail(gate, T, connecting=True)
    assert gate.state == "closed"
    change = _fail(gate, T, connecting=True)
    assert change is not None
    assert change.reason == "5 failures to connect in a row: HTTP 503"


def test_open_lets_nothing_through_until_its_time_and_then_one() -> None:
    gate = _opened()
    assert gate.narrowed(OWN).concurrency == 0
    assert gate.tick(gate.next_probe - 1) is None
    assert gate.shut()
    assert gate.tick(gate.next_probe) is not None
    assert gate.state == "half-open"
    assert gate.narrowed(OWN).concurrency == 1


def test_each_probe_that_fails_makes_the_wait_longer_up_to_ten_minutes() -> None:
    gate, waits = _opened(), []
    waits.append(gate.next_probe - T)
    for _ in range(8):
        now = _probed(gate)
        assert _fail(gate, now, job="p") is not None
        waits.append(gate.next_probe - now)
    for wait, nominal in zip(waits, [1, 2, 4, 8, 16, 20, 20, 20, 20], strict=True):
        base = min(FIRST_OPEN_MS * nominal, LONGEST_OPEN_MS)
        assert base * (1 - JITTER) <= wait <= base * (1 + JITTER)
    assert len(set(waits)) == len(waits), "never twice the same"


def test_whoever_began_before_it_opened_is_no_probe() -> None:
    gate = _opened()
    now = _probed(gate)
    assert _fail(gate, now, job="old") is None
    assert gate.answered("old", now) is None
    assert gate.state == "half-open"
    change = gate.answered("p", now)
    assert change is not None
    assert (change.old, change.new) == ("half-open", "closed")


def test_a_probe_that_tells_nothing_leaves_room_for_the_next() -> None:
    gate = _opened()
    _probed(gate)
    gate.landed("p")
    assert (gate.state, gate.probe) == ("half-open", None)


def test_it_recovers_twice_as_fast_with_every_good_step_and_half_as_fast_after_a_bad() -> None:
    gate = _opened()
    now = _probed(gate)
    gate.answered("p", now)
    seen = []
    for bad in (False, False, False, True, False):
        limits = gate.narrowed(OWN)
        seen.append((limits.concurrency, limits.rate))
        now += STEP_MS
        gate.answered("j", now - 1)
        if bad:
            _fail(gate, now)
        else:
            gate.answered("j", now)
    assert seen == [(2, 5.0), (4, 10.0), (8, 20.0), (16, 40.0), (8, 20.0)]


def test_without_an_answer_it_gets_no_faster() -> None:
    gate = _opened()
    now = _probed(gate)
    gate.answered("p", now)
    _fail(gate, now + 3 * STEP_MS)
    assert gate.narrowed(OWN).rate == FIRST_PACE


def _used_to(rate: int) -> tuple[Gate, int]:
    """A gate that has seen so many attempts a second for an hour, now down and answered again."""
    gate, now = Gate("erp", T), T
    for second in range(3_600):
        now = T + second * 1000
        for _ in range(rate):
            gate.answered("j", now)
    for _ in range(5):
        _fail(gate, now, connecting=True)
    now = _probed(gate)
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
    gate.drained()
    for second in range(120, 600):
        gate.answered("j", now + second * 1000)
    assert gate.health.usual is not None
    assert before is not None
    assert gate.health.usual < before


def test_when_nothing_waits_any_more_its_own_limits_hold() -> None:
    gate, _ = _used_to(10)
    gate.drained()
    assert gate.plain
    assert gate.narrowed(OWN) == OWN
    assert gate.openings == 0


def test_days_of_only_failures_pause_it_and_an_answer_between_starts_them_anew() -> None:
    gate = _opened()
    now = gate.next_probe
    while now - T < GIVE_UP_MS:
        assert gate.state != "paused"
        now = _probed(gate)
        change = _fail(gate, now, job="p")
    assert change is not None
    assert (change.new, change.by) == ("paused", "router")
    assert change.reason == "nothing but failures for 120 hours: HTTP 503"
    assert gate.tick(now + GIVE_UP_MS) is None, "no probe wakes it"

    other = Gate("crm", T)
    _fail(other, T)
    other.answered("j", T + GIVE_UP_MS - 1)
    assert _fail(other, T + GIVE_UP_MS) is None


def test_paused_by_hand_and_resumed_by_hand() -> None:
    gate = Gate("erp", T)
    change = gate.pause(T, "they migrate", "ops")
    assert change is not None
    assert (change.new, change.reason, change.by) == ("paused", "they migrate", "ops")
    assert gate.pause(T, "again", "ops") is None
    assert gate.narrowed(OWN).concurrency == 0
    assert _fail(gate, T) is None
    assert gate.resume(T + 9, "done", "ops") is not None
    assert gate.recovering
    assert gate.resume(T + 9, "done", "ops") is None


@pytest.mark.parametrize("state", ["open", "half-open", "paused", "recovering"])
def test_it_is_the_same_after_a_restart(state: str) -> None:
    gate = _opened()
    if state == "paused":
        gate.pause(T, "they migrate", "ops")
    elif state != "open":
        now = _probed(gate)
        if state == "recovering":
            gate.answered("p", now)
    memory = gate.unkept(T)
    assert memory is not None
    again = Gate("erp", T + 1000, memory)
    assert again.state == ("open" if state == "half-open" else gate.state)
    assert (again.since, again.reason, again.by) == (gate.since, gate.reason, gate.by)
    assert (again.openings, again.recovering) == (gate.openings, gate.recovering)
    if state == "open":
        assert again.next_probe == gate.next_probe
    if state == "half-open":
        assert again.tick(T + 1000) is not None, "at once"


def test_what_changes_little_is_written_seldom() -> None:
    gate = Gate("erp", T)
    assert gate.unkept(T) is None
    _fail(gate, T)
    assert gate.unkept(T + 599_999) is None, "one failure is no news"
    memory = gate.unkept(T + 600_000)
    assert memory == TargetMemory(failing_since=T)
    gate.keep(memory, T + 600_000)
    assert gate.unkept(T + 2_000_000) is None


def test_a_clock_set_back_does_not_hold_it_for_long() -> None:
    gate = _opened()
    assert gate.tick(T - 3_600_000) is not None


def test_the_numbers_that_the_pages_name() -> None:
    assert (RATIO, ATTEMPTS, REFUSALS) == (0.7, 10, 5)
    assert (FIRST_OPEN_MS, LONGEST_OPEN_MS, JITTER) == (30_000, 600_000, 0.2)
    assert (GIVE_UP_MS, STEP_MS, SAVE_MS) == (432_000_000, 5_000, 600_000)
    assert (FIRST_SLOTS, FIRST_PACE, OF_USUAL) == (2, 5.0, 1.8)


def _recovering(usual: float | None = None) -> tuple[Gate, int]:
    gate = Gate("erp", T, TargetMemory(state="closed", usual=usual, recovering=True))
    assert gate.recovering
    return gate, T


def _good(gate: Gate, now: int, steps: int) -> int:
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
    gate.drained()
    assert gate.pace(rate) is None


def test_a_recovery_has_bounds_both_ways() -> None:
    gate, now = _recovering()
    now = _good(gate, now, 40)
    wide = gate.narrowed(TargetLimits(5_000, None))
    assert (wide.concurrency, wide.rate) == (1024, 1e6)
    assert gate.narrowed(OWN).concurrency == 16, "never more than its own limit"
    for _ in range(40):
        now += STEP_MS
        _fail(gate, now)
        gate.answered("j", now)
    assert (gate.narrowed(OWN).concurrency, gate.narrowed(OWN).rate) == (2, 5.0)


def test_a_step_takes_its_time_whatever_happens_in_it() -> None:
    gate, now = _recovering()
    for _ in range(100):
        gate.answered("j", now + STEP_MS - 1)
    assert gate.narrowed(OWN).rate == 5.0
    gate.answered("j", now + STEP_MS)
    assert gate.narrowed(OWN).rate == 10.0
    _fail(gate, now + 2 * STEP_MS)
    assert gate.narrowed(OWN).rate == 5.0, "one failure, and no answer in this step"
    gate.answered("j", now + 3 * STEP_MS)
    assert gate.narrowed(OWN).rate == 10.0, "the failure of the step before is over"
    gate.answered("j", now - 10 * STEP_MS)
    assert gate.narrowed(OWN).rate == 20.0, "a clock set back does not hold it"


def test_what_is_left_of_its_limits_keeps_its_rate_and_its_breaker() -> None:
    own = TargetLimits(16, 3.0, False)
    gate = _opened()
    assert gate.narrowed(own) == TargetLimits(0, 3.0, False)
    now = _probed(gate)
    assert gate.narrowed(own) == TargetLimits(1, 3.0, False)
    gate.answered("p", now)
    assert gate.narrowed(own) == TargetLimits(2, 3.0, False)
    gate.pause(now, "x", "ops")
    assert gate.narrowed(own) == TargetLimits(0, 3.0, False)


@pytest.mark.parametrize(("late", "waits"), [(0, True), (1, False)])
def test_a_wait_that_is_longer_than_any_is_none(late: int, waits: bool) -> None:
    """A clock set far back; 12 minutes is the longest wait with its spread."""
    gate = _opened()
    now = gate.next_probe - 720_000 - late
    assert (gate.tick(now) is None) is waits


def test_only_the_probe_s_end_leaves_room() -> None:
    gate = _opened()
    _probed(gate)
    gate.landed("another")
    assert gate.probe == "p"


def test_a_change_of_state_tells_what_when_and_why() -> None:
    gate = _opened()
    assert (gate.since, gate.by, gate.openings) == (T, "router", 1)
    change = gate.tick(gate.next_probe)
    assert change == TargetChange(
        "erp",
        "open",
        "half-open",
        gate.next_probe,
        "one call finds out whether it is back",
        "router",
    )
    gate.probe = "p"
    failed = _fail(gate, gate.next_probe, job="p")
    assert failed is not None
    assert failed.reason == "the probe failed: HTTP 503"
    now = _probed(gate)
    closed = gate.answered("p", now)
    assert closed is not None
    assert (closed.reason, closed.by) == ("the probe was answered", "router")


def test_after_a_recovery_it_is_judged_anew() -> None:
    gate = _opened()
    now = _probed(gate)
    gate.answered("p", now)
    assert gate.health.window(now) == (0, 0)
    for _ in range(9):
        assert _fail(gate, now) is None
    assert _fail(gate, now) is not None


def test_resumed_by_hand_its_failures_are_forgotten() -> None:
    gate = _opened()
    gate.resume(T + GIVE_UP_MS, "mended", "ops")
    assert gate.health.failing_since is None
    assert _fail(gate, T + GIVE_UP_MS) is None
    assert gate.state == "closed"


def test_an_ordinary_gate_that_is_drained_stays_as_it_is() -> None:
    gate = _opened()
    gate.drained()
    assert (gate.state, gate.openings, gate.health.learns) == ("open", 1, False)


def test_a_clock_that_is_set_moves_what_waits() -> None:
    gate = _opened()
    probe = gate.next_probe
    gate.shift(7_000)
    assert (gate.since, gate.next_probe) == (T + 7_000, probe + 7_000)
    assert gate.health.failing_since == T + 7_000
    assert gate.tick(probe + 6_999) is None
    ordinary = Gate("crm", T)
    ordinary.shift(7_000)
    assert (ordinary.since, ordinary.next_probe) == (0, 0)
    _fail(ordinary, T + 7_000)
    assert ordinary.unkept(T + 7_000 + SAVE_MS - 1) is None
    assert ordinary.unkept(T + 7_000 + SAVE_MS) is not None
    slow, now = _recovering()
    slow.shift(1_000_000)
    slow.answered("j", now + 1_000_000 + STEP_MS - 1)
    assert slow.narrowed(OWN).rate == 5.0


def test_what_must_outlive_a_restart() -> None:
    gate = _opened()
    assert gate.memory() == TargetMemory(
        state="open",
        since=T,
        reason=gate.reason,
        next_probe=gate.next_probe,
        openings=1,
        failing_since=T,
    )
    now = _probed(gate)
    assert gate.memory().next_probe == 0, "half-open has no time to wait for"
    gate.answered("p", now)
    kept = gate.memory()
    assert (kept.state, kept.recovering, kept.since) == ("closed", True, now)
    assert kept.reason == "the probe was answered"
    gate.drained()
    assert gate.memory() == TargetMemory(), "ordinary again: nothing to remember"


@pytest.mark.parametrize(
    ("before", "after", "news"),
    [
        (None, None, False),
        (None, 1.0, True),
        (10.0, 10.9, False),
        (10.0, 11.2, True),
        (10.0, 9.1, False),
        (10.0, 8.9, True),
        (10.0, 11.0, False),
    ],
)
def test_a_usual_rate_is_news_when_it_has_moved_by_a_tenth(
    before: float | None, after: float | None, news: bool
) -> None:
    gate = Gate("erp", T, TargetMemory(usual=before))
    gate.health.usual = after
    assert gate.unkept(T + SAVE_MS - 1) is None
    assert (gate.unkept(T + SAVE_MS) is not None) is news
    gate.pause(T, "x", "ops")
    assert gate.unkept(T) is not None, "a change of state is news at once"
