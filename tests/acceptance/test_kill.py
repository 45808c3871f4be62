"""SIGKILL of the real process under load; `python -m tests.faults.kill` is the long form."""

import random
from pathlib import Path

import pytest

from tests.faults.kill import Campaign


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cycles", [1, pytest.param(12, marks=pytest.mark.long)])
def test_kills_under_load_lose_nothing_and_double_nothing(tmp_path: Path, cycles: int) -> None:
    tally = Campaign(tmp_path, random.Random(7), longest=0.25).run(cycles)
    assert tally.problems == []
    assert tally.cycles == cycles
    assert tally.acked > cycles  # else nothing was shown
