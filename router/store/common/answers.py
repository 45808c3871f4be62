"""What the answers to questions are made of, whichever store was asked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from router.errors import AmbiguousId
from router.model.job import JobState
from router.model.target import TargetCounts
from router.store.common.columns import decode_json
from router.store.common.states import STATES
from router.store.values import Generation, RuleCount

Row = Sequence[Any]

NAMES = {
    "endpoint": "SELECT DISTINCT endpoint FROM deliveries ORDER BY 1",
    "rule": "SELECT rule FROM rule_generations UNION SELECT rule FROM rule_counts ORDER BY 1",
}
"""By kind; of a rule also where only its counts are left."""

RULE_COUNTS = (
    "SELECT rule, evaluated, matched, errored, shadowed, counted_since, last_matched_at "
    "FROM rule_counts ORDER BY rule"
)

GENERATIONS_WITH = (
    "SELECT g.id FROM rule_generations r JOIN generations g ON g.n = r.generation "
    "WHERE r.rule = ? AND g.text IS NOT NULL ORDER BY g.created_at DESC, g.n DESC"
)
"""Kept generations that jobs of a rule have named, newest first."""


def to_rule_counts(rows: Iterable[Row]) -> Mapping[str, RuleCount]:
    """By rule, from rows of RULE_COUNTS."""
    return {row[0]: RuleCount(*row) for row in rows}


def to_counts(rows: Iterable[Row]) -> Mapping[str, Mapping[JobState, int]]:
    """Jobs by rule and state, from these three of each."""
    found: dict[str, dict[JobState, int]] = {}
    for rule, state, count in rows:
        found.setdefault(rule, {})[STATES[state]] = count
    return found


def to_target_counts(rows: Iterable[Row]) -> Mapping[str, TargetCounts]:
    """From targets, states, how many jobs there are of these, and since when one of them is due."""
    found: dict[str, dict[str, int]] = {}
    for target, state, count, due_at in rows:
        values = found.setdefault(target, {})
        values[STATES[state]] = count
        if due_at is not None:
            values["oldest_due"] = min(due_at, values.get("oldest_due", due_at))
    return {target: TargetCounts(**values) for target, values in found.items()}


def to_generation(rows: Sequence[Row], prefix: str) -> Generation | None:
    """
    The one with this id or unique prefix, of the first two that fit, by id, with text, context and
    time. Raises AmbiguousId: it fits several.
    """
    if not rows:
        return None
    if len(rows) > 1 and rows[0][0] != prefix:
        raise AmbiguousId(f"{prefix} fits several generations; write more of it")
    id_, text, context, created_at = rows[0]
    return Generation(id_, text, decode_json(context), created_at)
