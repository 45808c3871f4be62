"""Times as people write them in a selector."""

import pytest

from router.errors import UsageError
from router.legible import moment
from router.store.time_text import instant

NOW = instant("2026-03-02T15:00:00Z", 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2h", "2026-03-02 13:00:00Z"),
        ("12:30", "2026-03-02 12:30:00Z"),
        ("15:00", "2026-03-02 15:00:00Z"),
        ("15:01", "2026-03-01 15:01:00Z"),  # not yet today
        ("12:30:15Z", "2026-03-02 12:30:15Z"),  # as lists show it
        ("12:30+02:00", "2026-03-02 10:30:00Z"),
        ("16:30-02:00", "2026-03-01 18:30:00Z"),
        ("2026-03-01", "2026-03-01 00:00:00Z"),
        ("2026-03-01T12:00:00+01:00", "2026-03-01 11:00:00Z"),
    ],
)
def test_a_time_that_is_written_one_way_or_another(text: str, shown: str) -> None:
    assert moment(instant(text, NOW)) == shown


@pytest.mark.parametrize("text", ["", "noon", "24:01", "12:3", "1:30", "2 h", "12:30 today", "-2h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="write 2h"):
        instant(text, NOW)
