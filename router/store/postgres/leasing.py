"""Handing out due jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.kinds import KINDS, NUMBERED
from router.model.delivery import Delivery
from router.model.job import ActionKind, Work
from router.model.settings import DAY_MS
from router.store.common.damage import UNREADABLE, Damaged, damaged
from router.store.common.states import RUNNING
from router.store.postgres import partitions
from router.store.postgres.database import Database, Tx
from router.store.postgres.rows import to_delivery, to_job
from router.store.values import LeaseBatch

LEASED_BYTES = 32 * 1024 * 1024
"""Bodies handed out at once: past it the rest of the due jobs waits for the next call."""
RECENT_DAYS = 1
"""Before and after today: deliveries of other days are looked for when there are such."""
LOCKED_MS = 5
"""When to ask again for due jobs that another node holds just now: it may not take them all."""

_OPEN = "q.target = a.target AND q.lease IS NULL AND q.waits = 0"

_COLUMNS = f"""
    q.job, q.delivery, d.endpoint, j.event_index, j.event_id, j.event, j.rule, j.action, j.kind,
    q.target, {RUNNING} AS state, q.due_at, j.created_at, j.generation, q.attempt + 1 AS attempt,
    q.charged, q.deaths, $4::text AS lease, $5::bigint AS started_at, NULL::bigint AS ended_at,
    j.reason, j.replay_of, array_to_json(j.covers)::text AS covers, j.needs, q.waits,
    NULL::text AS turn, d.received_at, d.state AS delivery_state, d.generation AS routed_by,
    d.meta, d.body, coalesce(octet_length(d.body), 0) AS bytes, q.run, a.place,
    q.rank, coalesce(a.kind, j.kind) AS asked
