"""What needs a person now, in words, with the command that looks closer."""

from collections.abc import Iterable, Iterator

from router.clock import Clock
from router.legible import moment, span
from router.model.settings import Endpoint
from router.model.target import TargetRow
from router.operator.node_rows import NodeRow
from router.operator.overview_answer import (
    Attention,
    DeadLetters,
    EndpointActivity,
    RulesInForce,
    StoreFill,
)

HELD = "held: no job runs; `router resume` starts them"
LATE_MS = 60_000
"""Work that has been due for longer than this is late."""
STORE_PERCENT = 80
STORE_SOON_MS = 3 * 86_400_000
REFUSED_MIN = 20


def of_hold(*, held: bool) -> Iterator[Attention]:
    """No job runs."""
    if held:
        yield Attention("held", HELD, "router resume")


def of_clock(clock: Clock) -> Iterator[Attention]:
    """It may be wrong."""
    if (doubt := clock.doubted()) is not None:
        past, left = span(clock.now() - doubt.seen), span(doubt.until - clock.ledger())
        text = f"the clock is {past} past the store's last entry: if it is wrong, set it"
        yield Attention("clock", f"{text}; retention begins in {left}", "router doctor")


def of_rules(rules: RulesInForce) -> Iterator[Attention]:
    """The last reload failed."""
    if rules.error is not None:
        text = "the last reload failed; the rules before it stay in force"
        yield Attention("reload", text, "router check")


def of_secrets(endpoints: Iterable[Endpoint]) -> Iterator[Attention]:
    """All secrets of these endpoints have expired."""
    for endpoint in endpoints:
        name = endpoint.name
        text = f"the endpoint {name} refuses every delivery: all of its secrets have expired"
        yield Attention("secret", text, f"router doctor {name}", name)


def of_findings(count: int) -> Iterator[Attention]:
    """`check` finds something in the rules in force."""
    if count:
        words = "1 finding" if count == 1 else f"{count} findings"
        yield Attention("check", f"check has {words} about the rules in force", "router check")


def of_store(store: StoreFill, now: int) -> Iterator[Attention]:
    """It is nearly full, or soon will be."""
    left = None if store.full_at is None else store.full_at - now
    if left is not None and left <= 0:
        text = f"the store is full ({store.percent} % of max_size): deliveries are refused"
    elif left is not None and left < STORE_SOON_MS:
        text = f"the store has {store.percent} % of max_size and is full in {span(left)}"
    elif store.percent >= STORE_PERCENT:
        text = f"the store has {store.percent} % of max_size"
    else:
        return
    yield Attention("store", text, "router store info")


def of_targets(targets: Iterable[TargetRow], now: int) -> Iterator[Attention]:
    """Those that are not called as they should be, or not soon enough."""
    for target in targets:
        late = 0 if target.due_at is None else now - target.due_at
        if target.state != "healthy":
            text = f"the target {target.name} is {target.state}"
            if target.queued:
                text += "; 1 job waits" if target.queued == 1 else f"; {target.queued} jobs wait"
            yield Attention("target", text, "router targets", target.name)
        elif late > LATE_MS:
            text = f"a job of the target {target.name} has been due for {span(late)}"
            yield Attention("late", text, "router targets", target.name)


def of_dead(dead: DeadLetters) -> Iterator[Attention]:
    """There are some."""
    if dead.count:
        words = "dead letter" if dead.count == 1 else "dead letters"
        yield Attention("dead", f"{dead.count} {words}", "router dead")


def of_nodes(nodes: Iterable[NodeRow]) -> Iterator[Attention]:
    """Those that live and are to get no requests, and those that were lost."""
    for node in nodes:
        if node.lost:
            name, seen = f"{node.name} (#{node.number})", moment(node.last_beat_at)
            text = f"the router {name} has not been seen since {seen}"
            yield Attention("node", text, "router store info", node.name)
        if node.unready is not None and not node.gone:
            text = f"the node {node.name} is not ready: {node.unready}"
            yield Attention("node", text, "router doctor", node.name)


def of_endpoints(endpoints: Iterable[EndpointActivity]) -> Iterator[Attention]:
    """Those that nothing comes to any more, or that refuse more than they accept."""
    for endpoint in endpoints:
        accepted, refused = endpoint.deliveries.hour, endpoint.refused.hour
        if endpoint.silent:
            text = f"nothing comes to the endpoint {endpoint.name} any more"
            yield Attention("endpoint", text, "router doctor", endpoint.name)
        if endpoint.provider is not None and refused >= REFUSED_MIN and refused > accepted:
            text = f"the endpoint {endpoint.name} refused {refused} requests within the last hour"
            yield Attention("refused", text, "router deliveries --refused", endpoint.name)
