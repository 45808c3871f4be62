"""Questions about what all routers have committed."""

from asyncio import to_thread
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from router.errors import AmbiguousId
from router.model.delivery import DeliverySummary
from router.model.job import Attempt, Job, JobState
from router.model.operations import Cause
from router.model.target import TargetCounts
from router.store.common.columns import decode_events, decode_json, to_summary
from router.store.common.death_causes import EXAMPLES, cause, joined, key_of
from router.store.common.selection import PAGE, only
from router.store.common.states import DEAD, OUTCOME, STATES
from router.store.postgres import schema, selection
from router.store.postgres.database import Tx
from router.store.postgres.fragments import (
    ATTEMPT_COLUMNS,
    DELIVERY_COLUMNS,
    DUE,
    JOB_COLUMNS,
    JOBS_JOINED,
    first_of,
)
from router.store.postgres.rows import to_attempt, to_delivery, to_job
from router.store.postgres.texts import escape, unescape
from router.store.values import DeliveryRecord, Generation, NameKind, RuleCount, Selector, node_of


async def deliveries(tx: Tx, selector: Selector) -> tuple[DeliverySummary, ...]:
    """Newest first."""
    sql, asked = (await selection.of(tx, selector)).deliveries()
    rows = await tx.all(
        "SELECT d.id, d.endpoint, d.received_at, d.state, d.names, d.meta, octet_length(d.body), "
        f"c.count, c.last_seen_at FROM {first_of(sql)} "
        "LEFT JOIN copies c ON c.delivery = d.id ORDER BY d.id DESC",
        *asked,
        PAGE if selector.limit is None else selector.limit,
    )
    jobs: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
    for delivery, state, count in await tx.all(
        "SELECT j.delivery, coalesce(j.state, q.state), count(*) FROM jobs j "
        "LEFT JOIN queue q ON q.job = j.id WHERE j.delivery = ANY($1) GROUP BY 1, 2",
        [f"dlv_{id_}" for id_ in jobs],
    ):
        jobs[delivery][STATES[state]] = count
    return tuple([_summary(row, jobs[row[0]]) for row in rows])


def _summary(row: Sequence[Any], jobs: dict[str, int]) -> DeliverySummary:
    id_, endpoint, received_at, state, names, *rest = row
    values = (f"dlv_{id_}", endpoint, received_at, state, unescape(names), *rest)
    return to_summary(values, jobs)


async def delivery(tx: Tx, prefix: str) -> DeliveryRecord | None:
    """By id or unique prefix. Raises AmbiguousId: several, or too short."""
    sql, asked = selection.has_id("d.id", prefix, "dlv")
    found = await tx.all(f"SELECT d.id FROM deliveries d WHERE {sql} ORDER BY 1 LIMIT 2", *asked)
    if (id_ := only([f"dlv_{one}" for (one,) in found], prefix, "dlv")) is None:
        return None
    row = await tx.row(
        f"SELECT {DELIVERY_COLUMNS}, d.events, c.count, c.last_seen_at FROM deliveries d "
        "JOIN generations g ON g.n = d.generation LEFT JOIN copies c ON c.delivery = d.id "
        "WHERE d.id = $1",
        id_,
    )
    jobs = await jobs_where(tx, "j.delivery = ? ORDER BY j.id", id_)
    return DeliveryRecord(
        to_delivery(row[:7]),
        decode_events(row[7]),
        row[8] or 0,
        row[9],
        jobs,
        await _attempts(tx, [job.id for job in jobs]),
    )


async def _attempts(tx: Tx, jobs: list[str]) -> tuple[Attempt, ...]:
    rows = await tx.all(
        f"SELECT {ATTEMPT_COLUMNS} FROM attempts a JOIN generations g ON g.n = a.generation "
        "WHERE a.job = ANY($1) ORDER BY a.job, a.number",
        jobs,
    )
    return tuple([to_attempt(row) for row in rows])


async def jobs_where(tx: Tx, which: str, *values: Any) -> tuple[Job, ...]:
    """The jobs that an SQL condition chooses."""
    rows = await tx.all(f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} WHERE {which}", *values)
    return tuple([to_job(row) for row in rows])


async def jobs(tx: Tx, selector: Selector) -> tuple[Job, ...]:
    """Newest first."""
    sql, asked = (await selection.of(tx, selector)).jobs()
    limit = PAGE if selector.limit is None else selector.limit
    return await jobs_where(tx, f"{sql} ORDER BY j.id DESC LIMIT ?", *asked, limit)


