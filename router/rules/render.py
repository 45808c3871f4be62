"""From a job and its event to a Call: templates rendered, secrets placed, hazards refused."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.kinds import KINDS
from router.kinds.kind import FORM, ActionCall, Rendering
from router.kinds.templates import json_value
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Job, Skip
from router.rules.live import LiveRuleset
from router.rules.scope import event_scope
from router.rules.specs import CompiledAction

UNPARSED = frozenset(
    {
        "delivery",
        "endpoint",
        "event",
        "headers",
        "provider",
        "query",
        "results",
        "secret",
        "var",
        "with",
    }
)
"""Roots that are known without parsing the body."""


class Material(msgspec.Struct, frozen=True):
    """
    All that rendering one job needs, gathered.

    `covered` are the events of a run for a whole batch (`per: delivery`), `event` their first.
    `results` are those of the actions that it comes after.
    """

    live: LiveRuleset
    action: CompiledAction
    job: Job
    delivery: Delivery
    event: DeliveryEvent
    environ: Mapping[str, str]
    covered: tuple[DeliveryEvent, ...] = ()
    results: Mapping[str, Any] = msgspec.field(default_factory=dict)


def render(material: Material) -> ActionCall | Skip:
    """
    The call of one attempt, or why there is none: its `when` does not hold.

    Raises:
        RenderError: a template cannot be rendered from this event, or gives a hazard: CR, LF or
            NUL in a header, NUL in an argument or variable, an option where none was meant, an
            empty or dotted path segment. The job is dead.
    """
    m = material
    ruleset = m.live.ruleset
    shared = ruleset.roots(m.delivery)
    scope = event_scope(shared, m.delivery, m.event, ruleset.defines)
    scope["secret"] = m.live.secrets.texts
    if m.covered:
        scope["events"] = [event.payload for event in m.covered]
    if m.action.after:
        scope["results"] = m.results
    if m.action.given:
        scope["with"] = json_value(dict(m.action.given), scope, "with")
    if m.action.when is not None:
        verdict = m.action.when.verdict(scope)
        if verdict is not True:
            return Skip(f"when_error: {verdict.reason}" if verdict else "when")
    reads, secrets = m.live.roots_of(m.job.rule, m.action), m.live.secrets
    given = Rendering(m.job, m.delivery, m.event, m.covered, scope, reads, secrets, m.environ)
    call: ActionCall = KINDS[m.action.kind].render(m.action.spec, given)
    return call


def needs_event(live: LiveRuleset, action: CompiledAction, job: Job, delivery: Delivery) -> bool:
    """
    Whether rendering this job reads more of its event than the job itself knows: then the stored
    body has to be parsed again.
    """
    if job.covers or KINDS[action.kind].whole_event:
        return True
    provider = live.ruleset.providers.get(delivery.provider)
    if provider is None or provider.splits or not live.roots_of(job.rule, action) <= UNPARSED:
        return True
    sent = dict(delivery.headers).get("content-type", "")
    return sent.startswith(FORM)
