"""
Why each rule did, or did not, want an event: every rule read, none passed over.

What the index would have spared is read too, and named. The verdicts are those of the matcher.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from router.expressions import JSON, Failed, FieldNeed, key_of
from router.expressions.absent import ABSENT
from router.expressions.trace import Leaf, TracePart, part_of, trace
from router.model.delivery import Delivery, DeliveryEvent, Redaction
from router.model.patterns import event_names, wants_event
from router.providers import ReadEvent, Reading
from router.rules.index import index_needs
from router.rules.match import Matcher
from router.rules.redacting import GONE, GoneValues
from router.rules.ruleset import Ruleset
from router.rules.scope import event_scope
from router.rules.smallest_change import SmallestChange, smallest_change
from router.rules.specs import CompiledRule, Condition

Scope = Mapping[str, Any]
Status = Literal[
    "matched",  # it acts
    "shadow",  # it would have, were it live
    "paused",  # it matched, and its jobs wait
    "quiet",  # an `otherwise` rule beside a live rule that matched
    "not matched",
    "error",
    "redacted",  # a condition read what is no longer here
    "not for this event",
    "not for this endpoint",
]

MATCHED: Mapping[Status, str] = {
    "matched": "MATCHED",
    "shadow": "MATCHED in shadow: it does not act",
    "paused": "MATCHED while paused: its jobs wait",
}
"""The statuses in which its conditions held, in words."""


class Passed(msgspec.Struct, frozen=True):
    """
    The index passes over the rule: the field that it needs has no such value.

    `there` is False if there is no such field; `found` is then None.
    """

    need: FieldNeed
    found: JSON
    there: bool


class ItemReading(msgspec.Struct, frozen=True):
    """One item of `match`: its text, its verdict, its leaves (numbered through the rule)."""

    source: str
    verdict: bool | Failed
    leaves: tuple[Leaf, ...]
    missing: int
    pivots: tuple[int, ...]


class RuleReading(msgspec.Struct, frozen=True):
    """
    One rule beside one event. `items` is empty unless the head (`from`, `events`) lets the event
    in; so is `quieted_by`, the live rules because of which an `otherwise` rule is not evaluated.

    `missing` is the least number of leaves that would have to answer otherwise for `match` to
    hold; if it is 1, `pivots` are the leaves of which one alone would do. `gone` are the fields
    that its conditions read, and that were taken out of the delivery since. `ungrouped`: it
    matched, and its run takes no turn, as its group has no value.
    """

    rule: CompiledRule
    status: Status
    from_holds: bool
    events_hold: bool
    items: tuple[ItemReading, ...] = ()
    passed: Passed | None = None
    quieted_by: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    ungrouped: bool = False

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for item in self.items for leaf in item.leaves)

    @property
    def missing(self) -> int:
        return sum(item.missing for item in self.items)

    @property
    def pivots(self) -> tuple[int, ...]:
        if self.missing != 1:
            return ()
        return tuple(number for item in self.items for number in item.pivots)

    @property
    def failed(self) -> int:
        """How many leaves were evaluated and did not help."""
        return sum(leaf.failed for leaf in self.leaves)

    @property
    def changes(self) -> tuple[SmallestChange, ...]:
        """If one leaf is missing: the changes of which any one would have matched."""
        pivots = frozenset(self.pivots)
        return tuple(smallest_change(leaf) for leaf in self.leaves if leaf.number in pivots)


class EventReading(msgspec.Struct, frozen=True):
    """One event and every rule beside it. `known`: a copy of an earlier one, so never routed."""

    event: DeliveryEvent
    known: bool
    rules: tuple[RuleReading, ...]


class Explainer:
    """Explains events by one ruleset."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset
        self._matcher = Matcher(ruleset)

    def events(
        self, delivery: Delivery, chosen: Sequence[ReadEvent], ids: Mapping[int, str] | None
    ) -> tuple[EventReading, ...]:
        """
        The chosen events, each beside the rules; `ids` are those of the stored events by their
        index, None if the delivery is not stored.
        """
        shared, stored = self._ruleset.roots(delivery), ids or {}
        found = []
        for read in chosen:
            event = read.event(stored.get(read.index, ""))
            scope = event_scope(shared, delivery, event, self._ruleset.defines)
            rules = self.explain(delivery.endpoint, event, scope, delivery.redacted)
            found.append(EventReading(event, ids is not None and read.index not in stored, rules))
        return tuple(found)

    def explain(
        self, endpoint: str, event: DeliveryEvent, scope: Scope, mark: Redaction | None = None
    ) -> tuple[RuleReading, ...]:
        """Every rule of the file, in its order; `mark`: what the delivery no longer has."""
        gone = GoneValues(mark, self._ruleset.defines)
        passed = self._passed(endpoint, event, scope)
        usual = {
            rule.id: _read(rule, endpoint, event, scope, gone)
            for rule in self._ruleset.rules
            if not rule.otherwise
        }
        louder = tuple(
            r.rule.id
            for r in usual.values()
            if r.status == "matched" and r.rule.sources is not None
        )
        unsure = [r.gone for r in usual.values() if r.status == "redacted" and r.rule.sources]
        found = []
        for place, rule in enumerate(self._ruleset.rules):
            reading = usual.get(rule.id) or _read(rule, endpoint, event, scope, gone)
            values: dict[str, Any] = {"passed": None if reading.gone else passed.get(place)}
            if rule.otherwise and louder and reading.from_holds and reading.events_hold:
                values |= {"status": "quiet", "quieted_by": louder}
            elif rule.otherwise and unsure and reading.status in MATCHED:
                values |= {"status": "redacted", "gone": unsure[0]}
            if rule.concurrency is not None and reading.status in MATCHED and mark is None:
                values["ungrouped"] = key_of(rule.concurrency.value, scope) is None
            found.append(msgspec.structs.replace(reading, **values))
        return tuple(found)

    def _passed(self, endpoint: str, event: DeliveryEvent, scope: Scope) -> dict[int, Passed]:
        """What the index keeps from being evaluated, by the rule's place."""
        found: dict[int, Passed] = {}
        for wanting in self._matcher.wanting(endpoint, event.name, event.action):
            evaluated = {candidate.place for candidate in wanting.candidates(scope)}
            for index in (wanting.every, wanting.named):
                for place, path in index.filing().items():
                    if place not in evaluated:
                        match = self._ruleset.rules[place].match
                        needs = index_needs(match, self._ruleset.variables)
                        found[place] = _passed(needs, path, scope)
        return found


