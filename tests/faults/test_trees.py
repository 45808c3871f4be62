"""Hostile process trees, two of each kind; `python -m tests.faults.trees` fells a thousand."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import trees

pytestmark = pytest.mark.long

needs_linux = pytest.mark.skipif(
    not Path("/proc/self/limits").exists(), reason="only on Linux is every descendant known"
)


@needs_linux
def test_nothing_survives_and_nothing_is_left_unreaped() -> None:
    """In a process of its own: it adopts whatever is orphaned below it."""
    count = len(trees.SHELL) + len(trees.PYTHON) + 1
    command = [sys.executable, "-m", "tests.faults.trees", "--count", str(count)]
    ran = subprocess.run(
        [*command, "--within", "3"],  # a second is for a machine that is not busy with tests
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 survivors, 0 zombies" in ran.stdout
