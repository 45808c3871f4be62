"""The operator's verbs and the small writes: cancel, revive, generations, facts, counts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from router.model.activity import ActivityCount
from router.model.operations import Audit, Change
from router.store.common import activity
from router.store.common.columns import encode_json
from router.store.common.states import CANCELLED, DEAD, RUNNING, TURN_HALTED
from router.store.postgres import audit_log, replaying, runs, selection
from router.store.postgres.database import CONSIDERING, Tx
from router.store.postgres.fragments import JOBS_JOINED
from router.store.postgres.job_rows import reopen
from router.store.postgres.texts import escape
from router.store.values import (
    Generation,
    RuleCount,
    Selector,
)

STEP = 2_000
"""Jobs that one transaction of a verb changes, so that accepting need not wait for a million."""

Step = tuple[int, str | None]
"""How many jobs a step changed, and the id after which the next one goes on, if any."""


_CANCEL = f"""
    WITH gone AS (
        DELETE FROM queue WHERE job = ANY (ARRAY(
            SELECT job FROM queue WHERE job = ANY ($1) AND state < {RUNNING} ORDER BY job FOR UPDATE
        )) RETURNING *
    )
    UPDATE jobs j SET state = {CANCELLED}, ended_at = $2, reason = $3, due_at = g.due_at,
        attempt = g.attempt, charged = g.charged, deaths = g.deaths, started_at = g.started_at
    FROM gone g WHERE j.delivery = g.delivery AND j.id = g.job
"""
_CANCEL_HALTING = f"""
    UPDATE jobs SET state = {CANCELLED}, ended_at = $2, reason = $3
    WHERE delivery = ANY ($4) AND id = ANY ($1) AND state = {DEAD}
    AND run IN (SELECT id FROM runs WHERE id = ANY ($5) AND turn = {TURN_HALTED})
"""
_DEAD = f"""
    SELECT id FROM jobs WHERE delivery = ANY ($1) AND id = ANY ($2) AND state = {DEAD}
    ORDER BY id FOR UPDATE
"""
_REVIVE = """
    UPDATE jobs SET due_at = $3, charged = 0, deaths = 0
    WHERE delivery = ANY ($1) AND id = ANY ($2)
"""


class _Selected(NamedTuple):
    """Jobs that a verb is to change, their deliveries and runs, and where the next step goes on."""

    jobs: list[str]
    deliveries: list[str]
    runs: list[str]
    following: str | None


async def cancel(tx: Tx, *, selector: Selector, reason: str, now: int, after: str | None) -> Step:
    """Cancel jobs that are available, waiting or retryable: one step."""
    if selector.replay is not None and after is None:
        await replaying.stop(tx, selector.replay, now)
    of = await _select(tx, selector, "cancel", after)
    ended = (tx.db.wall(now), escape(reason))
    async with runs.changing(tx, now, runs=of.runs) as changes:
        changed = await tx.run(_CANCEL, of.jobs, *ended)
        if of.runs and (selector.ids or selector.state == "dead"):
            changed += await tx.run(_CANCEL_HALTING, of.jobs, *ended, of.deliveries, of.runs)
        for run in of.runs:
            await changes.follow(run)
    return changed, of.following


async def revive(tx: Tx, *, selector: Selector, now: int, after: str | None) -> Step:
    """Make dead jobs available again, but those that nobody can read: one step."""
    of = await _select(tx, selector, "revive", after)
    async with runs.changing(tx, now, runs=of.runs) as changes:
        dead = [f"job_{id_}" for (id_,) in await tx.all(_DEAD, of.deliveries, of.jobs)]
        await tx.run(_REVIVE, of.deliveries, dead, now)
        await reopen(tx, of.deliveries, dead)
        if of.runs:
            await changes.reopen(dead)
    return len(dead), of.following


async def _select(tx: Tx, selector: Selector, verb: Change, after: str | None) -> _Selected:
    """Everything at once if it is named or counted, else by steps that hold up nobody long."""
    considering = [f"SET LOCAL {name} = '{value}'" for name, value in CONSIDERING.items()]
    await tx.run("; ".join(considering))  # as a question: see QUESTIONS
    sql, values = (await selection.of(tx, selector)).changed(verb)
    whole = selector.limit is not None or bool(selector.ids)
    order, limit = ("DESC", selector.limit) if whole else ("ASC", STEP)
    if after is not None:
        sql, values = f"j.id > ? AND {sql}", [after, *values]
    found = await tx.all(
        f"SELECT j.id, j.delivery, j.run FROM {JOBS_JOINED} WHERE {sql} ORDER BY j.id {order} "
        "LIMIT ?",
        *values,
        limit,
    )
    jobs = [f"job_{id_}" for id_, _, _ in found]
    return _Selected(
        jobs,
        sorted({f"dlv_{delivery}" for _, delivery, _ in found}),
        sorted({f"job_{run}" for _, _, run in found if run is not None}),
        jobs[-1] if not whole and len(jobs) == STEP else None,
    )


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


async def count_activity(tx: Tx, counts: Sequence[ActivityCount]) -> None:
    """Add to what was counted of spans of time."""
    await tx.each(activity.ADD, activity.rows(counts))


async def beat(tx: Tx) -> None:
    """Write something, to prove that it can be written and that its commit reaches the disk."""
    await tx.run("UPDATE ledger SET schema = schema")
