"""A condition judged on one event of a stored delivery."""

from collections.abc import Callable
from typing import Any

import msgspec

from router.errors import NotFound
from router.expressions import Expression
from router.expressions.trace import Trace, trace
from router.operator.new_jobs import provider_of
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.store.values import DeliveryRecord


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
    return trace(expression, scope_of(record, number, ruleset))


def each_value(of: Trace, change: Callable[[Any], Any]) -> Trace:
    """A trace whose values found are changed so: to JSON, on the way to others."""
    leaves = []
    for leaf in of.leaves:
        found = [msgspec.structs.replace(one, value=change(one.value)) for one in leaf.found]
        leaves.append(msgspec.structs.replace(leaf, found=tuple(found), node=None))
    return msgspec.structs.replace(of, leaves=tuple(leaves))
