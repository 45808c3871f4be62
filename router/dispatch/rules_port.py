"""What dispatch needs of the rules: calls rendered by today's version of each action."""

from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec

from router.dispatch.live import DispatchRules, OtherRules
from router.dispatch.protocol import Render, Results
from router.errors import RenderError
from router.kinds import ADDRESSED, KINDS
from router.kinds.kind import ActionCall
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import ActionKind, Job, Skip, Work
from router.model.packed import body_size
from router.model.retry import NONE
from router.model.settings import OWN, TargetLimits
from router.model.trace import Traceparent
from router.providers import own
from router.rules.live import LiveRef, LiveRuleset
from router.rules.render import Material, needs_event, render
from router.store.values import Died

REREAD_CACHE = 64
REREAD_BYTES = 16 * 1024 * 1024
"""Deliveries whose events are remembered, and bytes of their bodies; always the newest."""


Reread = Callable[[Delivery, int, LiveRuleset | None], DeliveryEvent]
"""
Reads one event of a stored delivery again. The last has the sender's definition if today's rules do
not. Raises RenderError when it cannot.
"""


def renderer(
    live: LiveRef, environ: Mapping[str, str], traced: Traceparent | None = None
) -> Render:
    """Renders a job by today's version of its action, or the last there was."""
    reread = rereader(live)

    def rendered(work: Work, results: Results) -> ActionCall | Skip:
        job, delivery, event = work.job, work.delivery, work.event
        if delivery.damaged:
            raise RenderError("corrupt", "the stored delivery is not what was accepted")
        found = live.action_of(job)
        if found is None:
            raise RenderError(f"{job.rule}/{job.action}", "no kept generation has this action")
        owner, action = found
        if event is None and needs_event(owner, action, job, delivery):
            again = reread(delivery, job.event_index, owner)
            event = msgspec.structs.replace(again, id=job.event_id)
        elif event is None:
            event = DeliveryEvent(job.event_id, job.event_index, job.event, None, None)
        if job.replay_of:
            delivery = msgspec.structs.replace(delivery, replay_of=job.replay_of)
        covered = tuple([reread(delivery, index, owner) for index in job.covers])
        scope = work.scope if job.generation == owner.ruleset.generation else None
        return render(
            Material(owner, action, job, delivery, event, environ, covered, results, scope, traced)
        )

    return rendered


def rereader(live: LiveRef) -> Reread:
    """Reads events of stored deliveries again; the newest few deliveries are remembered."""
    remembered: OrderedDict[str, tuple[dict[int, DeliveryEvent], int]] = OrderedDict()
    held = 0

    def read(delivery: Delivery, owner: LiveRuleset | None) -> dict[int, DeliveryEvent]:
        nonlocal held
        known = remembered.get(delivery.id)
        if known is not None:
            return known[0]
        events, size = _events(live.current, owner, delivery), body_size(delivery)
        remembered[delivery.id] = events, size
        held += size
        while len(remembered) > REREAD_CACHE or (held > REREAD_BYTES and len(remembered) > 1):
            held -= remembered.popitem(last=False)[1][1]
        return events

    def reread(delivery: Delivery, index: int, owner: LiveRuleset | None) -> DeliveryEvent:
        events = read(delivery, owner)
        if index not in events:
            raise RenderError("event", f"the stored delivery has no event {index}")
        return events[index]

    return reread


def _events(
    live: LiveRuleset, owner: LiveRuleset | None, delivery: Delivery
) -> dict[int, DeliveryEvent]:
    provider = live.ruleset.providers.get(delivery.provider)
    if provider is None and owner is not None:
        provider = owner.ruleset.providers.get(delivery.provider)
    if delivery.provider == OWN:  # also when no rule of today wants such events
        provider = own()
    if provider is None:
        raise RenderError("event", f"there is no provider {delivery.provider!r} any more")
    reading = provider.read_stored(delivery)
    return {e.index: e.event() for e in reading.events}


def target_limits(live: LiveRef) -> Callable[[str, ActionKind], TargetLimits]:
    """The limits of a target today; a place without a name has its kind's defaults."""

    def limits(target: str, kind: ActionKind) -> TargetLimits:
        named = live.target(target)
        if named is None:
            return KINDS[kind].limits
        return TargetLimits(named.concurrency, named.rate, named.breaker)

    return limits


def dispatch_live(
    live: LiveRef,
    environ: Mapping[str, str],
    died: Died,
    others: OtherRules | None = None,
    traced: Traceparent | None = None,
) -> DispatchRules:
    """
    All that dispatch asks of the rules; `others` fetches those of other nodes, if any. `traced`
    says which span an attempt is, if one is made of it.
    """

    def reads(job: Job) -> frozenset[str]:
        found = live.action_of(job)
        return found[0].reads.get((job.rule, job.action), frozenset()) if found else frozenset()

    def kind_of(target: str) -> ActionKind | None:
        if "://" in target or live.target(target) is not None:
            return ADDRESSED
        rule, _, action = target.partition("/")
        found = live.current.actions.get((rule, action))
        return found.kind if found else None

    def targets() -> frozenset[str]:
        called = {a.target for a in live.current.actions.values() if not KINDS[a.kind].local}
        return frozenset(called | live.current.ruleset.targets.keys())

    def dead_if_interrupted() -> frozenset[tuple[str, str]]:
        return frozenset(key for key, a in live.known().items() if a.on_interrupt == "dead")

    return DispatchRules(
        render=renderer(live, environ, traced),
        retry_of=lambda job: found[1].retry if (found := live.action_of(job)) else NONE,
        limits=target_limits(live),
        generation_of=lambda job: (
            found[0].ruleset.generation if (found := live.action_of(job)) else job.generation
        ),
        kind_of=kind_of,
        targets=targets,
        dead_if_interrupted=dead_if_interrupted,
        reads=reads,
        died=died,
        others=others,
    )
