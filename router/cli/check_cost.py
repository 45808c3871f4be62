"""`check --cost`: which rules an index finds and which it cannot, and what an event costs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from router.cli.output import visible
from router.cli.simulated_delivery import as_arriving
from router.config import Loaded, render_json
from router.expressions import FieldNeed, encode_json
from router.legible import cut
from router.rules.cost import Cost, CostSample, EventCost, RuleCost, cost_json, cost_of
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope

RULES_SHOWN = 50
EVENTS_SHOWN = 15
_VALUES_SHOWN = 4
_TEXT_MAX = 70


Read = Sequence[tuple[str, Loaded]]
"""Files by name, as they were read."""


def costs_lines(files: Read) -> Iterator[str]:
    """The cost of each file that is right, for reading."""
    for name, loaded in files:
        if loaded.ruleset is not None:
            yield ""
            if len(files) > 1:
                yield name
            yield from cost_lines(cost_of(loaded.ruleset, samples(loaded.ruleset)))


def costs_json(files: Read) -> list[dict[str, Any]]:
    """Of each file its diagnostics and its cost (null: it is wrong)."""
    return [
        {
            "file": name,
            "diagnostics": msgspec.json.decode(render_json(loaded.diagnostics)),
            "cost": loaded.ruleset and cost_json(cost_of(loaded.ruleset, samples(loaded.ruleset))),
        }
        for name, loaded in files
    ]


def samples(ruleset: Ruleset) -> Iterator[CostSample]:
    """Every event of which there is a sample, at every endpoint that can receive it."""
    for endpoint in ruleset.addressed.values():
        provider = ruleset.providers[endpoint.provider]
        for info in provider.events:
            payload = provider.sample(info.name)
            if payload is None:
                continue
            body = encode_json([payload] if provider.splits else payload)
            delivery, reading = as_arriving(ruleset, endpoint.name, info.name, body)
            shared = ruleset.roots(delivery)
            for read in reading.events[:1]:
                scope = event_scope(shared, delivery, read.event(), ruleset.defines)
                yield CostSample(endpoint.name, read.name, read.action, scope)


def cost_lines(found: Cost) -> Iterator[str]:
    """For reading: what cannot be looked up first."""
    loose = [rule for rule in found.rules if rule.key is None]
    filed = [rule for rule in found.rules if rule.key is not None]
    count = f"{len(filed)} of {len(found.rules)} rules"
    yield f"index     {count} are looked up by a field, {len(loose)} not"
    yield from _section(
        "not looked up: evaluated for every event that from and events let in", loose
    )
    yield from _section("looked up", filed)
    yield from _events(found.events)


def _section(title: str, rules: Sequence[RuleCost]) -> Iterator[str]:
    if rules:
        yield from ("", title)
    for rule in rules[:RULES_SHOWN]:
        leaves = f"{rule.leaves} {'leaf' if rule.leaves == 1 else 'leaves'}"
        yield f"  {rule.rule}  ({_head(rule)}; {leaves})"
        if rule.key is not None:
            yield f"      by {_key(rule.key)}"
        for part in rule.unusable:
            yield f"      {_cut(part.text)}: {part.why}" if part.text else f"      {part.why}"
    if len(rules) > RULES_SHOWN:
        yield f"  … and {len(rules) - RULES_SHOWN} more: --json lists all"


def _head(rule: RuleCost) -> str:
    sources = "all" if rule.endpoints is None else ", ".join(rule.endpoints)
    events = "every event" if rule.events is None else ", ".join(rule.events)
    return f"from {sources}: {events}"


def _key(need: FieldNeed) -> str:
    values = [encode_json(value).decode() for value in need.values]
    values += [f"{encode_json(text).decode()}…" for text in need.prefixes]
    values += [f"…{encode_json(text).decode()}" for text in need.suffixes]
    values += [f"…{encode_json(text).decode()}…" for text in need.parts]
    shown, more = values[:_VALUES_SHOWN], len(values) - _VALUES_SHOWN
    wanted = " or ".join([*shown, f"{more} more"] if more > 0 else shown)
    return f"{'.'.join(need.path)} = {_cut(wanted)}"


def _cut(text: str) -> str:
    return cut(visible(" ".join(text.split())), _TEXT_MAX)


def _events(events: Sequence[EventCost]) -> Iterator[str]:
    costly = sorted((e for e in events if e.let_in), key=lambda e: (-e.most, -e.asked))
    if not costly:
        return
    yield ""
    yield "events, the costliest first: rules let in, evaluated for the sample, evaluated at most"
    shown = [(f"{e.endpoint} {e.event}", e) for e in costly[:EVENTS_SHOWN]]
    wide = max(len(name) for name, _ in shown)
    for name, e in shown:
        yield f"  {name:<{wide}}  {e.let_in:>6}  {e.asked:>6}  {e.most:>6}".rstrip()
    if len(costly) > EVENTS_SHOWN:
        yield f"  … and {len(costly) - EVENTS_SHOWN} more: --json lists all"
