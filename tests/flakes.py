"""
How often the default tests fail although nothing has changed.

    python -m tests.flakes --runs 20
    python -m tests.flakes --runs 50 tests/unit/dispatch     of some of them

Runs README's test command so many times, each in a process of its own, and tells which tests failed
how often, and how long the runs took. Ends with 1 if any failed, or a run did not end in time.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple
from xml.etree import ElementTree

from tests.acceptance.process import ROOT
from tests.faults.telling import say

LONGEST_S = 1_800.0
"""A run that takes longer hangs."""


class SuiteRun(NamedTuple):
    """One run: how many tests, how long it took, which failed, and what went wrong beside tests."""

    tests: int
    seconds: float
    failed: tuple[str, ...]
    problem: str = ""

    @property
    def is_well(self) -> bool:
        return not self.failed and not self.problem


def once(report: Path, words: Sequence[str], longest_s: float = LONGEST_S) -> SuiteRun:
    """Run them; pytest writes what came of it to `report`."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *words]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=longest_s
        )
    except subprocess.TimeoutExpired:
        return SuiteRun(0, time.monotonic() - began, (), f"not ended within {longest_s:.0f} s")
    seconds = time.monotonic() - began
    tests, failed = read(report) if report.exists() else (0, ())
    odd = (bool(done.returncode) and not failed) or not tests
    last = (done.stdout + done.stderr).strip()[-300:]
    return SuiteRun(tests, seconds, failed, f"exit status {done.returncode}: {last}" if odd else "")


def read(report: Path) -> tuple[int, tuple[str, ...]]:
    """How many tests a report of pytest's has, and which of them failed."""
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 - our own pytest's
    failed = {
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    return len(cases), tuple(sorted(failed))


def told(runs: Sequence[SuiteRun]) -> list[str]:
    """What came of all of them, in lines."""
    counts = Counter(name for run in runs for name in run.failed)
    times = [run.seconds for run in runs]
    bad, most = sum(not run.is_well for run in runs), max(run.tests for run in runs)
    took = f"{min(times):.0f} to {max(times):.0f} s, median {median(times):.0f} s"
    return [
        f"{bad} of {len(runs)} runs failed, of {most} tests each; {took}",
        *(f"{count} of {len(runs)}: {name}" for name, count in counts.most_common()),
        *(run.problem for run in runs if run.problem),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.flakes",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("words", nargs="*", help="further words for pytest, as folders")
    options = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as name:
        for number in range(max(1, options.runs)):
            runs.append(run := once(Path(name) / "report.xml", options.words))
            found = ", ".join(run.failed) or run.problem or "all well"
            say(f"{number + 1}: {run.tests} tests in {run.seconds:.0f} s, {found}")
    say(*told(runs))
    return 0 if all(run.is_well for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
