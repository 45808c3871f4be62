"""Questions about what all routers have committed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from router.model.activity import HOUR_S, ActivityCount
from router.model.delivery import DeliverySummary
from router.model.job import Attempt, Job, JobState
from router.model.operations import Cause
from router.model.target import TargetCounts
from router.store.common.activity import BY_NAME, BY_SPAN, by_hour, to_activity
from router.store.common.answers import (
    GENERATIONS_WITH,
    NAMES,
    RULE_COUNTS,
    to_counts,
    to_generation,
    to_rule_counts,
    to_target_counts,
)
from router.store.common.columns import decode_events, decode_json, to_summary
from router.store.common.death_causes import EXAMPLES, cause, joined, key_of
from router.store.common.selection import limit_of, only
from router.store.common.states import DEAD, OUTCOME, STATES
from router.store.postgres import partitions, schema, selection
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
        "SELECT d.id, d.endpoint, d.received_at, d.state, d.events, d.meta, octet_length(d.body), "
        f"c.count, c.last_seen_at FROM {first_of(sql)} "
        "LEFT JOIN copies c ON c.delivery = d.id ORDER BY d.id DESC",
        *asked,
        limit_of(selector),
    )
    jobs: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
    for delivery, state, count in await tx.all(
        "SELECT j.delivery, coalesce(j.state, q.state), count(*) FROM jobs j "
        "LEFT JOIN queue q ON q.job = j.id WHERE j.delivery = ANY($1) GROUP BY 1, 2",
        [f"dlv_{id_}" for id_ in jobs],
    ):
        jobs[delivery][STATES[state]] = count
    return tuple([to_summary((f"dlv_{row[0]}", *row[1:]), jobs[row[0]]) for row in rows])


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
    return await jobs_where(tx, f"{sql} ORDER BY j.id DESC LIMIT ?", *asked, limit_of(selector))


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
    return to_counts(
        await tx.all(
            "SELECT rule, state, count(*) FROM jobs WHERE state IS NOT NULL GROUP BY rule, state "
            "UNION ALL SELECT rule, state, count(*) FROM queue GROUP BY rule, state"
        )
    )


async def dead_alike(tx: Tx, selector: Selector) -> Sequence[Any]:
    """Dead jobs with the same reason, as `causes` takes them."""
    dead = msgspec.structs.replace(selector, state="dead")
    sql, asked = (await selection.of(tx, dead)).jobs()
    return await tx.all(
        "SELECT rule, action, target, reason, count(*), min(ended_at), max(ended_at), "
        f"(array_agg(id ORDER BY id DESC))[:{EXAMPLES}] FROM (SELECT j.* FROM {JOBS_JOINED} "
        f"WHERE {sql} ORDER BY j.id DESC LIMIT ?) dead GROUP BY 1, 2, 3, 4",
        *asked,
        selector.limit,
    )


def causes(rows: Sequence[Any]) -> tuple[Cause, ...]:
    """Dead jobs by cause, the latest first."""
    return joined(
        cause(*where, unescape(reason), count, first, last, tuple([f"job_{one}" for one in some]))
        for *where, reason, count, first, last, some in rows
    )


async def names(tx: Tx, kind: NameKind) -> tuple[str, ...]:
    """Of a rule also where only its counts are left; none of causes: see `keys`."""
    return tuple([name for (name,) in await tx.all(NAMES[kind])])


def keys(deaths: Sequence[selection.Death]) -> tuple[str, ...]:
    """The names of the causes of these deaths."""
    return tuple(sorted({key_of(*death) for death in deaths}))


async def rule_counts(tx: Tx) -> Mapping[str, RuleCount]:
    """What was counted, by rule."""
    return to_rule_counts(await tx.all(RULE_COUNTS))


async def activity(tx: Tx, span_s: int, since: int) -> tuple[ActivityCount, ...]:
    """What was counted by spans of time, of all names."""
    return to_activity(span_s, await tx.all(BY_SPAN, span_s, since))


async def activity_by_name(tx: Tx, span_s: int, since: int) -> tuple[ActivityCount, ...]:
    """What was counted by name, in all such spans."""
    return to_activity(span_s, await tx.all(BY_NAME, span_s, since))


async def activity_by_hour(tx: Tx, since: int, names: Collection[str]) -> tuple[ActivityCount, ...]:
    """What was counted of these names by hours."""
    sql, values = by_hour(since, names)
    return to_activity(HOUR_S, await tx.all(sql, *values))


async def target_counts(tx: Tx) -> Mapping[str, TargetCounts]:
    """Open and dead jobs by target."""
    rows = await tx.all(
        f"SELECT target, state, count(*), min(due_at) FILTER (WHERE {DUE}) FROM queue "
        f"GROUP BY 1, 2 UNION ALL SELECT target, {DEAD}, count(*), NULL FROM jobs "
        f"WHERE state = {DEAD} GROUP BY 1"
    )
    return to_target_counts(rows)


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
    return to_generation(rows, prefix)


async def generations_with(tx: Tx, rule: str) -> tuple[str, ...]:
    """Ids of kept generations that jobs of this rule have named, newest first."""
    return tuple([id_ for (id_,) in await tx.all(GENERATIONS_WITH, rule)])


async def recall(tx: Tx, prefix: str) -> dict[str, Any]:
    """Remembered values by name."""
    rows = await tx.all(
        "SELECT name, value FROM facts WHERE starts_with(name, $1) ORDER BY name", prefix
    )
    return {name: msgspec.json.decode(value) for name, value in rows}


_TAKEN = """
    SELECT sum(pg_total_relation_size(part.relid))
    FROM unnest($1::text[]) name, pg_partition_tree(name::regclass) part
"""
_ROWS = "greatest(pg_stat_get_live_tuples({0}.oid), {0}.reltuples, 0)"
_FREE = f"""
    SELECT coalesce(sum(greatest(pg_table_size(c.oid)
        - {_ROWS.format("c")} * 1.2 * (28 + w.width) - coalesce({_ROWS.format("t")} * 2100, 0), 0
    )), 0)::bigint
    FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid CROSS JOIN LATERAL (
        SELECT sum(avg_width) AS width FROM pg_stats
        WHERE schemaname = c.relnamespace::regnamespace::text AND tablename = c.relname
    ) w WHERE c.oid = ANY ($1::text[]::regclass[])
"""
"""
About what is free in tables: their rows as they were counted last need less, and the server does
not give it back, but uses it again. What lies in chunks beside a table has up to 2 kB in each.
"""


async def held_bytes(tx: Tx) -> int:
    """
    Bytes of our tables and their indexes, less what retention has freed in those of which it
    removes single rows; the database may hold others' too.
    """
    kept = [f"{table}_kept" for table in partitions.DAYS]
    return int(await tx.one(_TAKEN, list(schema.TABLES)) - await tx.one(_FREE, kept))


_UNDER = (
    f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} WHERE q.lease = ANY($1::text[]) "
    "AND split_part(q.lease, '/', 1) = ANY($2::text[]) ORDER BY j.id"
)


async def under(tx: Tx, leases: Collection[str]) -> tuple[Job, ...]:
    """The jobs that run under these leases, in the order of their ids."""
    rows = await tx.all(_UNDER, list(leases), list({node_of(lease) for lease in leases}))
    return tuple([to_job(row) for row in rows])
