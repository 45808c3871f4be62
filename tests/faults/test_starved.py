"""The short form of `tests.faults.starved`."""

from pathlib import Path

import pytest

from tests.faults import paused, starved
from tests.faults.wanting import Tally

pytestmark = pytest.mark.long


def test_too_little_memory_to_start_is_an_end_in_words(tmp_path: Path) -> None:
    tally = Tally()
    starved.starts(tmp_path, tally, sizes=(60, 400))
    assert tally.problems == []
    assert (tally.refused, tally.started) == (1, 1)


def test_memory_that_runs_out_is_never_a_false_answer(tmp_path: Path) -> None:
    tally = Tally()
    starved.memory(tmp_path, tally, rooms=(4, 60))
    assert tally.problems == []
    assert tally.answers.total() > tally.answers["200"]  # else nothing was short


def test_no_descriptors_left(tmp_path: Path) -> None:
    """It waits, and its jobs are tried again."""
    tally = Tally()
    starved.files(tmp_path, tally)
    assert tally.problems == []


@pytest.mark.skipif(
    not starved.limits_processes(), reason="no cgroup can be made here: no process can be refused"
)
def test_no_processes_left(tmp_path: Path) -> None:
    tally = Tally()
    starved.processes(tmp_path, tally)
    assert tally.problems == []


def test_a_pause_loses_nothing(tmp_path: Path) -> None:
    """And nobody takes over the store of a router that only sleeps."""
    tally = Tally()
    paused.paused(tmp_path, tally, seconds=1.5)
    assert tally.problems == []
