"""What `explain` found, arranged for a page: the rules that matched first, the nearest next."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.expressions.trace import Found
from router.rules.explain_words import change_words, found_words, passed_words
from router.web.pages.rendering import value_text

NEAR_SHOWN, NEAR_OPEN = 10, 3
OTHERS_SHOWN = 100
LEAVES_SHOWN = 100

_LABELS = {
    "matched": "matched",
    "shadow": "matched in shadow",
    "paused": "matched while paused",
    "quiet": "kept quiet",
    "error": "error",
    "not matched": "not matched",
    "not for this event": "not for this event",
    "not for this endpoint": "not for this endpoint",
}
_MATCHED = ("matched", "shadow", "paused")


class TracedLeaf(msgspec.Struct, frozen=True):
    """A leaf and what was found."""

    number: int
    verdict: str
    text: str
    found: tuple[str, ...]
    reason: str | None


class TraceItem(msgspec.Struct, frozen=True):
    """One item of `match`."""

    verdict: str
    source: str
    reason: str | None
    leaves: tuple[TracedLeaf, ...]

    @property
    def alone(self) -> bool:
        """Its one leaf is all of it."""
        return len(self.leaves) == 1 and self.leaves[0].text == self.source.strip()


class TracedRule(msgspec.Struct, frozen=True):
    """A rule beside an event."""

    rule: str
    status: str
    label: str
    wanted: str
    items: tuple[TraceItem, ...] = ()
    changes: tuple[str, ...] = ()
    passed: str | None = None
    open: bool = False


class EventTrace(msgspec.Struct, frozen=True):
    """All rules beside one event; `more` others are only counted."""

    rules: tuple[TracedRule, ...]
    others: tuple[TracedRule, ...]
    more: int


def arranged(rules: Sequence[Mapping[str, Any]]) -> EventTrace:
    """The readings of one event, as `event_json` has them."""
    matched = [r for r in rules if r["status"] in _MATCHED]
    errors = [r for r in rules if r["status"] == "error"]
    missed = [r for r in rules if r["status"] == "not matched"]
    near = sorted(missed, key=lambda r: (r["missing"], r["failed"]))
    first = [*matched, *errors[:NEAR_SHOWN], *near[:NEAR_SHOWN]]
    opened = {id(r) for r in (*matched, *errors, *near[:NEAR_OPEN])}
    seen = {id(r) for r in first}
    rest = [r for r in rules if id(r) not in seen]
    return EventTrace(
        tuple(_traced(r, opened=id(r) in opened) for r in first),
        tuple(_traced(r) for r in rest[:OTHERS_SHOWN]),
        max(0, len(rest) - OTHERS_SHOWN),
    )


def _traced(rule: Mapping[str, Any], *, opened: bool = False) -> TracedRule:
    status, passed = rule["status"], rule["passed_by_index"]
    return TracedRule(
        rule["rule"],
        status.replace(" ", "-"),
        _LABELS.get(status, status),
        _wanted(rule),
        tuple(item_of(item) for item in rule["match"]),
        tuple(_change(change) for change in rule["changes"]),
        passed and _passed(passed),
        opened,
    )


def _wanted(rule: Mapping[str, Any]) -> str:
    sources = rule["from"]["wanted"]
    events = rule["events"]["wanted"]
    quiet = f"; kept quiet by {', '.join(rule['quieted_by'])}" if rule["quieted_by"] else ""
    begin = "otherwise, " if rule["otherwise"] else ""
    said = f"from {'all' if sources is None else ', '.join(sources)}, "
    return f"{begin}{said}events {'all' if events is None else ', '.join(events)}{quiet}"


def item_of(item: Mapping[str, Any]) -> TraceItem:
    """One item of a condition."""
    return TraceItem(
        item["verdict"],
        item["source"],
        item["reason"],
        tuple(_leaf(leaf) for leaf in item["leaves"][:LEAVES_SHOWN]),
    )


def _leaf(leaf: Mapping[str, Any]) -> TracedLeaf:
    return TracedLeaf(
        leaf["number"],
        leaf["verdict"],
        leaf["text"],
        tuple(
            found_words(_found(found), value_text)
            for found in leaf["found"]
            if found["type"] != "error"
        ),
        leaf["reason"],
    )


def _found(found: Mapping[str, Any]) -> Found:
    return Found(found["text"], found["type"], found["value"])


def _change(c: Mapping[str, Any]) -> str:
    found = c["found"] and _found(c["found"])
    return change_words(c["of"], c["needs"], found, c["hint"], value_text)


def _passed(p: Mapping[str, Any]) -> str:
    return passed_words(
        p["field"], p["there"], p["found"], p["wanted"], p["begins_with"], value_text
    )
