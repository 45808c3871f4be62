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
_UTC_DATE = re.compile(_HTTP_DATE.pattern.replace(b",", b"").replace(b"GMT", b"UTC"), re.ASCII)


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


def _utc_date(text: bytes) -> int | None:
    """`Fri 08 Sep 2017 11:24:32 UTC`."""
    return _moment(_UTC_DATE, lambda found: parsedate_to_datetime(found[4:-3] + "GMT"), text)


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
    "utc_date": _utc_date,
}
"""The Unix milliseconds in a text, None if it is not such a time."""

WRITERS: dict[str, Callable[[int], str]] = {
    "seconds": lambda now_ms: str(now_ms // 1000),
    "milliseconds": str,
    "iso8601": lambda now_ms: (
        datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    ),
    "http_date": lambda now_ms: formatdate(now_ms / 1000, usegmt=True),
    "utc_date": lambda now_ms: (
        formatdate(now_ms / 1000, usegmt=True).replace(",", "").replace("GMT", "UTC")
    ),
}
"""A time as its senders write it."""

SAID = {
    "seconds": "Unix seconds",
    "milliseconds": "Unix milliseconds",
    "iso8601": "an ISO 8601 time with its zone",
    "http_date": "an HTTP date",
    "utc_date": "a date like Fri 08 Sep 2017 11:24:32 UTC",
}
"""What each is called, for people."""
