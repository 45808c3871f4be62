"""A reading of rules as JSON values for `encode_json`."""

from typing import Any

from msgspec.structs import asdict

from router.expressions import Failed
from router.expressions.trace import Leaf
from router.rules.explain import EventReading, RuleReading
from router.rules.explain_words import verdict_word

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
