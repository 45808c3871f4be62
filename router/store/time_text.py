"""Times as people write them in a selector, on the command line and in an address alike."""

import re
from datetime import UTC, datetime

from router.errors import UsageError

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")


def instant(text: str, now_ms: int) -> int:
    """
    Unix milliseconds of `2h` (that long ago) or of an RFC 3339 time (without offset: UTC).

    Raises:
        UsageError: it is neither.
    """
    if (ago := _DURATION.fullmatch(text)) is not None:
        return now_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text[:60]!r} is not a time; write 2h (ago), 2026-03-01 or 2026-03-01T12:00:00Z"
        ) from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)
