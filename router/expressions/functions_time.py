"""
Times: RFC 3339 texts, and the delivery's own time instead of a clock.

`delivery.received_at` is RFC 3339 text in UTC with milliseconds, `2026-11-20T12:00:00.123Z`;
`router.legible.exact` writes it.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON
from router.expressions.compare import exact
from router.expressions.value import step

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)?(Z|z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_SECONDS_MAX = 253_402_300_799  # the end of the year 9999


def _moment(time: str | int | Decimal) -> datetime:
    if isinstance(time, str):
        return _read(time)
    seconds = exact(time)
    if not 0 <= seconds <= _SECONDS_MAX:
        raise EvaluationError(f"{seconds} is not a time in Unix seconds")
    return _EPOCH + timedelta(microseconds=int(seconds * 1_000_000))


def _read(text: str) -> datetime:
    if (found := _TIME.fullmatch(text.strip())) is None:
        raise _unreadable(text)
    day, clock, fraction, offset = found.groups()
    digits = (fraction or "0")[:6].ljust(6, "0")
    zone = "+00:00" if offset in (None, "Z", "z") else offset
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
        return (moment + timedelta(microseconds=int(digits))).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _unreadable(text) from None


def _unreadable(text: str) -> EvaluationError:
    return EvaluationError(f"{text[:40]!r} is not an RFC 3339 time")


def date(time: str | int | Decimal) -> str:
    return _moment(time).strftime("%Y-%m-%d").rjust(10, "0")


def now(scope: Any) -> JSON:
    received = step(step(scope, "delivery"), "received_at")
    if received is ABSENT:
        raise EvaluationError("now() and age() need delivery.received_at")
    return received


def age(scope: Any, time: str | int | Decimal) -> int | Decimal:
    microseconds = (_moment(now(scope)) - _moment(time)) // timedelta(microseconds=1)
    if microseconds % 1_000_000 == 0:
        return microseconds // 1_000_000
    return (Decimal(microseconds) / 1_000_000).normalize()


TIME_FUNCTIONS: dict[str, Any] = {"date": date, "now": now, "age": age}
