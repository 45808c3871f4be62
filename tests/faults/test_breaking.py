"""
Short forms of the harnesses that break the disk and the process; the long ones: docs/dev/faults.md.
"""

import random
from pathlib import Path

import pytest

from tests.faults import (
    backups,
    clocks,
    corrupt,
    io,
    places,
    recovery,
    room,
    slow,
    steps,
    syscalls,
    telling,
)
from tests.faults.life import needs_strace

pytestmark = pytest.mark.long


@needs_strace
def test_a_kill_at_a_system_call_of_a_life_loses_nothing(tmp_path: Path) -> None:
    tally = syscalls.campaign(tmp_path, syscalls.SIZES[0], 8, syscalls.Tally())
    assert tally.problems == []
    assert tally.killed > 4  # else nothing was shown


def test_a_kill_at_a_named_step_loses_nothing(tmp_path: Path) -> None:
    tally = steps.campaign(tmp_path, 2)
    assert tally.problems == []
    assert tally.killed > 5


@needs_strace
def test_an_error_of_the_disk_is_never_a_false_answer(tmp_path: Path) -> None:
    """And a full disk is 503 at once, and over by itself."""
    tally = io.campaign(tmp_path, 2, random.Random(3))
    assert tally.problems == []
    assert tally.hit > 4
    assert tally.full


@pytest.mark.parametrize("part", room.PARTS)
def test_no_room_is_said_and_is_over_by_itself(tmp_path: Path, part: str) -> None:
    figures, problems = room.campaign(tmp_path, [part])
    if "passed over" in figures[0]:
        pytest.skip(figures[0])
    assert problems == []
    assert "x 503" in figures[0]


def test_what_ran_at_a_kill_is_done_once_more_and_its_attempts_are_counted(tmp_path: Path) -> None:
    assert recovery.killed(tmp_path / "killed", 200).problems == []


async def test_leases_from_a_long_backlog_bring_what_was_asked_for(tmp_path: Path) -> None:
    found = await recovery.leased(tmp_path / "waiting.db", 2_000, 30, random.Random(7))
    assert found.problems == []
    assert set(found.took) == {0, *recovery.BATCHES}


@needs_strace
@pytest.mark.parametrize("part", ["slow", "late", "stuck"])
def test_a_disk_that_is_slow_or_hangs(tmp_path: Path, part: str) -> None:
    problems, _ = slow.campaign(tmp_path, [part])
    assert problems == []


def test_a_changed_byte_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    tally = corrupt.campaign(tmp_path, 4, random.Random(4))
    assert tally.problems == []
    assert tally.seen["refused"]
    assert tally.calls


def test_files_that_are_not_as_they_were_left(tmp_path: Path) -> None:
    problems, _ = places.campaign(tmp_path)
    assert problems == []


def test_a_backup_under_load_restores(tmp_path: Path) -> None:
    tally = backups.campaign(tmp_path, 2, random.Random(6))
    assert tally.problems == []
    assert tally.restored == 2


@pytest.mark.parametrize("name", clocks.PATTERNS)
def test_a_clock_that_is_wrong(name: str) -> None:
    assert [p for seed in range(1, 4) for p in clocks.problems_of(seed, name)] == []


def test_a_harness_ends_with_1_when_a_promise_broke(capsys: pytest.CaptureFixture[str]) -> None:
    assert telling.verdict([], "all well") == 0
    assert telling.verdict(["it broke"], "one thing") == 1
    assert "PROBLEM it broke" in capsys.readouterr().out


def test_progress_outside_a_terminal_is_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(telling.reported(range(200), "turns")) == list(range(200))
    assert len(capsys.readouterr().out.splitlines()) == telling.LINES
