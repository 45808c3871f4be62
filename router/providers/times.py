"""Signed times as senders write them: read strictly, as Unix milliseconds, and written."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

SECONDS_DIGITS_MAX = 12
_MILLISECONDS_DIGITS_MAX = 15
_ISO8601 = re.compile(
    rb"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII
)
_HTTP_DATE = re.compile(
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    rb" \d{4} \d\d:\d\d:\d\d GMT",
    re.ASCII,
)


def _seconds(text: bytes) -> int | None:
    fits = len(text) <= SECONDS_DIGITS_MAX and text.isdigit()
    return int(text) * 1000 if fits else None


def _milliseconds(text: bytes) -> int | None:
    fits = len(text) <= _MILLISECONDS_DIGITS_MAX and text.isdigit()
    return int(text) if fits else None


def _iso8601(text: bytes) -> int | None:
    """With its time zone: without one nobody knows when that was."""
    return _moment(_ISO8601, datetime.fromisoformat, text)


def _http_date(text: bytes) -> int | None:
    return _moment(_HTTP_DATE, parsedate_to_datetime, text)


def _moment(form: re.Pattern[bytes], read: Callable[[str], datetime], text: bytes) -> int | None:
    if not form.fullmatch(text):
        return None
    try:
        return int(read(text.decode("ascii").upper()).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


READERS: dict[str, Callable[[bytes], int | None]] = {
    "seconds": _seconds,
    "milliseconds": _milliseconds,
    "iso8601": _iso8601,
    "http_date": _http_date,
}
"""The Unix milliseconds in a text, None if it is not such a time."""

WRITERS: dict[str, Callable[[int], str]] = {
    "seconds": lambda now_ms: str(now_ms // 1000),
    "milliseconds": str,
    "iso8601": lambda now_ms: (
        datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    ),
    "http_date": lambda now_ms: formatdate(now_ms / 1000, usegmt=True),
}
"""A time as its senders write it."""

SAID = {
    "seconds": "Unix seconds",
    "milliseconds": "Unix milliseconds",
    "iso8601": "an ISO 8601 time with its zone",
    "http_date": "an HTTP date",
}
"""What each is called, for people."""
