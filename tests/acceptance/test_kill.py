"""SIGKILL of the real process under load; `python -m tests.faults.kill` is the long form."""

import random
from pathlib import Path

import pytest

from tests.faults.kill import Campaign

CYCLES = 12


@pytest.mark.long
@pytest.mark.timeout(300)
def test_kills_under_load_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    tally = Campaign(tmp_path, random.Random(7), longest=0.25).run(CYCLES)
    assert tally.problems == []
    assert tally.cycles == CYCLES
    assert tally.acked > CYCLES  # else nothing was shown
