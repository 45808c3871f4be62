"""Times as people write them in a selector, on the command line and in an address alike."""

import re
from datetime import UTC, datetime

from router.errors import UsageError

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_OF_DAY = re.compile(r"[0-9]{2}:[0-9]{2}")
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")


def instant(text: str, now_ms: int) -> int:
    """
    Unix milliseconds of `2h` (that long ago), of `12:30` (when it last was that late), or of an RFC
    3339 time. Without an offset a time is UTC.

    Raises:
        UsageError: it is none of these.
    """
    if (ago := _DURATION.fullmatch(text)) is not None:
        return now_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    if _OF_DAY.match(text):
        return now_ms - (now_ms - _written(f"1970-01-01T{text}", text)) % _UNITS_MS["d"]
    return _written(text, text)


def _written(time: str, text: str) -> int:
    """Of a whole time; `text` is what its writer wrote of it."""
    try:
        when = datetime.fromisoformat(time)
    except ValueError:
        raise UsageError(
            f"{text[:60]!r} is not a time; write 2h (ago), 12:30 (UTC), 2026-03-01 or "
            "2026-03-01T12:00:00Z"
        ) from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def deadline(text: str, now_ms: int) -> int:
    """As `instant`, but `90d` is that long from now."""
    at = instant(text, now_ms)
    return 2 * now_ms - at if _DURATION.fullmatch(text) else at
