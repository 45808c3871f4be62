"""From a job and its event to a Call: templates rendered, secrets placed, hazards refused."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.kinds.kind import FORM, ActionCall, Rendering
from router.kinds.templates import json_value
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Job, Skip
from router.model.trace import Traceparent
from router.rules.live import LiveRuleset
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction


class Material(msgspec.Struct, frozen=True):
    """
    All that rendering one job needs, gathered.

    `covered` are the events of a run for a whole batch (`per: delivery`), `event` their first.
    `results` are those of the actions that it comes after. `planned` is the scope that the event
    was routed by, if this generation has just done so. `traced` as in `Rendering`.
    """

    live: LiveRuleset
    action: CompiledAction
    job: Job
    delivery: Delivery
    event: DeliveryEvent
    environ: Mapping[str, str]
    covered: tuple[DeliveryEvent, ...] = ()
    results: Mapping[str, Any] = msgspec.field(default_factory=dict)
    planned: dict[str, Any] | None = None
    traced: Traceparent | None = None


def render(material: Material) -> ActionCall | Skip:
    """
    The call of one attempt, or why there is none: its `when` does not hold.

    Raises:
        RenderError: a template cannot be rendered from this event, or gives a hazard: CR, LF or
            NUL in a header, NUL in an argument or variable, an option where none was meant, an
            empty or dotted path segment. The job is dead.
    """
    m = material
    prepared = m.live.prepared(m.job.rule, m.action)
    scope = _scope(m, prepared.secrets) if prepared.in_scope else {}
    if m.action.when is not None:
        verdict = m.action.when.verdict(scope)
        if verdict is not True:
            return Skip(f"when_error: {verdict.reason}" if verdict else "when")
    given = Rendering(
        m.job, m.delivery, m.event, m.covered, scope, m.live.secrets, m.environ, m.traced
    )
    return prepared.make(given)


def _scope(m: Material, secrets: Mapping[str, str]) -> dict[str, Any]:
    """What the action's expressions see."""
    ruleset = m.live.ruleset
    if m.planned is not None and not (m.covered or m.action.given or m.action.after):
        m.planned["secret"] = secrets
        return m.planned
    scope = event_scope(ruleset.roots(m.delivery), m.delivery, m.event, ruleset.defines)
    scope["secret"] = secrets
    if m.covered:
        scope["events"] = [event.payload for event in m.covered]
    if m.action.after:
        scope["results"] = m.results
    if m.action.given:
        scope["with"] = json_value(dict(m.action.given), scope, "with")
    return scope


def needs_event(live: LiveRuleset, action: CompiledAction, job: Job, delivery: Delivery) -> bool:
    """
    Whether rendering this job reads more of its event than the job itself knows: then the stored
    body has to be parsed again.
    """
    if job.covers or live.prepared(job.rule, action).parsed:
        return True
    provider = live.ruleset.providers.get(delivery.provider)
    if provider is None or provider.splits:
        return True
    sent = dict(delivery.headers).get("content-type", "")
    return sent.startswith(FORM)
