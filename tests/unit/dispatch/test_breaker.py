"""One target's gate: when it opens, what it lets through, who pauses it; times are arguments."""

import pytest

from router.dispatch.breaker import (
    ATTEMPTS,
    FIRST_PACE,
    FIRST_SLOTS,
    FIRST_WAIT_MS,
    GIVE_UP_MS,
    JITTER,
    LONGEST_WAIT_MS,
    RATIO,
    REFUSALS,
    SAVE_MS,
    STEP_MS,
    Breaker,
)
from router.dispatch.health import BUCKET_MS
from router.model.settings import TargetLimits
from router.model.target import TargetChange
from tests.chance import Always
from tests.unit.dispatch.breaker_rig import OWN, T, fail, opened, probed


@pytest.mark.parametrize(
    ("answered", "failed", "opens"),
    [(0, 9, False), (0, 10, True), (3, 7, True), (4, 7, False), (300, 699, False), (4, 10, True)],
)
def test_it_opens_at_seven_in_ten_of_at_least_ten(answered: int, failed: int, opens: bool) -> None:
    gate = Breaker("erp", T)
    for _ in range(answered):
        gate.answered("j", T)
    changes = [fail(gate, T) for _ in range(failed)]
    assert (gate.state == "failing") is opens
    assert [c for c in changes[:-1] if c] == []
    if opens:
        change = changes[-1]
        assert change is not None
        assert (change.old, change.new, change.at) == ("healthy", "failing", T)
        assert change.reason == (
            f"{failed} of {answered + failed} attempts in 5 minutes failed: HTTP 503"
        )


def test_what_is_older_than_five_minutes_does_not_count() -> None:
    gate = Breaker("erp", T)
    for _ in range(9):
        fail(gate, T)
    later = T + 10 * BUCKET_MS
    assert fail(gate, later) is None
    assert gate.health.window(later) == (0, 1)


def test_five_failures_to_connect_in_a_row_open_it_and_an_answer_between_does_not() -> None:
    gate = Breaker("erp", T)
    for _ in range(4):
        fail(gate, T, connecting=True)
    gate.answered("j", T)
    for _ in range(4):
        fail(gate, T, connecting=True)
    assert gate.state == "healthy"
    change = fail(gate, T, connecting=True)
    assert change is not None
    assert change.reason == "5 failures to connect in a row: HTTP 503"


def test_open_lets_nothing_through_until_its_time_and_then_one() -> None:
    gate = opened()
    assert gate.narrowed(OWN).concurrency == 0
    assert gate.tick(gate.next_probe - 1) is None
    assert gate.blocked
    assert gate.tick(gate.next_probe) is not None
    assert gate.state == "recovering"
    assert gate.narrowed(OWN).concurrency == 1


def test_each_probe_that_fails_makes_the_wait_longer_up_to_ten_minutes() -> None:
    gate, waits = opened(), []
    waits.append(gate.next_probe - T)
    for _ in range(8):
        now = probed(gate)
        assert fail(gate, now, job="p") is not None
        waits.append(gate.next_probe - now)
    for wait, nominal in zip(waits, [1, 2, 4, 8, 16, 20, 20, 20, 20], strict=True):
        base = min(FIRST_WAIT_MS * nominal, LONGEST_WAIT_MS)
        assert base * (1 - JITTER) <= wait <= base * (1 + JITTER)
    assert len(set(waits)) == len(waits), "never twice the same"


def test_whoever_began_before_it_opened_is_no_probe() -> None:
    gate = opened()
    now = probed(gate)
    assert fail(gate, now, job="old") is None
    assert gate.answered("old", now) is None
    assert gate.state == "recovering"
    change = gate.answered("p", now)
    assert change is not None
    assert (change.old, change.new) == ("recovering", "recovering")
    assert gate.ramping


def test_a_probe_that_tells_nothing_leaves_room_for_the_next() -> None:
    gate = opened()
    probed(gate)
    gate.landed("p")
    assert (gate.state, gate.probe) == ("recovering", None)


def test_days_of_only_failures_pause_it_and_an_answer_between_starts_them_anew() -> None:
    gate = opened()
    now = gate.next_probe
    while now - T < GIVE_UP_MS:
        assert gate.state != "paused"
        now = probed(gate)
        change = fail(gate, now, job="p")
    assert change is not None
    assert (change.new, change.by) == ("paused", "router")
    assert change.reason == "nothing but failures for 120 hours: HTTP 503"
    assert gate.tick(now + GIVE_UP_MS) is None, "no probe wakes it"

    other = Breaker("crm", T)
    fail(other, T)
    other.answered("j", T + GIVE_UP_MS - 1)
    assert fail(other, T + GIVE_UP_MS) is None


