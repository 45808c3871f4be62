"""What a million known keys and ten thousand rules cost: ratios, and matching by itself."""

import gc
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import orders, pushes
from benchmarks.bench import CONNECTIONS, Bench, WrongFigures, agree, answered
from benchmarks.cost import used
from benchmarks.figures import Cost, Row, at_least, at_most
from benchmarks.wrk import Load, load
from router.model.delivery import Delivery, DeliveryEvent
from router.rules.match import Matcher
from router.rules.ruleset import Ruleset
from router.rules.scope import delivery_roots, event_scope
from router.wiring.rules import read_rules
from tests import ledger
from tests.acceptance.process import Rig

AnEvent = tuple[str, str, Mapping[str, Any]]
"""Topic, shop, and what the rules see."""

RULES = (10, 100, 1_000, 10_000)
START_S = 90.0
PASSES = 5
WARM_S = 1


class Loaded(NamedTuple):
    """What was sent to one router, round by round, and what one delivery cost it."""

    loads: list[Load]
    cost: Cost


def side_by_side(bench: Bench, rigs: dict[str, tuple[Rig, Path]]) -> dict[str, Loaded]:
    """
    Load each router in turn, round by round, all of them running; then ask the ledgers.

    A round before the first warms up: what a router makes at its first delivery is made then.
    """
    found: dict[str, list[Load]] = {name: [] for name in rigs}
    unread = CONNECTIONS * (bench.rounds + 1)  # wrk hangs up on these at the end of each round
    with ExitStack() as stack:
        routers = {name: rig.router().launch() for name, (rig, _) in rigs.items()}
        for router in routers.values():
            stack.callback(router.kill)
        for router in routers.values():
            router.until(router.ready, "ready", seconds=START_S)
        before = {name: used(router) for name, router in routers.items()}
        for turn in range(-1, bench.rounds):
            for name, (rig, request) in rigs.items():
                found[name].append(
                    load(
                        rig.listen,
                        request,
                        number=bench.number(),
                        seconds=bench.seconds if turn >= 0 else WARM_S,
                        connections=CONNECTIONS,
                        spread=True,
                    )
                )
        for name, (rig, _) in rigs.items():
            bench.notes.append(agree(rig, routers[name], answered(found[name]), slack=unread))
        taken = {name: used(router).since(before[name]) for name, router in routers.items()}
    return {
        name: Loaded(loads[1:], taken[name].each(ledger.counts(rigs[name][0].store).deliveries))
        for name, loads in found.items()
    }


def rate_row(name: str, found: Loaded) -> Row:
    rate = round(median(one.rate for one in found.loads))
    return Row(name, rate, "deliveries/s", cost=found.cost)


def ratio(many: Loaded, few: Loaded) -> float:
    """The median of the rounds' own ratios."""
    return median(a.rate / b.rate for a, b in zip(many.loads, few.loads, strict=True))


def keys(bench: Bench) -> list[Row]:
    """Durable accept and run with a million live keys in the store, and with none."""
    many, few = "accept and run, 1,000,000 keys", "accept and run, no keys before"
    rigs = {}
    for label, folder in ((few, "keys-none"), (many, "keys-million")):
        rig = bench.rig(folder, pushes.rules(20))
        rigs[label] = (rig, pushes.write_request(rig.listen, rig.folder / "push.http"))
    bench.seed("keys", rigs[many][0], "code")
    found = side_by_side(bench, rigs)
    times = ratio(found[many], found[few])
    return [
        rate_row(few, found[few]),
        rate_row(many, found[many]),
        at_least("ratio, 1,000,000 keys to none", times, "x", 0.9),
    ]


def rules(bench: Bench) -> list[Row]:
    """Ten rules to ten thousand, over the wire and in process."""
    rigs = {}
    for count in RULES:
        rig = bench.rig(f"rules-{count}", orders.rules(count), environ=orders.ENVIRON)
        request = rig.folder / "order.http"
        request.write_bytes(orders.request(rig.listen))
        rigs[f"{count:,}"] = (rig, request)
    loads = side_by_side(bench, rigs)
    times = {n: ratio(loads[n], loads["10"]) for n in rigs if n != "10"}
    alone = {name: matching(rig) for name, (rig, _) in rigs.items() if bench.ours}
    last = f"{RULES[-1]:,}"
    found = [
        *(rate_row(f"accept and run, {name} rules", found) for name, found in loads.items()),
        *(rules_ratio(name, found, last) for name, found in times.items()),
        *(matching_row(name, found, last) for name, (found, _) in alone.items()),
    ]
    if bench.ours:
        worst = alone[last][1] * 1000
        found.append(Row("the same, a topic's first event, worst", worst, "ms"))
    return found


def rules_ratio(name: str, times: float, last: str) -> Row:
    told = f"ratio, {name} rules to 10"
    return at_least(told, times, "x", 0.95) if name == last else Row(told, times, "x")


def matching_row(name: str, taken: float, last: str) -> Row:
    told = f"matching among {name} rules"
    return at_most(told, taken, "us/event", 7) if name == last else Row(told, taken, "us/event")


def matching(rig: Rig) -> tuple[float, float]:
    """
    Microseconds to match one event: median of passes over an event for each shop and topic.

    Beside it the worst seconds of an event whose topic came for the first time.
    """
    loaded = read_rules(rig.path, environ=orders.ENVIRON)
    if loaded.ruleset is None:
        raise WrongFigures(f"the rules do not load: {loaded.diagnostics[:3]}")
    ruleset = loaded.ruleset
    matcher = Matcher(ruleset)
    shops = [orders.shop(n, len(ruleset.rules) // 10) for n in range(len(ruleset.rules) // 10)]
    events = [(t, s, a_scope(ruleset, t, s)) for s in shops for t in orders.TOPICS]
    gc.collect()
    gc.freeze()  # as the server does once it has started
    first = max([first_match(matcher, *event) for event in events])
    passes = [one_pass(matcher, events) for _ in range(PASSES)]
    gc.unfreeze()
    return median(passes) / len(events) * 1e6, first


def first_match(matcher: Matcher, topic: str, shop: str, scope: Mapping[str, Any]) -> float:
    """
    Seconds to match one event.

    Raises:
        WrongFigures: another rule matches than its own.
    """
    began = time.perf_counter()
    found = matcher.match("shop", topic, None, scope)
    taken = time.perf_counter() - began
    hits = [rule.id for rule in found.live]
    if hits != [orders.rule_id(topic, shop)]:
        raise WrongFigures(f"{topic} of {shop} matches {hits}")
    return taken


def one_pass(matcher: Matcher, events: list[AnEvent]) -> float:
    """Seconds to match all events."""
    began = time.perf_counter()
    for topic, _, scope in events:
        matcher.match("shop", topic, None, scope)
    return time.perf_counter() - began


def a_scope(ruleset: Ruleset, topic: str, shop: str) -> Mapping[str, Any]:
    """What the rules see of one order."""
    delivery = Delivery(
        id=f"dlv_{1:026d}",
        endpoint="shop",
        provider="commerce",
        received_at=0,
        method="POST",
        path=orders.PATH,
        query="",
        headers=(("content-type", "application/json"),),
        body=b"",
        verified_by="shop",
        state="routed",
        event_count=1,
        generation=ruleset.generation,
    )
    fields = {"topic": topic, "shop": shop, "api_version": "2024-01"}
    event = DeliveryEvent(f"evt_{1:026d}", 0, topic, None, orders.payload(), None, fields)
    roots = delivery_roots(delivery, ruleset.variables)
    return event_scope(roots, delivery, event, ruleset.defines)
