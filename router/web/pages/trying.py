"""A condition judged on one event of a stored delivery, in bounded time."""

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from router.errors import NotFound, UsageError
from router.expressions import Expression
from router.expressions.trace import Trace, trace
from router.operator.new_jobs import provider_of
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.store.values import DeliveryRecord

T = TypeVar("T")


class _TooLong(BaseException):
    """Passes everything that catches errors of an expression."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """
    Do some work of pure Python, but no longer than this: nested projections can take for ever.

    Raises:
        UsageError: it took too long.
    """
    until = time.monotonic() + seconds

    def look(_frame: object, _event: str, _arg: object) -> None:
        if time.monotonic() > until:
            raise _TooLong

    before = sys.gettrace()
    sys.settrace(look)
    try:
        return work()
    except _TooLong:
        raise UsageError(f"it was not finished in {seconds:g} s and was given up") from None
    finally:
        sys.settrace(before)


def scope_of(record: DeliveryRecord, number: int, ruleset: Ruleset) -> dict[str, Any]:
    """
    What conditions see of one event, by today's providers, variables and definitions.

    Raises:
        NotFound: it has no such event, or its provider is gone.
    """
    d = record.delivery
    reading = provider_of(d, ruleset).read_stored(d)
    if (read := next((event for event in reading.events if event.index == number), None)) is None:
        raise NotFound(
            f"it has no event {number}: {reading.reason or 'events are numbered from 0'}"
        )
    event = read.event({entry.index: entry.id for entry in record.events}.get(number, ""))
    return event_scope(ruleset.roots(d), d, event, ruleset.defines)


def tried(expression: Expression, record: DeliveryRecord, number: int, ruleset: Ruleset) -> Trace:
    """
    Judge one event of a delivery.

    Raises:
        NotFound: it has no such event, or its provider is gone.
    """
    return trace(expression, scope_of(record, number, ruleset), thorough=True)