def near_misses(readings: Sequence[RuleReading]) -> list[RuleReading]:
    """The rules that looked at the event and did not match, the nearest first."""
    missed = [r for r in readings if r.status == "not matched"]
    return sorted(missed, key=lambda r: (r.missing, r.failed))


def _read(
    rule: CompiledRule, endpoint: str, event: DeliveryEvent, scope: Scope, gone: GoneValues
) -> RuleReading:
    mine = rule.takes(endpoint)
    names = event_names(endpoint, event.name)
    named = any(wants_event(rule.events, name, event.action) for name in names)
    if not mine or not named:
        status: Status = "not for this event" if mine else "not for this endpoint"
        return RuleReading(rule, status, mine, named)
    items, fields = _known(items_of(rule, scope), gone)
    if any(item.verdict is False for item in items):
        status = "not matched"
    elif fields:
        status = "redacted"
    elif any(isinstance(item.verdict, Failed) for item in items):
        status = "error"
    else:
        status = "matched" if rule.mode == "live" else rule.mode
    return RuleReading(rule, status, mine, named, items, gone=fields)


def _known(
    items: tuple[ItemReading, ...], gone: GoneValues
) -> tuple[tuple[ItemReading, ...], tuple[str, ...]]:
    """
    Only what can still be told of the items, and the fields that are missing. Of an item that
    reads one of them there is no verdict.
    """
    found, missing = list[ItemReading](), dict[str, None]()
    for item in items:
        fields = [field for leaf in item.leaves for field in gone.fields(leaf)]
        missing |= dict.fromkeys(fields)
        leaves = tuple(map(gone.without, item.leaves))
        unsure = ItemReading(item.source, Failed(GONE), leaves, 0, ())
        found.append(unsure if fields else item)
    return tuple(found), tuple(missing)


def items_of(rule: CompiledRule, scope: Scope) -> tuple[ItemReading, ...]:
    """Each item of a rule's `match` beside a scope, with all its leaves; never raises."""
    items, number = list[ItemReading](), 1
    for condition in rule.match:
        seen = trace(_part(condition), scope, first=number)
        number += len(seen.leaves)
        items.append(
            ItemReading(condition.source, seen.verdict, seen.leaves, seen.missing, seen.pivots)
        )
    return tuple(items)


def _part(condition: Condition) -> TracePart:
    if condition.test is not None:
        return part_of(condition.test)
    if condition.negate is not None:
        return TracePart("not", (_part(condition.negate),))
    return TracePart("any", tuple(map(_part, condition.any_of or ())))


def _passed(needs: list[FieldNeed], path: tuple[str, ...], scope: Scope) -> Passed:
    """By the need the index filed it under: the first on that path that the value cannot meet."""
    value: Any = scope
    for name in path:
        value = value.get(name, ABSENT) if value.__class__ is dict else ABSENT
    there = value is not ABSENT
    need = next(need for need in needs if need.path == path and not need.admits(value))
    return Passed(need, value if there else None, there)


def unrouted(delivery: Delivery, reading: Reading) -> str | None:
    """Why no rule is evaluated for a delivery; None: they are."""
    if reading.state != "routed":
        return f"{reading.state}: {reading.reason or 'its body cannot be read'}"
    if delivery.state in ("unparsed", "too_complex"):
        return f"{delivery.state}: it was stored without evaluating any rule"
    return None
