"""An explanation as JSON: all of it, numbers digit for digit."""

from typing import Any

from router.cli.explaining import EventReading, Explanation
from router.expressions import Failed
from router.expressions.trace import Leaf
from router.rules.explain import ItemReading, Passed, RuleReading


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Values for `encode_json`."""
    d, record = found.delivery, found.record
    return {
        "delivery": d.id or None,
        "received_at": d.received_at,
        "endpoint": d.endpoint,
        "provider": d.provider,
        "verified_by": d.verified_by,
        "state": d.state,
        "flags": list(d.flags),
        "duplicates": record.duplicates if record else 0,
        "generation": found.generation,
        "decided_by": d.generation,
        "reason": found.reason,
        "events": [_event(e) for e in found.events],
    }


def _event(e: EventReading) -> dict[str, Any]:
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
        "from": {"wanted": _listed(rule.sources), "holds": r.from_holds},
        "events": {"wanted": _listed(rule.events), "holds": r.events_hold},
        "match": [_item(item) for item in r.items],
        "missing": r.missing,
        "would_match_by_one_of": list(r.pivots),
        "passed_by_index": _passed(r.passed),
        "quieted_by": list(r.quieted_by),
    }


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _item(item: ItemReading) -> dict[str, Any]:
    failed = isinstance(item.verdict, Failed)
    return {
        "source": item.source,
        "verdict": "error" if failed else "true" if item.verdict else "false",
        "reason": item.verdict.reason if isinstance(item.verdict, Failed) else None,
        "leaves": [_leaf(leaf) for leaf in item.leaves],
    }


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "number": leaf.number,
        "expression": leaf.expression,
        "start": leaf.start,
        "end": leaf.end,
        "text": leaf.text,
        "wanted": leaf.wanted,
        "verdict": leaf.verdict,
        "reason": leaf.reason,
        "found": [{"text": f.text, "type": f.type, "value": f.value} for f in leaf.found],
    }


def _passed(passed: Passed | None) -> dict[str, Any] | None:
    if passed is None:
        return None
    return {
        "field": ".".join(passed.path),
        "wanted": list(passed.wanted),
        "there": passed.there,
        "found": passed.found,
    }