def test_paused_by_hand_and_resumed_by_hand() -> None:
    gate = Breaker("erp", T)
    change = gate.pause(T, "they migrate", "ops")
    assert change is not None
    assert (change.new, change.reason, change.by) == ("paused", "they migrate", "ops")
    assert gate.pause(T, "again", "ops") is None
    assert gate.narrowed(OWN).concurrency == 0
    assert fail(gate, T) is None
    assert gate.resume(T + 9, "done", "ops") is not None
    assert gate.ramping
    assert gate.resume(T + 9, "done", "ops") is None


def test_a_clock_set_back_does_not_hold_it_for_long() -> None:
    gate = opened()
    assert gate.tick(T - 3_600_000) is not None


def test_the_numbers_that_the_pages_name() -> None:
    assert (RATIO, ATTEMPTS, REFUSALS) == (0.7, 10, 5)
    assert (FIRST_WAIT_MS, LONGEST_WAIT_MS, JITTER) == (30_000, 600_000, 0.2)
    assert (GIVE_UP_MS, STEP_MS, SAVE_MS) == (432_000_000, 5_000, 600_000)
    assert (FIRST_SLOTS, FIRST_PACE) == (2, 5.0)


def test_what_is_left_of_its_limits_keeps_its_rate_and_its_breaker() -> None:
    own = TargetLimits(16, 3.0, False)
    gate = opened()
    assert gate.narrowed(own) == TargetLimits(0, 3.0, False)
    now = probed(gate)
    assert gate.narrowed(own) == TargetLimits(1, 3.0, False)
    gate.answered("p", now)
    assert gate.narrowed(own) == TargetLimits(2, 3.0, False)
    gate.pause(now, "x", "ops")
    assert gate.narrowed(own) == TargetLimits(0, 3.0, False)


@pytest.mark.parametrize(("late", "waits"), [(0, True), (1, False)])
def test_a_wait_that_is_longer_than_any_is_none(late: int, waits: bool) -> None:
    """A clock set far back; 12 minutes is the longest wait with its spread."""
    gate = opened()
    now = gate.next_probe - 720_000 - late
    assert (gate.tick(now) is None) is waits


def test_only_the_probe_s_end_leaves_room() -> None:
    gate = opened()
    probed(gate)
    gate.landed("another")
    assert gate.probe == "p"


def test_a_change_of_state_tells_what_when_and_why() -> None:
    gate = opened()
    assert (gate.since, gate.by, gate.openings) == (T, "router", 1)
    change = gate.tick(gate.next_probe)
    assert change == TargetChange(
        "erp",
        "failing",
        "recovering",
        gate.next_probe,
        "one call finds out whether it is back",
        "router",
    )
    gate.begun("p")
    failed = fail(gate, gate.next_probe, job="p")
    assert failed is not None
    assert failed.reason == "the probe failed: HTTP 503"
    now = probed(gate)
    closed = gate.answered("p", now)
    assert closed is not None
    assert (closed.reason, closed.by) == ("the probe was answered", "router")


def test_resumed_by_hand_its_failures_are_forgotten() -> None:
    gate = opened()
    gate.resume(T + GIVE_UP_MS, "mended", "ops")
    assert gate.health.failing_since is None
    assert fail(gate, T + GIVE_UP_MS) is None
    assert gate.ramping


def test_a_gate_begins_in_order() -> None:
    gate = Breaker("erp", T)
    assert gate.healthy
    assert gate.narrowed(OWN) is OWN
    assert (gate.state, gate.since, gate.reason, gate.by) == ("healthy", 0, "", "router")
    assert (gate.probe, gate.next_probe, gate.openings, gate.deferred) == (None, 0, 0, 0)
    assert gate.health.learns


@pytest.mark.parametrize(("drawn", "wait"), [(0.0, 24_000), (0.5, 30_000), (1.0, 36_000)])
def test_a_wait_is_spread_by_a_fifth_and_no_more(drawn: float, wait: int) -> None:
    gate = Breaker("erp", T)
    for _ in range(REFUSALS):
        gate.failed("j", T, "no", connecting=True, rng=Always(drawn))
    assert gate.next_probe == T + wait