async def job(tx: Tx, prefix: str) -> Job | None:
    """By id or unique prefix. Raises AmbiguousId: several, or too short."""
    sql, asked = selection.has_id("j.id", prefix, "job")
    rows = await tx.all(
        f"SELECT j.id, j.delivery FROM jobs j WHERE {sql} ORDER BY 1 LIMIT 2", *asked
    )
    if (id_ := only([f"job_{row[0]}" for row in rows], prefix, "job")) is None:
        return None
    delivery = f"dlv_{rows[0][1]}"
    return (await jobs_where(tx, "j.id = ? AND j.delivery = ?", id_, delivery))[0]


_REPLAYS_DEEP = 100
"""Replays of replays that are followed for a result."""


async def results(tx: Tx, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
    """The results of these actions of the job's run, or of the run that it replays."""
    run = await tx.one("SELECT run FROM queue WHERE job = $1", job) or await tx.one(
        "SELECT run FROM jobs WHERE id = $1", job
    )
    run = run and f"job_{run}"
    found: dict[str, Any] = {}
    for _ in range(_REPLAYS_DEEP):
        left = sorted(actions - found.keys())
        if run is None or not left:
            break
        row = await tx.row("SELECT delivery, origin FROM runs WHERE id = $1", run)
        if row is None:
            break  # retention has removed it
        delivery, origin = row
        members = await tx.all(
            "SELECT id, action FROM jobs WHERE delivery = $1 AND run = $2 AND action = ANY($3)",
            f"dlv_{delivery}",
            run,
            left,
        )
        found |= await _last_results(tx, {f"job_{id_}": action for id_, action in members})
        run = origin and f"job_{origin}"
    return found


async def _last_results(tx: Tx, actions: Mapping[str, str]) -> dict[str, Any]:
    """Of each of these jobs' actions, by the last attempt that ran: not cut off nor skipped."""
    rows = await tx.all(
        "SELECT job, result FROM attempts WHERE job = ANY($1) AND outcome NOT IN ($2, $3) "
        "ORDER BY job, number",
        list(actions),
        OUTCOME["interrupted"],
        OUTCOME["skipped"],
    )
    return {actions[f"job_{job}"]: decode_json(result) for job, result in rows}


async def counts(tx: Tx) -> Mapping[str, Mapping[JobState, int]]:
    """Jobs by rule and state."""
    found: dict[str, dict[JobState, int]] = {}
    for rule, state, count in await tx.all(
        "SELECT rule, state, count(*) FROM jobs WHERE state IS NOT NULL GROUP BY rule, state "
        "UNION ALL SELECT rule, state, count(*) FROM queue GROUP BY rule, state"
    ):
        found.setdefault(rule, {})[STATES[state]] = count
    return found


async def causes(tx: Tx, selector: Selector) -> tuple[Cause, ...]:
    """Dead jobs by cause, the latest first; those that died alike are counted by the database."""
    dead = msgspec.structs.replace(selector, state="dead")
    sql, asked = (await selection.of(tx, dead)).jobs()
    rows = await tx.all(
        "SELECT rule, action, target, reason, count(*), min(ended_at), max(ended_at), "
        f"(array_agg(id ORDER BY id DESC))[:{EXAMPLES}] FROM (SELECT j.* FROM {JOBS_JOINED} "
        f"WHERE {sql} ORDER BY j.id DESC LIMIT ?) dead GROUP BY 1, 2, 3, 4",
        *asked,
        selector.limit,
    )
    return await to_thread(_joined, rows)  # reasons that all differ take their time


def _joined(rows: Sequence[Any]) -> tuple[Cause, ...]:
    return joined(
        cause(*where, unescape(reason), count, first, last, tuple([f"job_{one}" for one in some]))
        for *where, reason, count, first, last, some in rows
    )


async def names(tx: Tx, kind: NameKind) -> tuple[str, ...]:
    """Of a rule also where only its counts are left."""
    if kind == "cause":
        return await to_thread(_keys, await selection.deaths(tx))
    sql = {
        "endpoint": "SELECT DISTINCT endpoint FROM deliveries ORDER BY 1",
        "rule": "SELECT rule FROM rule_generations UNION SELECT rule FROM rule_counts ORDER BY 1",
    }[kind]
    return tuple([name for (name,) in await tx.all(sql)])


def _keys(deaths: Sequence[selection.Death]) -> tuple[str, ...]:
    return tuple(sorted({key_of(*death) for death in deaths}))


async def rule_counts(tx: Tx) -> Mapping[str, RuleCount]:
    """What was counted, by rule."""
    rows = await tx.all(
        "SELECT rule, evaluated, matched, errored, shadowed, counted_since, last_matched_at "
        "FROM rule_counts ORDER BY rule"
    )
    return {row[0]: RuleCount(*row) for row in rows}


async def target_counts(tx: Tx) -> Mapping[str, TargetCounts]:
    """Open and dead jobs by target."""
    rows = await tx.all(
        f"SELECT target, state, count(*), min(due_at) FILTER (WHERE {DUE}) FROM queue "
        f"GROUP BY 1, 2 UNION ALL SELECT target, {DEAD}, count(*), NULL FROM jobs "
        f"WHERE state = {DEAD} GROUP BY 1"
    )
    found: dict[str, dict[str, int]] = {}
    for target, state, count, due_at in rows:
        values = found.setdefault(target, {})
        values[STATES[state]] = count
        if due_at is not None:
            values["oldest_due"] = min(due_at, values.get("oldest_due", due_at))
    return {target: TargetCounts(**values) for target, values in found.items()}


_EARLIEST = (
    f"(SELECT due_at FROM queue WHERE {DUE} AND queue.target = t.target "
    "AND replayed = {} ORDER BY due_at LIMIT 1)"
)
"""Of a target t, by the index of due jobs, in which those of replays are apart."""

_TARGETS = f"""
    WITH RECURSIVE t (target) AS (
        SELECT min(target) FROM queue WHERE {DUE}
        UNION ALL SELECT (SELECT min(target) FROM queue WHERE {DUE} AND target > t.target)
        FROM t WHERE t.target IS NOT NULL
    )
    SELECT target, least({_EARLIEST.format(False)}, {_EARLIEST.format(True)}) FROM t
    WHERE target IS NOT NULL
"""


async def targets(tx: Tx) -> Mapping[str, int]:
    """Every target with work to come, and its earliest due time: some index steps a target."""
    return dict(map(tuple, await tx.all(_TARGETS)))


async def generation(tx: Tx, prefix: str) -> Generation | None:
    """The kept generation with this id or unique prefix. Raises AmbiguousId: it fits several."""
    rows = await tx.all(
        "SELECT id, text, context, created_at FROM generations "
        "WHERE text IS NOT NULL AND starts_with(id, $1) ORDER BY id LIMIT 2",
        escape(prefix),
    )
    if not rows:
        return None
    if len(rows) > 1 and rows[0][0] != prefix:
        raise AmbiguousId(f"{prefix} fits several generations; write more of it")
    id_, text, context, created_at = rows[0]
    return Generation(id_, text, decode_json(context), created_at)


async def generations_with(tx: Tx, rule: str) -> tuple[str, ...]:
    """Ids of kept generations that jobs of this rule have named, newest first."""
    rows = await tx.all(
        "SELECT g.id FROM rule_generations r JOIN generations g ON g.n = r.generation "
        "WHERE r.rule = $1 AND g.text IS NOT NULL ORDER BY g.created_at DESC, g.n DESC",
        rule,
    )
    return tuple([row[0] for row in rows])


async def recall(tx: Tx, prefix: str) -> dict[str, Any]:
    """Remembered values by name."""
    rows = await tx.all(
        "SELECT name, value FROM facts WHERE starts_with(name, $1) ORDER BY name", prefix
    )
    return {name: msgspec.json.decode(value) for name, value in rows}


async def held_bytes(tx: Tx) -> int:
    """Bytes of our tables and their indexes; the database may hold others' too."""
    return int(
        await tx.one(
            "SELECT sum(pg_total_relation_size(part.relid)) FROM unnest($1::text[]) name, "
            "pg_partition_tree(name::regclass) part",
            list(schema.TABLES),
        )
    )


_UNDER = (
    f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} WHERE q.lease = ANY($1::text[]) "
    "AND split_part(q.lease, '/', 1) = ANY($2::text[]) ORDER BY j.id"
)


async def under(tx: Tx, leases: Collection[str]) -> tuple[Job, ...]:
    """The jobs that run under these leases, in the order of their ids."""
    rows = await tx.all(_UNDER, list(leases), list({node_of(lease) for lease in leases}))
    return tuple([to_job(row) for row in rows])
