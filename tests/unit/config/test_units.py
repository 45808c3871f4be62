"""Durations, sizes, rates, days and statuses."""

from collections.abc import Callable

import pytest

from router.config import units
from router.model.measures import duration_ms, size_bytes


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (duration_ms, "500ms", 500),
        (duration_ms, "20s", 20_000),
        (duration_ms, "7d", 7 * 86_400_000),
        (size_bytes, "64KiB", 65_536),
        (size_bytes, "10GiB", 10 * 1024**3),
        (units.rate, "5/s", 5.0),
        (units.rate, "300/m", 5.0),
        (units.day, "2026-12-01", 1_796_083_200_000),
        (units.fraction, "0.2", 0.2),
        (units.statuses, "2xx", (200, 299)),
        (units.statuses, "409", (409, 409)),
        (units.statuses, "500-504", (500, 504)),
    ],
)
def test_right(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (duration_ms, "20"),
        (duration_ms, "1.5s"),
        (duration_ms, "-1s"),
        (duration_ms, "20 seconds"),
        (duration_ms, "9" * 30 + "d"),
        (size_bytes, "10MB"),
        (size_bytes, "5"),
        (units.rate, "5"),
        (units.rate, "0/s"),
        (units.rate, "5/d"),
        (units.day, "2026-02-30"),
        (units.day, "2026-12-01T00:00:00Z"),
        (units.fraction, "1.5"),
        (units.fraction, "20%"),
        (units.statuses, "6xx"),
        (units.statuses, "20x"),
        (units.statuses, "504-500"),
    ],
)
def test_wrong(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"'"):
        parse(text)
