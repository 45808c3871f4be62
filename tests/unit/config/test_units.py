"""Durations, sizes, rates, days and statuses."""

from collections.abc import Callable

import pytest

from router.config import units


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.duration, "500ms", 500),
        (units.duration, "20s", 20_000),
        (units.duration, "7d", 7 * 86_400_000),
        (units.size, "64KiB", 65_536),
        (units.size, "10GiB", 10 * 1024**3),
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
        (units.duration, "20"),
        (units.duration, "1.5s"),
        (units.duration, "-1s"),
        (units.duration, "20 seconds"),
        (units.duration, "9" * 30 + "d"),
        (units.size, "10MB"),
        (units.size, "5"),
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
