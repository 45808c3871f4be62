"""A condition tried on a stored delivery: its verdict, what `check` says of it, a rule of it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Controller
from litestar.params import FromPath

from router.config.lone_rule import CheckedCondition, RuleText, check_rule, mended, rule_text
from router.errors import (
    ConditionBusy,
    ConditionEnded,
    Diagnostic,
    ExpressionError,
    NotFound,
    UsageError,
)
from router.model.packed import body_size
from router.operator.trying import scope_of
from router.rules.ruleset import Ruleset
from router.rules.scope import ROOTS
from router.store.values import DeliveryRecord
from router.web.admin.query import QueryParameter
from router.web.admin.request import Given
from router.web.pages.context import PageContext
from router.web.pages.fields import fields_of
from router.web.pages.request import Shown, page

T = TypeVar("T")

TEXT_MAX = 4_096
BODY_MAX = 262_144
TESTED_BODY_MAX = 65_536
TESTED_RULES_MAX = 1_000
"""Beyond these a test is so large, or takes so long, that the command line makes it."""
_ASKED = (
    QueryParameter("text", "The condition."),
    QueryParameter("event", "On the event of this index, counted from 0."),
    QueryParameter("rule", "`yes`: also make a rule of it, with a test."),
)


class Advice(msgspec.Struct, frozen=True):
    """
    What is said of a condition, the line of it that is meant in three parts, the middle one being
    the fault, and the condition as it should be, if only one is right.
    """

    said: Diagnostic
    line: tuple[str, str, str]
    better: str | None


class TryPages(Controller):
    """A condition on a stored delivery."""

    @page("/deliveries/{delivery:str}/try", payloads=True)
    async def try_one(self, context: Given[PageContext], delivery: FromPath[str]) -> Shown:
        """What it gives, what is wrong with it, and what it would be as a rule."""
        query = context.query(*_ASKED)
        record = await context.questions.record(delivery)
        text = (query.text("text") or "").replace("\r\n", "\n").strip()
        number = query.number("event", record.events[0].index if record.events else 0, 1_000_000)
        attempt = _Try(context, record, text, number)
        return context.page(
            "try.html", d=record.delivery, text=text, number=number,
            events=record.events[:20], roots=sorted(ROOTS),
            **await attempt.found(make=query.text("rule") == "yes"),
        )  # fmt: skip


class _Try:
    """One condition on one event of one delivery."""

    def __init__(
        self, context: PageContext, record: DeliveryRecord, text: str, number: int
    ) -> None:
        self._context = context
        self._ruleset = context.live.current.ruleset
        self._record = record
        self._text = text
        self._number = number

    async def found(self, *, make: bool) -> dict[str, Any]:
        """What the page shows of it."""
        found: dict[str, Any] = {
            "tried": None, "error": None, "advice": [], "made": None,
            "fields": (), "own": _own_names(self._ruleset),
        }  # fmt: skip
        try:
            self._check_sizes()
            scope = scope_of(self._record, self._number, self._ruleset)
            found["fields"] = fields_of(scope)
            if self._text or make:
                found["advice"], made = await self._checked(event_name(scope))
            if self._text:
                by, questions = self._context.request.by, self._context.questions
                found["tried"] = await questions.tried(self._record, self._number, self._text, by)
            if make:
                found["made"] = await self._made(*made)
        except ExpressionError as error:
            if not found["advice"]:
                found["advice"] = [advice(self._text, as_diagnostic(self._text, error))]
        except (UsageError, NotFound, ConditionBusy, ConditionEnded) as error:
            found["error"] = str(error)
        return found

    def _check_sizes(self) -> None:
        if len(self._text) > TEXT_MAX:
            raise UsageError(f"a condition has at most {TEXT_MAX} characters here")
        if body_size(self._record.delivery) > BODY_MAX:
            raise UsageError(
                "its body is too large to try conditions on it here; use router explain"
            )

    async def _checked(self, event: str) -> tuple[list[Advice], tuple[RuleText, CheckedCondition]]:
        rule = rule_text(
            self._free_name(event), endpoint=self._record.delivery.endpoint, event=event,
            condition=self._text,
        )  # fmt: skip
        checked = await self._apart(lambda: check_rule(self._ruleset, rule))
        return [advice(self._text, d) for d in checked.found], (rule, checked)

    async def _made(self, rule: RuleText, checked: CheckedCondition) -> str:
        """The rule and its test, as text to copy."""
        if checked.rule is None:
            raise UsageError("no rule can be made of it before its errors are mended")
        d = self._record.delivery
        if body_size(d) > TESTED_BODY_MAX or len(self._ruleset.rules) > TESTED_RULES_MAX:
            raise UsageError(f"it is too much for this page: `router new test {d.id}` makes a test")
        more = msgspec.structs.replace(self._ruleset, rules=(*self._ruleset.rules, checked.rule))
        make = self._context.make_test
        return f"rules:\n{rule.text}{await self._apart(lambda: make(more, d))}"

    async def _apart(self, work: Callable[[], T]) -> T:
        """One at a time: it may take a while, and slows the loop."""
        async with self._context.trying:
            return await asyncio.to_thread(work)

    def _free_name(self, event: str) -> str:
        words = f"{self._record.delivery.endpoint}-{event}".lower()
        name = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in words).split())
        taken = {rule.id for rule in self._ruleset.rules}
        return next(n for at in range(1, len(taken) + 2) if (n := _numbered(name, at)) not in taken)


def advice(text: str, d: Diagnostic) -> Advice:
    """A diagnostic of a condition for people."""
    line, start = text.split("\n")[d.line - 1], d.column - 1
    end = start + max(1, d.width)
    return Advice(d, (line[:start], line[start:end], line[end:]), mended(text, d))


def as_diagnostic(text: str, error: ExpressionError) -> Diagnostic:
    """What is wrong with a condition, said as `check` says it."""
    before = text[: error.start]
    return Diagnostic(
        code=error.code, message=error.message, hint=error.hint,
        line=before.count("\n") + 1, column=len(before) - before.rfind("\n"),
        width=error.end - error.start,
    )  # fmt: skip


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def event_name(scope: Mapping[str, Any]) -> str:
    """An event as `events` of a rule names it; a `*` in its name stands for others too there."""
    name, action = scope["event"], scope["action"]
    return f"{name}.{action}" if action else name


def _own_names(ruleset: Ruleset) -> list[str]:
    return [*(f"var.{n}" for n in ruleset.variables), *(f"def.{n}" for n in ruleset.defines)]
