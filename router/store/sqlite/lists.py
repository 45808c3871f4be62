"""Lists, newest first."""

import sqlite3
from itertools import islice

from router.model.job import Attempt
from router.model.operations import Change, Planned
from router.store.common.columns import to_attempt
from router.store.common.lists import PLANNED_PARTS, PLANNED_SPAN, events_in, to_plan
from router.store.common.selection import limit_of
from router.store.common.states import STATES
from router.store.sqlite.fragments import DUE, HELD, JOBS_JOINED
from router.store.sqlite.selection import SqliteSelection
from router.store.values import EventEntry, ListedGeneration, Selector


def events(db: sqlite3.Connection, selector: Selector) -> tuple[EventEntry, ...]:
    """Events of the selected deliveries."""
    sql, asked = SqliteSelection(selector).deliveries()
    rows = db.execute(f"SELECT d.events FROM deliveries d WHERE {sql} ORDER BY d.id DESC", asked)
    found = (event for row in rows for event in events_in(row, selector.event))
    return tuple(islice(found, limit_of(selector)))


def attempts(db: sqlite3.Connection, selector: Selector) -> tuple[Attempt, ...]:
    """Ended attempts of the selected jobs, those of the newest job first."""
    sql, asked = SqliteSelection(selector).jobs()
    rows = db.execute(
        "SELECT j.id, a.number, a.started_at, a.ended_at, a.outcome, a.reason, a.result, g2.id "
        f"FROM {JOBS_JOINED} "
        "JOIN attempts a ON a.job = j.n JOIN generations g2 ON g2.n = a.generation "
        f"WHERE {sql} ORDER BY j.id DESC, a.number DESC LIMIT ?",
        [*asked, limit_of(selector)],
    )
    return tuple([to_attempt(row) for row in rows])


def generations(db: sqlite3.Connection, limit: int) -> tuple[ListedGeneration, ...]:
    """Kept generations, those that came last first."""
    rows = db.execute(
        "SELECT id, created_at, length(text) FROM generations WHERE text IS NOT NULL "
        "ORDER BY n DESC LIMIT ?",
        (limit,),
    )
    return tuple([ListedGeneration(*row) for row in rows])


def planned(db: sqlite3.Connection, selector: Selector, change: Change) -> Planned:
    """What a verb would change: the same jobs that it chooses."""
    sql, asked = SqliteSelection(selector).changed(change)
    if selector.limit is not None:
        sql, asked = f"{sql} ORDER BY j.id DESC LIMIT ?", [*asked, selector.limit]
    chosen = (
        "WITH chosen AS (SELECT j.rule, j.action, j.target, d.n AS delivery, d.received_at "
        f"FROM {JOBS_JOINED} WHERE {sql}) "
    )
    parts = db.execute(chosen + PLANNED_PARTS, asked).fetchall()
    span = db.execute(chosen + PLANNED_SPAN, asked).fetchone()
    passed = (0, None) if change == "cancel" else _passed(db, selector)
    return to_plan(parts, span, *passed)


def _passed(db: sqlite3.Connection, selector: Selector) -> tuple[int, str | None]:
    """How many dead jobs were made again since, and the newest job that did so."""
    sql, asked = SqliteSelection(selector).made_again()
    passed, earlier = db.execute(
        f"SELECT count(*), max((SELECT max(newer.id) {SqliteSelection.newer})) "
        f"FROM {JOBS_JOINED} WHERE {sql}",
        asked,
    ).fetchone()
    return passed, earlier


def open_states(db: sqlite3.Connection) -> dict[str, int]:
    """Jobs that have not ended, and dead ones, by state: what an index alone can count."""
    rows = db.execute(
        f"SELECT state, count(*) FROM jobs WHERE {DUE} GROUP BY state UNION ALL "
        f"SELECT state, count(*) FROM jobs WHERE {HELD} GROUP BY state"
    )
    return {STATES[state]: count for state, count in rows}
