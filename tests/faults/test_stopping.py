"""The short form of `tests.faults.stopping`."""

import random
from pathlib import Path

import pytest

from tests.faults import steps, stop_load, stop_scenes, stopping
from tests.faults.drained import Tally
from tests.faults.life import needs_strace

pytestmark = pytest.mark.long


@pytest.mark.parametrize("state", stopping.STATES, ids=lambda state: state.name)
def test_a_sigterm_at_a_named_step_leaves_nothing_behind(
    tmp_path: Path, state: steps.State
) -> None:
    tally = Tally()
    stopping.one_state(tmp_path, state, 2, tally)
    assert tally.problems == []
    assert tally.stops


def test_a_sigterm_while_a_store_is_made_leaves_none_or_all_of_it(tmp_path: Path) -> None:
    tally = Tally()
    stopping.making(tmp_path, 2, tally)
    assert (tally.problems, tally.stops) == ([], 2)


@pytest.mark.parametrize("name", stop_scenes.SCENES)
def test_a_sigterm_around_a_running_action(tmp_path: Path, name: str) -> None:
    tally = Tally()
    stop_scenes.SCENES[name](tmp_path / "scene", tally)
    assert (tally.problems, tally.stops) == ([], 1)


@needs_strace
def test_a_disk_that_does_not_come_back_cannot_hold_the_end(tmp_path: Path) -> None:
    tally = Tally()
    stop_scenes.stuck_disk(tmp_path / "scene", tally)
    assert tally.problems == []


def test_restarts_under_load_lose_nothing(tmp_path: Path) -> None:
    tally = Tally()
    stop_load.under_load(tmp_path / "load", 2, random.Random(9), tally)
    assert (tally.problems, tally.stops) == ([], 2)
