"""Questions a reading connection answers, each in one short transaction."""

import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from router.model.activity import HOUR_S, ActivityCount
from router.model.delivery import DeliverySummary
from router.model.job import Job, JobState
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
from router.store.common.columns import (
    decode_events,
    decode_json,
    to_attempt,
    to_delivery,
    to_summary,
)
from router.store.common.damage import UNREADABLE, damaged
from router.store.common.death_causes import by_cause
from router.store.common.selection import limit_of, only
from router.store.common.states import OUTCOME, STATES
from router.store.sqlite import damage
from router.store.sqlite.fragments import (
    DELIVERY_COLUMNS,
    DUE,
    HELD,
    JOB_COLUMNS,
    JOBS_JOINED,
    JOBS_OF,
    LISTED,
    OFFSET,
    PLACES,
    listed,
    state_is,
)
from router.store.sqlite.paging import history_of, jobs_where
from router.store.sqlite.selection import SqliteSelection, has_id
from router.store.values import DeliveryRecord, Generation, NameKind, RuleCount, Selector, node_of


def deliveries(db: sqlite3.Connection, selector: Selector) -> tuple[DeliverySummary, ...]:
    """Newest first."""
    sql, asked = SqliteSelection(selector).deliveries()
    rows = db.execute(
        "SELECT d.n, d.id, d.endpoint, d.received_at, d.state, d.events, d.meta, length(d.body), "
        "c.count, c.last_seen_at FROM (SELECT d.n FROM deliveries d "
        f"WHERE {sql} ORDER BY d.id DESC LIMIT ?) chosen "
        "JOIN deliveries d ON d.n = chosen.n LEFT JOIN copies c ON c.delivery = d.n "
        "ORDER BY d.id DESC",
        [*asked, limit_of(selector)],
    ).fetchall()
    jobs: dict[int, dict[str, int]] = {row[0]: {} for row in rows}
    for number, state, count in db.execute(
        "SELECT d.n, j.state, count(*) FROM (SELECT value AS n FROM json_each(?)) d "
        f"JOIN jobs j ON {JOBS_OF} GROUP BY d.n, j.state",
        (listed(jobs),),
    ):
        jobs[number][STATES[state]] = count
    return tuple([to_summary(row[1:], jobs[row[0]]) for row in rows])


def delivery(db: sqlite3.Connection, prefix: str) -> DeliveryRecord | None:
    """By id or unique prefix. Raises AmbiguousId: several, or too short."""
    if (number := _found(db, "deliveries", prefix, "dlv")) is None:
        return None
    row = db.execute(
        f"SELECT {DELIVERY_COLUMNS}, d.events, c.count, c.last_seen_at FROM deliveries d "
        "JOIN generations g ON g.n = d.generation LEFT JOIN copies c ON c.delivery = d.n "
        "WHERE d.n = ?",
        (number,),
    ).fetchone()
    attempts = db.execute(
        "SELECT j.id, a.number, a.started_at, a.ended_at, a.outcome, a.reason, a.result, g.id "
        "FROM attempts a JOIN jobs j ON j.n = a.job JOIN generations g ON g.n = a.generation "
        "WHERE a.job BETWEEN ? AND ? ORDER BY a.job, a.number",
        (number * PLACES, number * PLACES + PLACES - 1),
    )
    return DeliveryRecord(
        to_delivery(row[:7]),
        decode_events(row[7]),
        row[8] or 0,
        row[9],
        history_of(db, number),
        tuple([to_attempt(r) for r in attempts]),
    )


def jobs(db: sqlite3.Connection, selector: Selector) -> tuple[Job, ...]:
    """Newest first."""
    sql, asked = SqliteSelection(selector).jobs()
    return jobs_where(db, f"{sql} ORDER BY j.id DESC LIMIT ?", [*asked, limit_of(selector)])


def running(db: sqlite3.Connection) -> list[int]:
    """The numbers of the running jobs."""
    return [n for (n,) in db.execute(f"SELECT n FROM jobs WHERE {state_is('running')}").fetchall()]


