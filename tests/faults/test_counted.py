"""How often jobs run, in short; `python -m tests.faults.once` and `poison` count many."""

from pathlib import Path

import pytest

from tests.faults import once, poison

pytestmark = pytest.mark.long


def test_each_job_runs_once(tmp_path: Path) -> None:
    found = once.run(tmp_path, 1_000)
    assert found.problems == []
    assert found.calls == found.jobs == found.attempts == 1_000


def test_jobs_that_crash_their_process_are_dead_and_cost_no_other(tmp_path: Path) -> None:
    tally = poison.run(tmp_path / "plugin", "plugin", 100, 1)
    assert tally.problems == []
    assert (tally.dead, tally.done, tally.crashes) == (1, 99, 3)
    assert tally.restarts <= 3


def test_a_job_that_kills_the_router_is_dead_after_three_times(tmp_path: Path) -> None:
    """And none that ran beside it."""
    tally = poison.run(tmp_path / "router", "router", 100, 1)
    assert tally.problems == []
    assert (tally.dead, tally.done) == (1, 99)
    assert tally.crashes == tally.restarts == 3


def test_a_call_too_many_and_one_too_few_are_found(tmp_path: Path) -> None:
    """The book and the ledger of `once` are compared job by job."""
    found = once.run(tmp_path, 100)
    keys, store = tmp_path / "keys", tmp_path / "router" / "router.db"
    first, second, *rest = keys.read_text("ascii").splitlines()
    keys.write_text("\n".join([first, first, *rest]) + "\n", "ascii")
    problems = once.compared(store, keys, 100, found)
    assert problems == [f"{first} was called 2 times", f"{second} was never called"]
