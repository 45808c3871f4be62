"""Bad listeners at the signal, in short; `python -m tests.faults.signal` gives the figures."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.faults.signal import Campaign, Load

pytestmark = pytest.mark.long

LOAD = Load(stalled=10, flapping=60, rate=200, seconds=2, rounds=1, bound=0)
MEMORY_MIB = 300


def test_bad_listeners_cost_no_delivery_and_no_memory(tmp_path: Path) -> None:
    tally = asyncio.run(Campaign(tmp_path, LOAD, random.Random(7)).run())
    assert tally.problems == []
    assert tally.flapped == LOAD.flapping * LOAD.rounds
    assert tally.received == LOAD.rate * LOAD.seconds * LOAD.rounds
    assert max(tally.memory) < MEMORY_MIB
