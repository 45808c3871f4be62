"""Backups beside a busy router; `python -m tests.faults.backup_cost` gives the figures."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.backup_cost import Campaign, Load

pytestmark = pytest.mark.long

LOAD = Load(rate=100, seconds=2, rounds=1, fill=300)


def test_backups_cost_no_delivery_and_hold_what_was_there(tmp_path: Path) -> None:
    tally = asyncio.run(Campaign(tmp_path, LOAD).run())
    assert tally.problems == []
    assert tally.restored == LOAD.rounds
    assert tally.backups >= LOAD.rounds
