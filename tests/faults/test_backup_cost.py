"""Backups beside a busy router; `python -m tests.faults.backup_cost` gives the figures."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.backup_cost import Campaign, Wish

pytestmark = pytest.mark.long

WISH = Wish(rate=100, seconds=2, rounds=1, fill=300)


def test_backups_cost_no_delivery_and_hold_what_was_there(tmp_path: Path) -> None:
    tally = asyncio.run(Campaign(tmp_path, WISH).run())
    assert tally.problems == []
    assert tally.restored == WISH.rounds
    assert tally.backups >= WISH.rounds
