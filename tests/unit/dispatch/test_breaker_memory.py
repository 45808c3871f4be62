"""What is remembered of a target over a restart, and how often it is written down."""

import msgspec
import pytest

from router.dispatch.breaker import (
    SAVE_MS,
    Breaker,
)
from router.model.target import Pause, TargetMemory
from tests.unit.dispatch.breaker_rig import T, fail, opened, probed


@pytest.mark.parametrize("state", ["failing", "probing", "paused", "recovering"])
def test_it_is_the_same_after_a_restart(state: str) -> None:
    gate = opened()
    if state == "paused":
        gate.pause(T, "they migrate", "ops")
    elif state != "failing":
        now = probed(gate)
        if state == "recovering":
            gate.answered("p", now)
    memory = gate.unkept(T)
    assert memory is not None
    pause = Pause("they migrate", "ops", T) if state == "paused" else None
    again = Breaker("erp", T + 1000, memory, pause)
    assert again.state == ("failing" if state == "probing" else gate.state)
    assert (again.since, again.reason, again.by) == (gate.since, gate.reason, gate.by)
    assert (again.openings, again.ramping) == (gate.openings, gate.ramping)
    if state == "paused":
        resumed = Breaker("erp", T + 1000, memory)
        assert resumed.ramping, "gently, though nobody was there when it was resumed"
        assert resumed.health.failing_since is None, "and its failures of before do not count"
    if state == "failing":
        assert again.next_probe == gate.next_probe
    if state == "probing":
        assert again.tick(T + 1000) is not None, "at once"


def test_what_changes_little_is_written_seldom() -> None:
    gate = Breaker("erp", T)
    assert gate.unkept(T) is None
    fail(gate, T)
    assert gate.unkept(T + 599_999) is None, "one failure is no news"
    memory = gate.unkept(T + 600_000)
    assert memory == TargetMemory(failing_since=T)
    gate.keep(memory, T + 600_000)
    assert gate.unkept(T + 2_000_000) is None


def test_what_must_outlive_a_restart() -> None:
    gate = opened()
    assert gate.memory() == TargetMemory(
        state="failing",
        since=T,
        reason=gate.reason,
        next_probe=gate.next_probe,
        openings=1,
        failing_since=T,
    )
    now = probed(gate)
    assert gate.memory().next_probe == 0, "a probe has no time to wait for"
    gate.answered("p", now)
    kept = gate.memory()
    assert (kept.state, kept.since) == ("recovering", now)
    assert kept.reason == "the probe was answered"
    gate.drained(now)
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
    gate = Breaker("erp", T, TargetMemory(usual=before))
    gate.health.usual = after
    assert gate.unkept(T + SAVE_MS - 1) is None
    assert (gate.unkept(T + SAVE_MS) is not None) is news
    gate.pause(T, "x", "ops")
    assert gate.unkept(T) is not None, "a change of state is news at once"


@pytest.mark.parametrize(
    ("stored", "state", "ramping"),
    [
        ({}, "healthy", False),
        ({"state": "closed", "openings": 1}, "healthy", False),
        ({"recovering": True}, "recovering", True),
        ({"state": "closed", "recovering": True}, "recovering", True),
        ({"state": "open", "next_probe": T + 9}, "failing", False),
        ({"state": "half-open"}, "failing", False),
        ({"state": "paused", "by": "ann"}, "paused", False),
    ],
)
def test_words_that_earlier_versions_stored_are_read(
    stored: dict[str, object], state: str, ramping: bool
) -> None:
    gate = Breaker("erp", T, TargetMemory.read(stored))
    assert (gate.state, gate.ramping) == (state, ramping)
    assert gate.next_probe == stored.get("next_probe", 0)


@pytest.mark.parametrize("stored", [{"state": "shut"}, {"state": ["open"]}, {"state": 7}, [], None])
def test_what_nobody_wrote_is_refused(stored: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        TargetMemory.read(stored)
