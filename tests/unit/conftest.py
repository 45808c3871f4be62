"""What unit tests of every room may ask for."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def far_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is 5 hours 45 minutes east of UTC, as in Kathmandu."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "NPT-5:45")  # spelt out, for a machine without a table of zones
        time.tzset()
        assert time.timezone == -(5 * 60 + 45) * 60
        yield
    time.tzset()
