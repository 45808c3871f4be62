"""Durations, sizes, rates, days, status ranges: their types, and short texts to numbers."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NewType

from router.providers.api import VERSION

Duration = NewType("Duration", int)
"""Milliseconds; written as a whole number with ms, s, m, h or d."""
Size = NewType("Size", int)
"""Bytes; written as a whole number with KiB, MiB or GiB."""
Rate = NewType("Rate", float)
"""Calls a second; written as 5/s, 300/m or 1000/h."""
Day = NewType("Day", int)
"""Unix milliseconds of 00:00 UTC; written as 2026-12-01."""
Fraction = NewType("Fraction", float)
"""A number from 0 to 1."""
ApiVersion = NewType("ApiVersion", str)
"""A version of a sender's API; written as 2024-01."""
Moment = NewType("Moment", int)
"""Unix milliseconds; written as 2026-12-01 or 2026-12-01T08:30:00Z."""

_DURATION_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_RATE_S = {"s": 1, "m": 60, "h": 3_600}
_WHOLE = re.compile(r"([0-9]{1,12})\s*([A-Za-z]*)")
_YEAR_MIN, _YEAR_MAX = 1971, 9000
_STATUS = re.compile(r"([1-5])(?:xx|([0-9]{2})(?:-([1-5][0-9]{2}))?)")


def duration(text: str) -> int:
    """Milliseconds of `500ms`, `20s`, `10m`, `2h`, `7d`."""
    return _counted(text, _DURATION_MS, "a duration", "'30s', with ms, s, m, h or d")


def size(text: str) -> int:
    """Bytes of `64KiB`, `5MiB`, `10GiB`."""
    return _counted(text, _SIZE, "a size", "'5MiB', with KiB, MiB or GiB")


def rate(text: str) -> float:
    """Calls a second of `5/s`, `300/m`, `1000/h`."""
    count, slash, unit = text.partition("/")
    if not slash or unit.strip() not in _RATE_S or not re.fullmatch(r"[0-9]{1,9}", count.strip()):
        raise ValueError(
            f"'{_cut(text)}' is not a rate; expected a whole number like '5/s' or '300/m'"
        )
    if int(count) == 0:
        raise ValueError(f"the rate '{_cut(text)}' is not above zero")
    return int(count) / _RATE_S[unit.strip()]


def day(text: str) -> int:
    """Unix milliseconds of 00:00 UTC of a day written as 2026-12-01."""
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        moment = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"'{_cut(text)}' is not a day; expected one like '2026-12-01'") from None
    return int(moment.timestamp()) * 1_000


def api_version(text: str) -> str:
    """A version written `2024-01`."""
    if not VERSION.fullmatch(text):
        raise ValueError(f"'{_cut(text)}' is not an API version; expected one like '2024-01'")
    return text


def moment(text: str) -> int:
    """Unix milliseconds of `2026-12-01` or `2026-12-01T08:30:00Z`; without an offset UTC."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        if not _YEAR_MIN <= found.year <= _YEAR_MAX:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"'{_cut(text)}' is not a time; expected one like '2026-12-01T08:30:00Z'"
        ) from None
    return int(found.timestamp() * 1_000)


def fraction(text: str) -> float:
    """A number from 0 to 1."""
    if not re.fullmatch(r"0|1|0?\.[0-9]{1,6}|1\.0{1,6}", text):
        raise ValueError(f"'{_cut(text)}' is not a number from 0 to 1")
    return float(text)


def statuses(text: str) -> tuple[int, int]:
    """First and last status of `2xx`, `409` or `500-504`."""
    found = _STATUS.fullmatch(text)
    if not found:
        raise ValueError(f"'{_cut(text)}' is no status; expected one like 409, 2xx or 500-504")
    if found[2] is None:
        return int(found[1]) * 100, int(found[1]) * 100 + 99
    first = int(found[1] + found[2])
    last = int(found[3] or first)
    if last < first:
        raise ValueError(f"'{_cut(text)}' ends before it begins")
    return first, last


def _counted(text: str, units: Mapping[str, int], what: str, example: str) -> int:
    found = _WHOLE.fullmatch(text)
    if not found:
        raise ValueError(f"'{_cut(text)}' is not {what}; expected a whole number like {example}")
    if found[2] not in units:
        problem = f"has the unknown unit '{_cut(found[2])}'" if found[2] else "has no unit"
        raise ValueError(f"'{_cut(text)}' {problem}; expected {what} like {example}")
    return int(found[1]) * units[found[2]]


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


PARSERS: dict[Any, Any] = {
    Duration: duration,
    Size: size,
    Rate: rate,
    Day: day,
    Fraction: fraction,
    Moment: moment,
    ApiVersion: api_version,
}
