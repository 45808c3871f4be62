"""One condition on stored deliveries: read again, and judged as a rule's `match` would be."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from router.errors import ExpressionError, Forbidden, UsageError
from router.expressions import Expression, Failed, decode_json, encode_json
from router.expressions import compile as compiled
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Job
from router.operator.requests import By
from router.rules.ruleset import Ruleset
from router.rules.scope import ROOTS, event_scope
from router.store.values import Selector, Stored
from router.suggest import did_you_mean


def unknown_names(expression: Expression, ruleset: Ruleset) -> Iterator[ExpressionError]:
    """What an expression reads that is not there, where it stands; the hint says what is."""
    known = ROOTS | {f for p in ruleset.providers.values() for f in p.root_fields}
    everywhere = (0, len(expression.text))
    for root in sorted(expression.roots - known):
        place = expression.spans.get(root, everywhere)
        yield ExpressionError(
            "unknown-root", f"there is no {root!r} here", *place, ", ".join(sorted(known))
        )
    tables = {"def": ruleset.defines, "var": ruleset.variables}
    for root, name in sorted(expression.uses):
        if root in tables and name not in tables[root]:
            place = expression.spans.get((root, name), everywhere)
            yield ExpressionError("unknown-name", f"the rules file has no {root}.{name}", *place)


def exact_values(bound: Mapping[str, Any] | None) -> dict[str, Any]:
    """JSON values as payloads have them, where numbers are exact."""
    return cast("dict[str, Any]", decode_json(encode_json(bound or {})))


def check_bound(expression: Expression, bound: Iterable[str]) -> None:
    """Raises UsageError: a variable is given that is not read, for one of both is misspelt."""
    read = sorted({name for root, name in expression.uses if root == "var"})
    for name in bound if "def" not in expression.roots else ():
        if name not in read:
            reads = f"it reads {', '.join(read)}" if read else f"write var.{name} in it"
            hint = did_you_mean(name, read) or reads
            raise UsageError(f"--var {name}: --where does not read it; {hint}")


class Where:
    """
    A condition in verdict reading, by today's providers, variables and definitions. `bound` are
    variables of its own, which stand before those of the rules file.

    `failed` counts the events that it could not be evaluated on, `reason` says why the first one.

    Raises:
        UsageError: the text is no expression, or reads what is not there, or not what is bound.
    """

    def __init__(self, text: str, ruleset: Ruleset, bound: Mapping[str, Any] | None = None) -> None:
        variables = {**ruleset.variables, **exact_values(bound)}
        self._ruleset = ruleset = msgspec.structs.replace(ruleset, variables=variables)
        self.failed = 0
        self.reason: str | None = None
        try:
            self._expression = compiled(text)
        except ExpressionError as error:
            hint = f"; {error.hint}" if error.hint else ""
            where = f"at character {error.start + 1}"
            raise UsageError(f"--where: {error.message} {where}{hint}") from None
        for fault in unknown_names(self._expression, ruleset):
            hint = f"; there are {fault.hint}" if fault.hint else ""
            if " var." in fault.message:
                hint = ", and --var gives none: --var NAME=VALUE"
            raise UsageError(f"--where: {fault.message}{hint}")
        check_bound(self._expression, bound or ())

    def holds(self, stored: Stored) -> Stored | None:
        """What is left of a delivery: itself with the jobs whose event fits; None: nothing."""
        known = {entry.index for entry in stored.events}
        if not (fitting := self.fitting(stored.delivery, known)[0]):
            return None
        if not stored.jobs:
            return stored
        jobs = tuple([job for job in stored.jobs if fitting & indexes(job)])
        return msgspec.structs.replace(stored, jobs=jobs) if jobs else None

    def fitting(self, delivery: Delivery, known: Collection[int] = ()) -> tuple[set[int], int]:
        """
        The indexes of the events that fit, and of how many: of all in its body, or of these, if any
        is `known`.
        """
        if (provider := self._ruleset.providers.get(delivery.provider)) is None:
            self._fail(f"the rules file has no provider {delivery.provider!r}")
            return set(), 0
        reading = provider.read_stored(delivery)
        events = [e.event() for e in reading.events if not known or e.index in known]
        if reading.state != "routed":  # it has no payload; its headers and its name may tell
            events = [DeliveryEvent("", 0, reading.event_name, None, None)]
        shared = self._ruleset.roots(delivery)
        return {e.index for e in events if self._fits(shared, delivery, e)}, len(events)

    def _fits(self, shared: dict[str, object], delivery: Delivery, event: DeliveryEvent) -> bool:
        scope = event_scope(shared, delivery, event, self._ruleset.defines)
        verdict = self._expression.verdict(scope)
        if isinstance(verdict, Failed):
            self._fail(verdict.reason)
            return False
        return verdict

    def _fail(self, reason: str) -> None:
        self.failed += 1
        self.reason = self.reason or reason


def condition_of(selector: Selector, ruleset: Ruleset, by: By) -> Where | None:
    """
    The condition of a selector, if it has one; every search in payloads passes here.

    Raises:
        Forbidden: its answer tells of payloads, which `by` may not see.
        UsageError: as `Where`.
    """
    if selector.where is None:
        return None
    if not by.bodies:
        raise Forbidden(f"the token {by.who} may not see payloads, so no `where`")
    return Where(selector.where, ruleset, selector.var)


def indexes(job: Job) -> set[int]:
    """Of the events that a job is for."""
    return set(job.covers) or {job.event_index}
