"""Long lists, a page at a time: newest first, each page after where the last one ended."""

from collections.abc import Collection, Set

from router.model.job import Attempt, Job
from router.model.operations import Change, Planned
from router.model.settings import DAY_MS
from router.store.common.lists import PLANNED_PARTS, PLANNED_SPAN, events_in, place, to_plan
from router.store.common.selection import limit_of
from router.store.common.states import DEAD, STATES
from router.store.postgres import selection
from router.store.postgres.database import Tx
from router.store.postgres.fragments import ATTEMPT_COLUMNS, JOBS_JOINED, first_of
from router.store.postgres.reading import jobs_where
from router.store.postgres.rows import to_attempt
from router.store.postgres.selection import PostgresSelection
from router.store.postgres.texts import escape
from router.store.values import ListedAttempt, ListedEvent, ListedGeneration, Selector

DAYS = 3
"""An attempt of a job that is older is not told to who follows other nodes."""
AT_ONCE = 100
"""Deliveries read at once for their events: nobody knows how many are wanted."""


async def events(tx: Tx, selector: Selector, after: str | None = None) -> tuple[ListedEvent, ...]:
    """Events of the selected deliveries."""
    sql, asked = (await selection.of(tx, selector)).deliveries()
    last = ("", -1) if after is None else place(after)
    limit = limit_of(selector)
    found: list[ListedEvent] = []
    below, reached = "<=", selection.HIGHEST if after is None else selection.place(last[0])
    while True:
        rows = await tx.all(
            "SELECT d.id, d.endpoint, d.received_at, d.events "
            f"FROM {first_of(f'd.id {below} ? AND {sql}')} ORDER BY d.id DESC",
            reached,
            *asked,
            AT_ONCE,
        )
        for id_, *row in rows:
            found += events_in((f"dlv_{id_}", *row), last, selector.event)
        if len(found) >= limit or len(rows) < AT_ONCE:
            return tuple(found[:limit])
        below, reached = "<", f"dlv_{rows[-1][0]}"


async def attempts(
    tx: Tx, selector: Selector, after: str | None = None
) -> tuple[ListedAttempt, ...]:
    """Ended attempts of the selected jobs, those of the newest job first."""
    sql, asked = (await selection.of(tx, selector)).jobs()
    if after is not None:
        job, number = place(after)
        job = selection.place(job)
        sql = f"j.id <= ? AND (j.id, a.number) < (?, ?::bigint) AND {sql}"
        asked = [job, job, number, *asked]
    rows = await tx.all(
        f"SELECT {ATTEMPT_COLUMNS}, d.id, j.rule, j.action, d.endpoint FROM jobs j "
        "LEFT JOIN queue q ON q.job = j.id JOIN deliveries d ON d.id = j.delivery "
        "JOIN attempts a ON a.job = j.id JOIN generations g ON g.n = a.generation "
        f"WHERE {sql} ORDER BY j.id DESC, a.number DESC LIMIT ?",
        *asked,
        limit_of(selector),
    )
    return tuple(
        [
            ListedAttempt(to_attempt(attempt), f"dlv_{delivery}", rule, action, endpoint)
            for *attempt, delivery, rule, action, endpoint in rows
        ]
    )


async def ended_elsewhere(
    tx: Tx, since: int, here: Collection[str], limit: int
) -> tuple[tuple[Job, Attempt], ...]:
    """
    Attempts under leases of other nodes that ended since then, with their jobs, latest first: of
    jobs that were made within DAYS, so that few days are looked into.
    """
    rows = await tx.all(
        f"SELECT {ATTEMPT_COLUMNS} FROM attempts a JOIN generations g ON g.n = a.generation "
        "WHERE a.ended_at >= $1 AND a.job >= $2 AND NOT split_part(a.lease, '/', 1) = ANY($3) "
        "ORDER BY a.ended_at DESC LIMIT $4",
        since,
        selection.lowest(since - DAYS * DAY_MS),
        list(here),
        limit,
    )
    attempts = [to_attempt(row) for row in rows]
    jobs = await _jobs(tx, {attempt.job for attempt in attempts}, since - DAY_MS)
    return tuple([(jobs[one.job], one) for one in attempts if one.job in jobs])


async def _jobs(tx: Tx, ids: Set[str], since: int) -> dict[str, Job]:
    """
    By id. Most are of deliveries since then: of few days, so that is asked first.
    """
    found: dict[str, Job] = {}
    for lowest in (selection.lowest(since), selection.LOWEST):
        if left := sorted(ids - found.keys()):
            which = "j.delivery >= ? AND d.id >= ? AND j.id = ANY(?)"
            found |= {job.id: job for job in await jobs_where(tx, which, lowest, lowest, left)}
    return found


async def generations(tx: Tx, limit: int, after: str | None = None) -> tuple[ListedGeneration, ...]:
    """Kept generations, those that came last first."""
    rows = await tx.all(
        "SELECT id, created_at, length(text) FROM generations WHERE text IS NOT NULL "
        "AND ($1::text IS NULL OR n < (SELECT n FROM generations WHERE id = $1)) "
        "ORDER BY n DESC LIMIT $2",
        escape(after),
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
