"""The short form of `logs`."""

from pathlib import Path

import pytest

from tests.faults import logs

pytestmark = pytest.mark.long


@pytest.mark.parametrize("part", logs.PARTS)
def test_a_log_that_nobody_can_write_to_stops_nothing(tmp_path: Path, part: str) -> None:
    problems, _ = logs.campaign(tmp_path, [part])
    assert problems == []
