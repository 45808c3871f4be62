"""Every rule on every event of a delivery: the results that `explain` shows."""

from collections.abc import Mapping, Sequence

import msgspec

from router.model.delivery import Delivery, DeliveryEvent
from router.providers import ReadEvent, Reading
from router.rules.explain import Explainer, RuleReading
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope


class EventReading(msgspec.Struct, frozen=True):
    """One event and every rule beside it. `known`: a copy of an earlier one, so never routed."""

    event: DeliveryEvent
    known: bool
    rules: tuple[RuleReading, ...]


def unrouted(delivery: Delivery, reading: Reading) -> str | None:
    """Why no rule is evaluated for a delivery; None: they are."""
    if reading.state != "routed":
        return f"{reading.state}: {reading.reason or 'its body cannot be read'}"
    if delivery.state in ("unparsed", "too_complex"):
        return f"{delivery.state}: it was stored without evaluating any rule"
    return None


def explain_events(
    delivery: Delivery,
    chosen: Sequence[ReadEvent],
    ruleset: Ruleset,
    ids: Mapping[int, str] | None,
) -> tuple[EventReading, ...]:
    """
    The chosen events, each beside the rules; `ids` are those of the stored events by their index,
    None if the delivery is not stored.
    """
    explainer = Explainer(ruleset)
    shared = ruleset.roots(delivery)
    stored = ids or {}
    found = []
    for read in chosen:
        event = read.event(stored.get(read.index, ""))
        scope = event_scope(shared, delivery, event, ruleset.defines)
        rules = explainer.explain(delivery.endpoint, event, scope)
        found.append(EventReading(event, ids is not None and read.index not in stored, rules))
    return tuple(found)
