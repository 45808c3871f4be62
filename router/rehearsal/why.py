"""Why an expected rule did not match, in a few words for each event that came."""

from collections.abc import Iterator
from typing import Any

from router.expressions import Failed
from router.model.delivery import Delivery, Event
from router.rehearsal.seen import Seen
from router.replay import as_request
from router.rules.index import condition_verdict
from router.rules.live import Live
from router.rules.patterns import wants_event
from router.rules.scope import delivery_roots, event_scope
from router.rules.specs import CompiledRule

EVENTS_MAX = 3


def why_not(rule: CompiledRule, seen: Seen, live: Live) -> tuple[str, ...]:
    """The reasons, each once; of many events the first few."""
    if not seen.deliveries:
        return ("nothing was accepted",)
    reasons: dict[str, None] = {}
    for delivery in seen.deliveries:
        if rule.sources is not None and delivery.endpoint not in rule.sources:
            reasons[f"its 'from' does not name {delivery.endpoint}"] = None
            continue
        reasons |= dict.fromkeys(_of_delivery(rule, delivery, live))
        if len(reasons) >= EVENTS_MAX:
            break
    return tuple(reasons)


def _of_delivery(rule: CompiledRule, delivery: Delivery, live: Live) -> Iterator[str]:
    if delivery.state not in ("routed", "unmatched"):
        yield f"the delivery is {delivery.state}"
        return
    ruleset = live.ruleset
    shared = delivery_roots(delivery, ruleset.variables)
    reading = ruleset.providers[delivery.provider].read(as_request(delivery))
    for e in reading.events[:EVENTS_MAX]:
        event = Event("", e.index, e.name, e.action, e.payload, e.raw, e.fields)
        yield from _of_event(rule, event, event_scope(shared, delivery, event, ruleset.defines))


def _of_event(rule: CompiledRule, event: Event, scope: dict[str, Any]) -> Iterator[str]:
    name = f"{event.name}.{event.action}" if event.action else event.name
    if rule.events is not None and not wants_event(rule.events, event.name, event.action):
        yield f"its 'events' do not let {name} in"
        return
    if rule.otherwise:
        yield "it has 'otherwise', and another rule matched"
    for condition in rule.match:
        verdict = condition_verdict(condition, scope)
        if isinstance(verdict, Failed):
            yield f"{condition.source}: error, {verdict.reason}"
        elif not verdict:
            yield f"{condition.source}: false"
