"""An explanation in words, for the terminal, a failed test and a page; and as JSON values."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from router.expressions import JSON, Failed, FieldNeed, encode_json
from router.expressions.trace import Found, Leaf, LeafVerdict
from router.legible import cut, visible
from router.rules.explain import EventReading, ItemReading, RuleReading
from router.rules.redacting import GONE

VALUE_MAX = 80
SIGNS = {"true": "T", "false": "F", "error": "E", "not evaluated": "-"}
"""One letter for each verdict of a leaf."""

NO_TURN = "takes no turn: its group has no value"

Show = Callable[[JSON], str]


def one_line(text: str) -> str:
    """A text of the file without its line breaks."""
    return " ".join(text.split())


def short(value: JSON) -> str:
    """One line of JSON, cut."""
    text = visible(encode_json(value).decode("utf-8"))
    return cut(text, VALUE_MAX)


def verdict_word(verdict: bool | Failed) -> LeafVerdict:
    """A verdict as the leaves say theirs."""
    if isinstance(verdict, Failed):
        return "not evaluated" if verdict.reason == GONE else "error"
    return "true" if verdict else "false"


def is_one_leaf(item: ItemReading) -> bool:
    """Its one leaf is all of its text."""
    return len(item.leaves) == 1 and item.leaves[0].text == item.source.strip()


def leaf_words(leaf: Leaf) -> str:
    """What was found beside a leaf, and why it erred: once each, for a terminal."""
    if leaf.verdict == "not evaluated":
        return leaf.reason or "not evaluated"
    why = "" if leaf.reason is None else visible(leaf.reason)
    texts = [found_words(f, short) for f in leaf.found if f.type != "error"]
    seen = ", ".join(words for words in map(visible, texts) if words != why)
    return "; ".join(part for part in (seen, why) if part)


def found_words(found: Found, show: Show) -> str:
    """`payload.total = 5 (number)`, or that it is not there."""
    name = one_line(found.text)
    if found.type == "absent":
        return f"{name} is not there"
    kind = "" if found.type == "null" else f" ({found.type})"
    return f"{name} = {show(found.value)}{kind}"


def change_words(of: str, needs: str, found: Found | None, hint: str | None, show: Show) -> str:
    """The change, what stood there instead, and what was likely meant."""
    text = f"{of} {needs}"
    if found is not None and found.type != "error":
        text += ", is not there" if found.type == "absent" else f", is {show(found.value)}"
    return text if hint is None else f"{text} ({hint})"


def passed_words(need: FieldNeed, there: bool, found: JSON, show: Show) -> str:
    """Why the index passed a rule over."""
    choices = [show(value) for value in need.values]
    choices += [f"a text that begins with {show(text)}" for text in need.prefixes]
    choices += [f"a text that ends with {show(text)}" for text in need.suffixes]
    choices += [f"a text or list that holds {show(text)}" for text in need.parts]
    seen = f"is {show(found)}" if there else "is not there"
    return f"{one_line('.'.join(need.path))} {seen}, the rule wants {' or '.join(choices)}"


_LEAF = ("number", "expression", "start", "end", "text", "wanted", "verdict", "reason")


def event_json(e: EventReading) -> dict[str, Any]:
    """One event and what each rule said of it, numbers digit for digit."""
    return {
        "index": e.event.index,
        "id": e.event.id or None,
        "name": e.event.name,
        "action": e.event.action,
        "known_before": e.known,
        "rules": [_rule(r) for r in e.rules],
    }


def _rule(r: RuleReading) -> dict[str, Any]:
    rule = r.rule
    return {
        "rule": rule.id,
        "mode": rule.mode,
        "otherwise": rule.otherwise,
        "status": r.status,
        "from": {"wanted": rule.sources and list(rule.sources), "holds": r.from_holds},
        "events": {"wanted": rule.events and list(rule.events), "holds": r.events_hold},
        "match": [
            {
                "source": item.source,
                "verdict": verdict_word(item.verdict),
                "reason": item.verdict.reason if isinstance(item.verdict, Failed) else None,
                "leaves": [_leaf(leaf) for leaf in item.leaves],
            }
            for item in r.items
        ],
        "missing": r.missing,
        "failed": r.failed,
        "would_match_by_one_of": list(r.pivots),
        "changes": [
            asdict(c) | {"found": None if c.found is None else asdict(c.found)} for c in r.changes
        ],
        "passed_by_index": r.passed
        and {
            "field": ".".join(r.passed.need.path),
            "wanted": list(r.passed.need.values),
            "begins_with": list(r.passed.need.prefixes),
            "ends_with": list(r.passed.need.suffixes),
            "holds": list(r.passed.need.parts),
            "there": r.passed.there,
            "found": r.passed.found,
        },
        "quieted_by": list(r.quieted_by),
        "gone": list(r.gone),
        "ungrouped": r.ungrouped,
    }


def _leaf(leaf: Leaf) -> dict[str, Any]:
    shown = {name: getattr(leaf, name) for name in _LEAF}
    return shown | {"found": [asdict(found) for found in leaf.found]}
