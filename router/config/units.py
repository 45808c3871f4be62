"""Durations, sizes, rates, days, status ranges: their types, and short texts to numbers."""

import re
from datetime import UTC, datetime
from typing import Any, NewType

from router.config.spelling import STATUSES
from router.legible import cut
from router.model.measures import duration_ms, size_bytes
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

RedactTime = NewType("RedactTime", int)
"""Milliseconds after the last job has ended; `done` is 0, `stored` is -1."""

_RATE_S = {"s": 1, "m": 60, "h": 3_600}
_REDACT_WORDS = {"stored": -1, "done": 0}
_YEAR_MIN, _YEAR_MAX = 1971, 9000


def rate(text: str) -> float:
    """Calls a second of `5/s`, `300/m`, `1000/h`."""
    count, slash, unit = text.partition("/")
    if not slash or unit.strip() not in _RATE_S or not re.fullmatch(r"[0-9]{1,9}", count.strip()):
        raise ValueError(
            f"'{cut(text, 40)}' is not a rate; expected a whole number like '5/s' or '300/m'"
        )
    if int(count) == 0:
        raise ValueError(f"the rate '{cut(text, 40)}' is not above zero")
    return int(count) / _RATE_S[unit.strip()]


def day(text: str) -> int:
    """Unix milliseconds of 00:00 UTC of a day written as 2026-12-01."""
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        moment = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(
            f"'{cut(text, 40)}' is not a day; expected one like '2026-12-01'"
        ) from None
    return int(moment.timestamp()) * 1_000


def api_version(text: str) -> str:
    """A version written `2024-01`."""
    if not VERSION.fullmatch(text):
        raise ValueError(f"'{cut(text, 40)}' is not an API version; expected one like '2024-01'")
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
            f"'{cut(text, 40)}' is not a time; expected one like '2026-12-01T08:30:00Z'"
        ) from None
    return int(found.timestamp() * 1_000)


def fraction(text: str) -> float:
    """A number from 0 to 1."""
    if not re.fullmatch(r"0|1|0?\.[0-9]{1,6}|1\.0{1,6}", text):
        raise ValueError(f"'{cut(text, 40)}' is not a number from 0 to 1")
    return float(text)


def statuses(text: str) -> tuple[int, int]:
    """First and last status of `2xx`, `409` or `500-504`."""
    if not (found := STATUSES.fullmatch(text)):
        raise ValueError(f"'{cut(text, 40)}' is no status; expected one like 409, 2xx or 500-504")
    if found[2] is None:
        return int(found[1]) * 100, int(found[1]) * 100 + 99
    first = int(found[1] + found[2])
    last = int(found[3] or first)
    if last < first:
        raise ValueError(f"'{cut(text, 40)}' ends before it begins")
    return first, last


def redact_time(text: str) -> int:
    """Milliseconds of a duration; 0 of `done`, -1 of `stored`."""
    if text in _REDACT_WORDS:
        return _REDACT_WORDS[text]
    try:
        return duration_ms(text)
    except ValueError as error:
        raise ValueError(f"expected 'stored', 'done' or a duration: {error}") from None


PARSERS: dict[Any, Any] = {
    Duration: duration_ms,
    Size: size_bytes,
    Rate: rate,
    Day: day,
    Fraction: fraction,
    Moment: moment,
    ApiVersion: api_version,
    RedactTime: redact_time,
}
