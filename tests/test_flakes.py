"""Runs of the tests that failed are told, with the tests that did it."""

from pathlib import Path

import pytest

from tests.flakes import SuiteRun, once, told

SOME_FAIL = """
import pytest

@pytest.fixture
def broken():
    1 / 0

def test_breaks(broken): pass
def test_fails(): assert False
def test_is_well(): pass
"""


def made(folder: Path, text: str, **limits: float) -> SuiteRun:
    """A run of one file of tests."""
    (folder / "test_made.py").write_text(text)
    return once(folder / "report.xml", [str(folder), "-n0", "-c", "/dev/null"], **limits)


@pytest.mark.long
def test_a_run_says_what_failed(tmp_path: Path) -> None:
    run = made(tmp_path, SOME_FAIL)
    assert (run.tests, run.problem, run.is_well) == (3, "", False)
    assert [name.rpartition("::")[2] for name in run.failed] == ["test_breaks", "test_fails"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "problem"),
    [("def test_is_well(): pass\n", ""), ("", "exit status 5")],
)
def test_a_run_is_well_if_there_were_tests_and_none_failed(
    tmp_path: Path, text: str, problem: str
) -> None:
    run = made(tmp_path, text)
    assert run.is_well is (not problem)
    assert run.problem.startswith(problem)


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    run = made(tmp_path, "", longest_s=0.1)
    assert not run.is_well
    assert run.problem.startswith("not ended within")


def test_failures_are_counted_over_all_runs() -> None:
    runs = [
        SuiteRun(9, 10.0, ()),
        SuiteRun(9, 30.0, ("a::b", "a::c")),
        SuiteRun(9, 20.0, ("a::b",)),
        SuiteRun(0, 5.0, (), "exit status 3: no memory"),
    ]
    assert told(runs) == [
        "3 of 4 runs failed, of 9 tests each; 5 to 30 s, median 15 s",
        "2 of 4: a::b",
        "1 of 4: a::c",
        "exit status 3: no memory",
    ]
