"""Long lists, a page at a time: newest first, each page after where the last one ended."""

from router.model.job import Attempt
from router.model.operations import Change, Planned
from router.store.common.lists import PLANNED_PARTS, PLANNED_SPAN, events_in, to_plan
from router.store.common.selection import limit_of
from router.store.common.states import DEAD, STATES
from router.store.postgres import selection
from router.store.postgres.database import Tx
from router.store.postgres.fragments import ATTEMPT_COLUMNS, JOBS_JOINED, first_of
from router.store.postgres.rows import to_attempt
from router.store.postgres.selection import PostgresSelection
from router.store.values import EventEntry, ListedGeneration, Selector

AT_ONCE = 100
"""Deliveries read at once for their events: nobody knows how many are wanted."""


async def events(tx: Tx, selector: Selector) -> tuple[EventEntry, ...]:
    """Events of the selected deliveries."""
    sql, asked = (await selection.of(tx, selector)).deliveries()
    limit = limit_of(selector)
    found: list[EventEntry] = []
    below, reached = "<=", selection.HIGHEST
    while True:
        rows = await tx.all(
            "SELECT d.id, d.events "
            f"FROM {first_of(f'd.id {below} ? AND {sql}')} ORDER BY d.id DESC",
            reached,
            *asked,
            AT_ONCE,
        )
        for row in rows:
            found += events_in(row, selector.event)
        if len(found) >= limit or len(rows) < AT_ONCE:
            return tuple(found[:limit])
        below, reached = "<", f"dlv_{rows[-1][0]}"


async def attempts(tx: Tx, selector: Selector) -> tuple[Attempt, ...]:
    """Ended attempts of the selected jobs, those of the newest job first."""
    sql, asked = (await selection.of(tx, selector)).jobs()
    rows = await tx.all(
        f"SELECT {ATTEMPT_COLUMNS} FROM jobs j "
        "LEFT JOIN queue q ON q.job = j.id JOIN deliveries d ON d.id = j.delivery "
        "JOIN attempts a ON a.job = j.id JOIN generations g ON g.n = a.generation "
        f"WHERE {sql} ORDER BY j.id DESC, a.number DESC LIMIT ?",
        *asked,
        limit_of(selector),
    )
    return tuple([to_attempt(row) for row in rows])


async def generations(tx: Tx, limit: int) -> tuple[ListedGeneration, ...]:
    """Kept generations, those that came last first."""
    rows = await tx.all(
        "SELECT id, created_at, length(text) FROM generations WHERE text IS NOT NULL "
        "ORDER BY n DESC LIMIT $1",
        limit,
    )
    return tuple([ListedGeneration(*row) for row in rows])


async def planned(tx: Tx, selector: Selector, change: Change) -> Planned:
    """What a verb would change: the same jobs that it chooses."""
    selected = await selection.of(tx, selector)
    sql, asked = selected.changed(change)
    if selector.limit is not None:
        sql, asked = f"{sql} ORDER BY j.id DESC LIMIT ?", [*asked, selector.limit]
    chosen = (
        "WITH chosen AS (SELECT j.rule, j.action, j.target, j.delivery, d.received_at "
        f"FROM {JOBS_JOINED} WHERE {sql}) "
    )
    parts = await tx.all(chosen + PLANNED_PARTS, *asked)
    span = await tx.row(chosen + PLANNED_SPAN, *asked)
    passed = (0, None) if change == "cancel" else await _passed(tx, selected)
    return to_plan(parts, span, *passed)


async def _passed(tx: Tx, selected: PostgresSelection) -> tuple[int, str | None]:
    """How many dead jobs were made again since, and the newest job that did so."""
    sql, asked = selected.made_again()
    passed, earlier = await tx.row(
        f"SELECT count(*), max((SELECT newer.id::text {selected.newer} ORDER BY newer.id DESC "
        f'LIMIT 1) COLLATE "C")::uuid FROM {JOBS_JOINED} WHERE {sql}',
        *asked,
    )
    return passed, earlier and f"job_{earlier}"


async def open_states(tx: Tx) -> dict[str, int]:
    """Jobs that have not ended, and dead ones, by state."""
    rows = await tx.all(
        "SELECT state, count(*) FROM queue GROUP BY state UNION ALL "
        f"SELECT {DEAD}, count(*) FROM jobs WHERE state = {DEAD}"
    )
    return {STATES[state]: count for state, count in rows if count}