"""
"""Those of JOB_COLUMNS as they will be, then what else is of the delivery."""
_JOB, _DELIVERY = slice(0, 26), slice(26, 31)
_JOB_ID, _DELIVERY_ID, _ENDPOINT, _TARGET, _DUE_AT, _GENERATION = 0, 1, 2, 9, 11, 13
_ROUTED_BY, _BYTES, _RUN = 28, 31, 32


_RECENT = "{0} >= $7::uuid AND {0} < $8::uuid"
"""Partitions of other days are left out when the statement begins: to look into all costs more."""
_OTHERS = f"FROM due WHERE NOT ({_RECENT.format('delivery')})"
_NEXT_DUES, _OTHER_DAYS, _KINDS = -3, -2, -1
_kinds = msgspec.json.Decoder(dict[str, int]).decode


def _lane(replayed: bool, besides: str) -> str:
    return (
        f"SELECT * FROM (SELECT q.* FROM queue q WHERE {_OPEN} AND q.replayed = {replayed} "
        f"AND q.due_at <= $3 {besides} ORDER BY q.due_at, q.job LIMIT a.slots "
        f"FOR UPDATE SKIP LOCKED) {'replayed' if replayed else 'first'}"
    )


# Not by the index of due jobs, of which there may be a million.
_NAMED = (
    "SELECT * FROM (SELECT q.* FROM queue q WHERE q.job = ANY($10::uuid[]) "
    "AND q.target = a.target AND coalesce(q.lease, '') = '' AND q.waits = 0 AND q.due_at <= $3 "
    "ORDER BY array_position($10::uuid[], q.job) LIMIT a.slots FOR UPDATE SKIP LOCKED) named "
    "UNION ALL "
)


def _next_due(replayed: bool) -> str:
    return (
        f"(SELECT q.due_at FROM queue q WHERE {_OPEN} AND q.replayed = {replayed} "
        "AND q.job NOT IN (SELECT job FROM fits) ORDER BY q.due_at LIMIT 1)"
    )


# The lanes of a target are locked one after the other, no more of them than is taken. What does
# not fit is not changed, so its lock ends with the statement. Nothing is joined that may be large:
# the planner would read all of it when it was small, or empty, when it was counted last. OFFSET 0
# keeps a look-up one.
def _statement(named: str, besides: str) -> str:
    return f"""
    WITH asked AS MATERIALIZED (
        SELECT * FROM unnest($1::text[], $2::integer[], $9::smallint[])
            WITH ORDINALITY a (target, slots, kind, place)
    ), due AS MATERIALIZED (
        SELECT {_COLUMNS}
        FROM asked a CROSS JOIN LATERAL (
            SELECT *, row_number() OVER () AS rank FROM (
                {named} {_lane(False, besides)} UNION ALL {_lane(True, besides)} LIMIT a.slots
            ) lanes
        ) q
        LEFT JOIN LATERAL (
            SELECT * FROM jobs WHERE id = q.job AND delivery = q.delivery
                AND {_RECENT.format("delivery")} OFFSET 0
        ) j ON true
        LEFT JOIN LATERAL (
            SELECT * FROM deliveries WHERE id = q.delivery AND {_RECENT.format("id")} OFFSET 0
        ) d ON true
    ), fits AS MATERIALIZED (
        SELECT * FROM (
            SELECT *, sum(bytes) OVER (ORDER BY place, rank ROWS UNBOUNDED PRECEDING) AS upto,
                bool_and(kind = asked) OVER (PARTITION BY place ORDER BY rank) AS of_kind
            FROM due
        ) placed WHERE of_kind AND upto - bytes < $6 AND NOT EXISTS (SELECT {_OTHERS})
    ), taken AS (
        UPDATE queue SET state = {RUNNING}, attempt = attempt + 1, lease = $4, started_at = $5
        WHERE job = ANY(ARRAY(SELECT job FROM fits))
    ), rest AS (
        SELECT array_agg(least({_next_due(False)}, {_next_due(True)}) ORDER BY a.place) AS due_at
        FROM asked a
    )
    SELECT t.*, CASE WHEN row_number() OVER () = 1 THEN rest.due_at END, (
        SELECT array_agg(delivery) {_OTHERS}
    ), (
        SELECT json_object_agg(target, kind) FROM (
            SELECT DISTINCT ON (place) target, kind FROM due WHERE kind <> asked
            ORDER BY place, rank
        ) others
    )::text FROM rest LEFT JOIN fits t ON true
    """


_LEASE = _statement("", "")
_LEASE_NAMED = _statement(_NAMED, "AND q.job <> ALL ($10::uuid[])")


async def lease(
    db: Database,
    slots: Mapping[str, int],
    *,
    lease: str,
    now: int,
    fresh: Mapping[str, Sequence[str]] = {},
    kinds: Mapping[str, ActionKind] = {},
) -> LeaseBatch:
    """
    Take due jobs of each target and record their attempts. They stay leased, and are found by their
    lease, if the answer is lost. Raises Damaged.
    """
    if not slots:
        return LeaseBatch((), {})
    named = [job for target in slots for job in fresh.get(target, ())]
    asked = list(slots), list(slots.values()), now, lease, db.wall(now), LEASED_BYTES
    numbers = [KINDS[kinds[target]].number if target in kinds else None for target in slots]
    rows, generations = await db.state(1, lambda tx: _take(tx, asked, numbers, named), db.dispatch)
    taken = [row for row in rows if row[_JOB_ID] is not None]
    taken.sort(key=lambda row: (row[_DUE_AT], row[_JOB_ID]))
    deliveries: dict[str, Delivery] = {}
    try:
        works = [(_work(row, generations, deliveries), row[_RUN]) for row in taken]
        others = _named_kinds(rows[0][_KINDS])
    except Damaged as error:
        db.damaged(str(error))
        raise
    db.running.update([(one.job.id, one.job.delivery) for one, run in works if run is None])
    next_due = _next_dues(dict(zip(slots, rows[0][_NEXT_DUES], strict=True)), slots, taken, now)
    return LeaseBatch(tuple([work for work, _ in works]), next_due, others)


def _named_kinds(text: bytes | None) -> dict[str, ActionKind]:
    """Kinds by target. Raises Damaged: a due job has none that there is."""
    try:
        return {target: NUMBERED[kind] for target, kind in _kinds(text or b"{}").items()}
    except KeyError as error:
        raise damaged("jobs", "?", f"kind {error}") from error


async def _take(
    tx: Tx, asked: Sequence[Any], kinds: Sequence[int | None], named: Sequence[str]
) -> tuple[Sequence[Any], Mapping[int, str]]:
    """
    The statement's rows, one at least, and generations by number. It takes nothing if there are
    jobs of other days among the due ones: then these days are recent.
    """
    while True:
        values = *asked, *_recent(tx.db), kinds
        rows = await tx.all(*((_LEASE_NAMED, *values, named) if named else (_LEASE, *values)))
        if (others := rows[0][_OTHER_DAYS]) is None:
            break
        _widen(tx.db, others)
    numbers = {row[place] for row in rows for place in (_GENERATION, _ROUTED_BY)}
    return rows, await tx.generation_ids(numbers - {None})


def _recent(db: Database) -> tuple[str, str]:
    """Ids between which those lie whose deliveries a lease looks for."""
    today = db.clock.now() // DAY_MS
    if db.recent_days[0] != today:
        db.recent_days = today, today - RECENT_DAYS, today + RECENT_DAYS
    _, first, last = db.recent_days
    return partitions.start(first * DAY_MS), partitions.start((last + 1) * DAY_MS)


def _widen(db: Database, others: Sequence[str]) -> None:
    """There are jobs of deliveries of other days: these days are recent too, until today ends."""
    today, first, last = db.recent_days
    days = [partitions.day_of(f"dlv_{other}") for other in others]
    db.recent_days = today, min(first, *days), max(last, *days)


def _work(row: Any, generations: Mapping[int, str], deliveries: dict[str, Delivery]) -> Work:
    values = list(row[_JOB])
    id_ = row[_DELIVERY_ID]
    try:
        values[_GENERATION] = generations[row[_GENERATION]]
        if (delivery := deliveries.get(id_)) is None:
            received_at, state, generation, meta, body = row[_DELIVERY]
            delivery = deliveries[id_] = to_delivery(
                (id_, row[_ENDPOINT], received_at, state, generations[generation], meta, body)
            )
    except UNREADABLE as error:
        raise damaged("jobs", f"job_{row[_JOB_ID]}", error) from error
    return Work(to_job(values), delivery, None)


def _next_dues(
    next_due: dict[str, int | None], slots: Mapping[str, int], taken: Sequence[Any], now: int
) -> dict[str, int | None]:
    """The same, but for those that had room for a due job and did not get it."""
    if sum([row[_BYTES] for row in taken]) >= LEASED_BYTES:
        return next_due
    counts = Counter([row[_TARGET] for row in taken])
    return {
        target: now + LOCKED_MS
        if due_at is not None and due_at <= now and counts[target] < slots[target]
        else due_at
        for target, due_at in next_due.items()
    }
