"""
What the rules of a file cost an event: which of them an index finds, by what, and which it cannot.

A rule is found by its endpoint and its events first; `keys` say what else is looked up. A rule
without one is evaluated for every event that its head lets in.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from router.expressions import JSON, FieldNeed, UnusableCondition, needs_of, unusable_of
from router.expressions.trace import TracePart, part_of
from router.model.delivery import full_name
from router.rules.index import UNREADABLE, Index, as_one, index_needs
from router.rules.match import Matcher, Wanting
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule, Condition

Variables = Mapping[str, Any]
NO_CONDITION = "it has no condition: it wants all of them"
NO_SHARED_FIELD = "any: whose items do not all say what one same field is"


class CostSample(msgspec.Struct, frozen=True):
    """An event as it may come: where, what, and what rules see of it."""

    endpoint: str
    event: str
    action: str | None
    scope: Mapping[str, Any]


class RuleCost(msgspec.Struct, frozen=True):
    """
    One rule. `key` is what the index looks it up by; if there is none, `unusable` are the parts
    of its condition that must hold, each with the reason.

    `asked` of `let_in` samples that its `from` and `events` let in are those it was evaluated for.
    """

    rule: str
    endpoints: tuple[str, ...] | None
    events: tuple[str, ...] | None
    key: FieldNeed | None
    unusable: tuple[UnusableCondition, ...]
    leaves: int
    let_in: int
    asked: int


class EventCost(msgspec.Struct, frozen=True):
    """
    One sample: how many rules its endpoint and name let in, how many of them are evaluated and
    with how many leaves; `most`: as many as any such event can make it be.
    """

    endpoint: str
    event: str
    let_in: int
    asked: int
    leaves: int
    most: int


class Cost(msgspec.Struct, frozen=True):
    """All rules in file order, all samples in the order given."""

    rules: tuple[RuleCost, ...]
    events: tuple[EventCost, ...]


def cost_of(ruleset: Ruleset, samples: Iterable[CostSample]) -> Cost:
    """What each rule, and each sample, costs."""
    matcher = Matcher(ruleset)
    leaves = [_leaves(part_of(as_one(rule.match))) for rule in ruleset.rules]
    let_in, asked = [0] * len(leaves), [0] * len(leaves)
    keys: dict[int, tuple[str, ...]] = {}
    events = []
    for sample in samples:
        both = matcher.wanting(sample.endpoint, sample.event, sample.action)
        events.append(_event(sample, both, leaves, asked))
        for index in _indexes(both):
            filing = index.filing()
            keys |= filing
            for place in (*filing, *(candidate.place for candidate in index.always)):
                let_in[place] += 1
    return Cost(
        tuple(
            RuleCost(
                rule.id,
                rule.sources,
                rule.events,
                *_key(rule, keys.get(place), ruleset.variables),
                max(leaves[place], 1),
                let_in[place],
                asked[place],
            )
            for place, rule in enumerate(ruleset.rules)
        ),
        tuple(events),
    )


def _event(
    sample: CostSample, both: Sequence[Wanting], leaves: Sequence[int], asked: list[int]
) -> EventCost:
    places = [c.place for wanting in both for c in wanting.candidates(sample.scope)]
    for place in places:
        asked[place] += 1
    indexes = _indexes(both)
    return EventCost(
        sample.endpoint,
        full_name(sample.event, sample.action),
        sum(len(index.filing()) + len(index.always) for index in indexes),
        len(places),
        sum(leaves[place] for place in places),
        sum(index.most() for index in indexes),
    )


def _indexes(both: Sequence[Wanting]) -> list[Index]:
    return [index for wanting in both for index in (wanting.every, wanting.named)]


def _key(
    rule: CompiledRule, path: tuple[str, ...] | None, variables: Variables
) -> tuple[FieldNeed | None, tuple[UnusableCondition, ...]]:
    """What it is looked up by, or why by nothing."""
    for need in index_needs(rule.match, variables):
        if path in (None, need.path):
            return need, ()
    return None, tuple(_unusable(rule.match, variables)) or (UnusableCondition("", NO_CONDITION),)


def _unusable(conditions: Iterable[Condition], variables: Variables) -> Iterable[UnusableCondition]:
    for condition in conditions:
        if condition.test is not None:
            yield from unusable_of(condition.test, variables)
            for need in needs_of(condition.test):
                name = need.path[0]  # equal to something known, but by a name that is computed
                if name in UNREADABLE:
                    why = f"{name}.… is computed only when it is asked for"
                    yield UnusableCondition(".".join(need.path), why)
        elif condition.negate is not None:
            yield UnusableCondition(condition.source, "not: says what must not be")
        elif not index_needs([condition], variables):
            yield UnusableCondition(condition.source, NO_SHARED_FIELD)


def _leaves(part: TracePart) -> int:
    return 1 if part.kind == "leaf" else sum(map(_leaves, part.parts))


def cost_json(cost: Cost) -> dict[str, JSON]:
    """For `encode_json`."""
    return {
        "rules": [
            {
                "rule": one.rule,
                "from": None if one.endpoints is None else list(one.endpoints),
                "events": None if one.events is None else list(one.events),
                "indexed": one.key is not None,
                "key": one.key
                and {
                    "field": ".".join(one.key.path),
                    "equals": list(one.key.values),
                    "begins_with": list(one.key.prefixes),
                    "ends_with": list(one.key.suffixes),
                    "holds": list(one.key.parts),
                },
                "not_indexed": [{"text": u.text, "why": u.why} for u in one.unusable],
                "leaves": one.leaves,
                "samples": one.let_in,
                "asked": one.asked,
            }
            for one in cost.rules
        ],
        "events": [msgspec.structs.asdict(one) for one in cost.events],
    }
