"""A condition tried on a stored delivery: an expression in, a verdict and its leaves out."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from litestar import Controller
from litestar.params import FromPath

from router.errors import ExpressionError, NotFound, UsageError
from router.expressions import Expression
from router.expressions import compile as compiled
from router.expressions.trace import Trace, trace
from router.model.delivery import as_request
from router.operator.new_jobs import provider_of
from router.operator.where import unknown_names
from router.rules.ruleset import Ruleset
from router.rules.scope import ROOTS, event_scope
from router.store.values import DeliveryRecord
from router.web.admin.query import QueryParameter
from router.web.admin.request import Given
from router.web.pages.context import PageContext
from router.web.pages.request import Shown, page

T = TypeVar("T")

TEXT_MAX = 4_096
BODY_MAX = 262_144
PATIENCE_S = 2.0
_ASKED = (
    QueryParameter("text", "The condition."),
    QueryParameter("event", "On the event of this index, counted from 0."),
)


class TryPages(Controller):
    """A condition on a stored delivery."""

    @page("/deliveries/{delivery:str}/try", payloads=True)
    async def try_one(self, context: Given[PageContext], delivery: FromPath[str]) -> Shown:
        """What it gives, or what is wrong with it."""
        query = context.query(*_ASKED)
        record = await context.questions.record(delivery)
        text = query.text("text") or ""
        number = query.number("event", record.events[0].index if record.events else 0, 1_000_000)
        found: dict[str, Any] = {"tried": None, "wrong": None, "error": None}
        try:
            if text:
                found["tried"] = await _tried(context, record, text, number)
        except ExpressionError as error:
            found |= {"wrong": error, "line": wrong_line(text, error)}
        except (UsageError, NotFound) as error:
            found["error"] = str(error)
        return context.page(
            "try.html", d=record.delivery, text=text, number=number,
            events=record.events[:20], roots=sorted(ROOTS), **found,
        )  # fmt: skip


async def _tried(context: PageContext, record: DeliveryRecord, text: str, number: int) -> Trace:
    """One is tried at a time: it may take a while, and slows the loop."""
    if len(text) > TEXT_MAX:
        raise UsageError(f"a condition has at most {TEXT_MAX} characters here")
    if len(record.delivery.body) > BODY_MAX:
        raise UsageError("its body is too large to try conditions on it here; use router explain")
    expression = compiled(text)
    ruleset = context.live.current.ruleset
    for error in unknown_names(expression, ruleset):
        raise error
    async with context.trying:
        return await asyncio.to_thread(
            within, PATIENCE_S, lambda: tried(expression, record, number, ruleset)
        )


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


def tried(expression: Expression, record: DeliveryRecord, number: int, ruleset: Ruleset) -> Trace:
    """
    Judge one event of a delivery by today's providers, variables and definitions.

    Raises:
        NotFound: it has no such event, or its provider is gone.
    """
    d = record.delivery
    reading = provider_of(d, ruleset).read(as_request(d))
    if (read := next((event for event in reading.events if event.index == number), None)) is None:
        raise NotFound(
            f"it has no event {number}: {reading.reason or 'events are numbered from 0'}"
        )
    event = read.event({entry.index: entry.id for entry in record.events}.get(number, ""))
    scope = event_scope(ruleset.roots(d), d, event, ruleset.defines)
    return trace(expression, scope, thorough=True)


def wrong_line(text: str, error: ExpressionError) -> tuple[str, str, str]:
    """The line that has the fault: what stands before it, the fault, what comes after."""
    start, end = min(error.start, len(text)), min(max(error.end, error.start + 1), len(text))
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    return text[first:start], text[start : min(end, last)], text[min(end, last) : last]
