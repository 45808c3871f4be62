"""Spoiled requests, in short; `python -m tests.faults.wire.fuzz` sends a hundred thousand."""

from pathlib import Path

import pytest

from tests.faults.wire import fuzz

pytestmark = pytest.mark.long

COUNT, SEED = 2_000, 8


def test_no_spoiled_request_does_harm(tmp_path: Path) -> None:
    tally = fuzz.run(tmp_path, range(COUNT), SEED)
    assert tally.problems == []
    assert tally.done == COUNT
    assert {"200", "400", "401", "403", "404"} <= tally.statuses.keys()
