"""The operator's verbs and the small writes: cancel, revive, generations, facts, counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.model.operations import Audit
from router.store.common.columns import encode_json
from router.store.postgres import audit_log
from router.store.postgres.database import Tx
from router.store.values import (
    Generation,
    RuleCount,
    Selector,
)

STEP = 2_000
"""Jobs that one transaction of a verb changes, so that accepting need not wait for a million."""

Step = tuple[int, str | None]
"""How many jobs a step changed, and the id after which the next one goes on, if any."""


async def cancel(tx: Tx, *, selector: Selector, reason: str, now: int, after: str | None) -> Step:
    """…"""
    raise NotImplementedError


async def revive(tx: Tx, *, selector: Selector, now: int, after: str | None) -> Step:
    """…"""
    raise NotImplementedError


async def keep_generation(tx: Tx, generation: Generation) -> None:
    """Keep a ruleset's text."""
    number = await tx.generation(generation.id)
    await tx.run(
        "UPDATE generations SET text = $1, context = $2, created_at = $3 "
        "WHERE n = $4 AND text IS NULL",
        generation.text,
        encode_json(generation.context),
        generation.created_at,
        number,
    )


async def remember(tx: Tx, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
    """Keep small values by name; None forgets."""
    await audit_log.note(tx, audit, len(facts))
    now = tx.db.clock.now()
    kept = [
        (name, msgspec.json.encode(value), now)
        for name, value in sorted(facts.items())
        if value is not None
    ]
    await tx.each(
        "INSERT INTO facts VALUES ($1, $2, $3) ON CONFLICT (name) "
        "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        kept,
    )
    forgotten = [name for name, value in facts.items() if value is None]
    await tx.run("DELETE FROM facts WHERE name = ANY($1)", forgotten)


async def count_rules(tx: Tx, counts: Sequence[RuleCount]) -> None:
    """Add to the rules' counts."""
    await tx.each(
        "INSERT INTO rule_counts AS kept (rule, evaluated, matched, errored, shadowed, "
        "counted_since, last_matched_at) VALUES ($1, $2, $3, $4, $5, $6, $7) "
        "ON CONFLICT (rule) DO UPDATE SET evaluated = kept.evaluated + excluded.evaluated, "
        "matched = kept.matched + excluded.matched, errored = kept.errored + excluded.errored, "
        "shadowed = kept.shadowed + excluded.shadowed, "
        "counted_since = least(kept.counted_since, excluded.counted_since), "
        "last_matched_at = greatest(kept.last_matched_at, excluded.last_matched_at)",
        [msgspec.structs.astuple(count) for count in sorted(counts, key=lambda one: one.rule)],
    )


async def beat(tx: Tx) -> None:
    """Write something, to prove that it can be written and that its commit reaches the disk."""
    await tx.run("UPDATE ledger SET schema = schema")