def holders(db: sqlite3.Connection) -> list[tuple[int, str]]:
    """Each running job's number, and the node that holds it."""
    rows = db.execute(f"SELECT n, lease FROM jobs WHERE {state_is('running')} ORDER BY id")
    return [(n, node_of(lease)) for n, lease in rows.fetchall()]


def under(db: sqlite3.Connection, leases: Collection[str]) -> tuple[Job, ...]:
    """The jobs that run under these leases, in the order of their ids."""
    which = f"{state_is('running', 'j.')} AND j.lease {LISTED} ORDER BY j.id"
    return jobs_where(db, which, [listed(leases)], JOB_COLUMNS)


def job(db: sqlite3.Connection, prefix: str) -> Job | None:
    """By id or unique prefix. Raises AmbiguousId: several, or too short."""
    number = _found(db, "jobs", prefix, "job")
    return None if number is None else jobs_where(db, "j.n = ?", [number])[0]


_REPLAYS_DEEP = 100
"""Replays of replays that are followed for a result."""


def results(db: sqlite3.Connection, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
    """The results of these actions of the job's run, or of the run that it replays."""
    (number,) = db.execute("SELECT run FROM jobs WHERE id = ?", (job,)).fetchone() or (None,)
    found: dict[str, Any] = {}
    for _ in range(_REPLAYS_DEEP):
        if number is None or not actions - found.keys():
            break
        first, last, number = db.execute(
            "SELECT first_job, last_job, origin FROM runs WHERE n = ?", (number,)
        ).fetchone()
        # Of each action the last attempt that ran: neither interrupted nor skipped.
        left = listed(sorted(actions - found.keys()))
        rows = db.execute(
            "SELECT j.action, a.result FROM jobs j JOIN attempts a ON a.job = j.n "
            "WHERE j.n BETWEEN ? AND ? AND a.outcome NOT IN (?, ?) "
            f"AND j.action {LISTED} ORDER BY j.n, a.number",
            (first, last, OUTCOME["interrupted"], OUTCOME["skipped"], left),
        )
        found |= {action: decode_json(result) for action, result in rows}
    return found


def counts(db: sqlite3.Connection) -> Mapping[str, Mapping[JobState, int]]:
    """Jobs by rule and state."""
    return to_counts(db.execute("SELECT rule, state, count(*) FROM jobs GROUP BY rule, state"))


def causes(db: sqlite3.Connection, selector: Selector) -> tuple[Cause, ...]:
    """Dead jobs by cause, the latest first."""
    sql, asked = SqliteSelection(msgspec.structs.replace(selector, state="dead")).jobs()
    return by_cause(
        db.execute(
            "SELECT j.rule, j.action, j.target, j.reason, j.id, j.ended_at "
            f"FROM {JOBS_JOINED} WHERE {sql} ORDER BY j.id DESC LIMIT ?",
            [*asked, -1 if selector.limit is None else selector.limit],
        )
    )


def names(db: sqlite3.Connection, kind: NameKind) -> tuple[str, ...]:
    """Of a rule also where only its counts are left."""
    if kind == "cause":
        return tuple(sorted([cause.key for cause in causes(db, Selector())]))
    return tuple([name for (name,) in db.execute(NAMES[kind])])


def rule_counts(db: sqlite3.Connection) -> Mapping[str, RuleCount]:
    """What was counted, by rule."""
    return to_rule_counts(db.execute(RULE_COUNTS))


def activity(db: sqlite3.Connection, span_s: int, since: int) -> tuple[ActivityCount, ...]:
    """What was counted by spans of time, of all names."""
    return to_activity(span_s, db.execute(BY_SPAN, (span_s, since)))


def activity_by_name(db: sqlite3.Connection, span_s: int, since: int) -> tuple[ActivityCount, ...]:
    """What was counted by name, in all such spans."""
    return to_activity(span_s, db.execute(BY_NAME, (span_s, since)))


def activity_by_hour(
    db: sqlite3.Connection, since: int, names: Collection[str]
) -> tuple[ActivityCount, ...]:
    """What was counted of these names by hours."""
    return to_activity(HOUR_S, db.execute(*by_hour(since, names)))


def target_counts(db: sqlite3.Connection) -> Mapping[str, TargetCounts]:
    """Open and dead jobs by target."""
    rows = db.execute(
        f"SELECT target, state, count(*), min(due_at) + {OFFSET} FROM jobs "
        f"WHERE {DUE} GROUP BY 1, 2 UNION ALL SELECT target, state, count(*), NULL FROM jobs "
        f"WHERE {HELD} GROUP BY 1, 2"
    )
    return to_target_counts(rows)


def targets(db: sqlite3.Connection) -> Mapping[str, int]:
    """Every target with work to come, and its earliest due time: one index step a target."""
    with damage.reading(db, lambda: [n for (n,) in db.execute(_DUE_NUMBERS)]):
        rows = db.execute(
            "WITH RECURSIVE t (target) AS ("
            f"SELECT min(target) FROM jobs WHERE {DUE} UNION ALL "
            f"SELECT (SELECT min(target) FROM jobs WHERE {DUE} AND target > t.target) FROM t "
            "WHERE t.target IS NOT NULL) "
            f"SELECT target, {_earliest(0)}, {_earliest(1)} FROM t WHERE target IS NOT NULL"
        )
        return {
            target: min(due for due in (fresh, again) if due is not None)
            for target, fresh, again in rows
        }


_DUE_NUMBERS = f"SELECT n FROM jobs WHERE {DUE}"


def _earliest(replayed: int) -> str:
    """Of a target t, by the index of due jobs, in which those of replays are apart."""
    return (
        f"(SELECT due_at FROM jobs WHERE {DUE} AND jobs.target = t.target "
        f"AND (replay IS NOT NULL) = {replayed} ORDER BY due_at LIMIT 1)"
    )


def generation(db: sqlite3.Connection, prefix: str) -> Generation | None:
    """The kept generation with this id or unique prefix. Raises AmbiguousId: it fits several."""
    rows = db.execute(
        "SELECT id, text, context, created_at FROM generations "
        "WHERE text IS NOT NULL AND id >= ? AND id < ? ORDER BY id LIMIT 2",
        (prefix, prefix + "\U0010ffff"),
    ).fetchall()
    return to_generation(rows, prefix)


def generations_with(db: sqlite3.Connection, rule: str) -> tuple[str, ...]:
    """Ids of kept generations that jobs of this rule have named, newest first."""
    return tuple([id_ for (id_,) in db.execute(GENERATIONS_WITH, (rule,))])


def held_bytes(db: sqlite3.Connection) -> int:
    """Bytes of the main file that hold something: pages freed by retention are used again."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _found(db: sqlite3.Connection, table: str, prefix: str, kind: str) -> int | None:
    sql, asked = has_id("id", prefix, kind)
    several = f"SELECT id, n FROM {table} WHERE {sql} ORDER BY id LIMIT 2"
    numbers = dict(db.execute(several, asked).fetchall())
    id_ = only(list(numbers), prefix, kind)
    return None if id_ is None else int(numbers[id_])


def recall(db: sqlite3.Connection, prefix: str) -> dict[str, Any]:
    """Remembered values by name. Raises Damaged."""
    rows = db.execute(
        "SELECT name, value FROM facts WHERE substr(name, 1, ?) = ? ORDER BY name",
        (len(prefix), prefix),
    )
    return {name: _fact(name, value) for name, value in rows}


def _fact(name: str, value: Any) -> Any:
    if isinstance(value, int):
        return value  # a time, which SQL compares
    try:
        return msgspec.json.decode(value)
    except UNREADABLE as error:
        raise damaged("facts", name, error) from error
