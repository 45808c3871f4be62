"""An erasure in the ledger: each step takes out some deliveries, or events of them."""

from collections.abc import Sequence

import msgspec

from router.model.erasure import ERASED, ErasedPart, Erasure, ErasureStep
from router.store.common.columns import (
    decode_events,
    encode_entries,
    encode_meta,
    encode_names,
    mark_of,
)
from router.store.common.erasing import (
    FACTS,
    TEXTS,
    WINDOW,
    Counts,
    JobEvents,
    advanced,
    as_stored,
    kept_events,
    narrowed,
    next_place,
    place_of,
    stands_at,
)
from router.store.common.run_changes import RunChanges
from router.store.postgres import audit_log, operations
from router.store.postgres.database import Tx
from router.store.postgres.single_removal import locked, take_out
from router.store.postgres.texts import escape
from router.store.values import EventEntry

_ASKED = """
    SELECT d.id, EXISTS (SELECT FROM jobs j WHERE j.delivery = d.id AND j.state IS NULL)
    FROM deliveries d WHERE d.id = ANY ($1)
"""
_NARROW = """
    UPDATE jobs SET covers = $3, event_index = $4, event_id = $5, event = $6, reason = NULL
    WHERE delivery = $1 AND id = $2
"""
_REPLACED = {
    "reason": ("reason", "replace(reason, $2, $3)"),
    "asked": (
        "convert_from(asked, 'UTF8')",
        "convert_to(replace(convert_from(asked, 'UTF8'), $2, $3), 'UTF8')",
    ),
}
"""Each column as text, and what it becomes."""


async def erase(tx: Tx, step: ErasureStep, *, now: int) -> Erasure | None:
    """Take out what a step names and what has no open jobs, if the erasure stands there."""
    name = FACTS + step.after.id
    kept = await tx.one("SELECT value FROM facts WHERE name = $1 FOR UPDATE", name)
    if not stands_at(kept, step.before):
        return None
    asked = sorted([*step.whole, *[part.delivery.id for part in step.parts]])
    counts, left = Counts(), set[str]()
    async with locked(tx, asked, now) as changes:
        rows = await tx.all(_ASKED, asked)
        closed = {f"dlv_{id_}" for id_, is_open in rows if not is_open}
        left |= {f"dlv_{id_}" for id_, is_open in rows if is_open}
        await _whole(tx, changes, [id_ for id_ in step.whole if id_ in closed], counts)
        for part in step.parts:
            if part.delivery.id in closed and not await _part(tx, changes, part, counts):
                left.add(part.delivery.id)
    after = advanced(step, left, counts)
    await operations.remember(tx, {name: msgspec.to_builtins(after)})
    await audit_log.count_up(tx, after.id, counts.deliveries + counts.parts)
    return after


async def _whole(tx: Tx, changes: RunChanges, ids: Sequence[str], counts: Counts) -> None:
    for (blob,) in await tx.all("SELECT events FROM deliveries WHERE id = ANY ($1)", ids):
        counts.events += len(decode_events(blob))
    counts.deliveries += len(ids)
    counts.jobs += await take_out(tx, changes, ids)


async def _part(tx: Tx, changes: RunChanges, part: ErasedPart, counts: Counts) -> bool:
    """Take events out of a delivery; False: it is not what was read any more."""
    one = part.delivery
    meta, events = await tx.row("SELECT meta, events FROM deliveries WHERE id = $1", one.id)
    if mark_of(meta) != part.before:
        return False
    entries, gone = kept_events(decode_events(events), part.indexes)
    await tx.run(
        "UPDATE deliveries SET names = $2, events = $3, meta = $4, body = $5 WHERE id = $1",
        one.id,
        escape(encode_names(entries)),
        encode_entries(entries),
        encode_meta(one),
        one.body,
    )
    counts.parts += 1
    counts.events += gone
    counts.jobs += await _narrow_jobs(tx, changes, part, entries)
    return True


async def _narrow_jobs(
    tx: Tx, changes: RunChanges, part: ErasedPart, entries: Sequence[EventEntry]
) -> int:
    """
    Jobs go with their events. Of one for a whole batch the other events stay, and what it put out
    is that of all.
    """
    delivery = part.delivery.id
    of = "SELECT id, event_index, array_to_json(covers)::text FROM jobs WHERE delivery = $1"
    rows = await tx.all(of, delivery)
    found = narrowed([JobEvents.of(f"job_{id_}", *row) for id_, *row in rows], part.indexes)
    linked = "SELECT DISTINCT run FROM jobs WHERE delivery = $1 AND id = ANY ($2)"
    ended = [f"job_{run}" for (run,) in await tx.all(linked, delivery, found.gone) if run]
    await changes.forget("r.id = ANY ($1)", [ended])
    await tx.run("DELETE FROM attempts WHERE job = ANY ($1)", found.gone)
    await tx.run("DELETE FROM jobs WHERE delivery = $1 AND id = ANY ($2)", delivery, found.gone)
    by_index = {entry.index: entry for entry in entries}
    for job, covers in found.kept:
        first = by_index[covers[0]]
        place = (first.index, first.id, escape(first.name))
        await tx.run(_NARROW, delivery, job, list(covers), *place)
        await tx.run("UPDATE attempts SET reason = NULL, result = '{}' WHERE job = $1", job)
    return len(found.gone)


async def blank(tx: Tx, texts: Sequence[str], after: str) -> str | None:
    """Search the next rows for texts that name somebody; where to go on, None: that was all."""
    table, reached = place_of(after)
    name, key, column = TEXTS[table]
    begin, first = None, "$1::text IS NULL"
    if reached:
        begin, first = _key(name, reached), f"{key} > $1"
    window = f"SELECT {key} FROM {name} WHERE {first} ORDER BY {key} LIMIT {WINDOW}"
    end = await tx.one(f"SELECT {key} FROM ({window}) w ORDER BY {key} DESC LIMIT 1", begin)
    if end is not None:
        old, new = _REPLACED[column]
        for text in [escape(as_stored(text, column)) for text in texts]:
            sql = f"{first} AND {key} <= $4 AND strpos({old}, $2) > 0"
            values = (begin, text, ERASED, _key(name, end))
            await tx.run(f"UPDATE {name} SET {column} = {new} WHERE {sql}", *values)
    return next_place(table, end)


def _key(table: str, key: object) -> object:
    """A key as the database takes it."""
    return int(str(key)) if table in ("audit", "replays") else f"job_{key}"
