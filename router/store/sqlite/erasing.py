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
from router.store.common.states import DEAD
from router.store.sqlite import audit_log, operations, pruning, runs
from router.store.sqlite.fragments import JOBS_OF, LISTED, PLACES, listed
from router.store.sqlite.redacting import overwriting
from router.store.sqlite.writer_state import Book
from router.store.values import EventEntry

_ASKED = f"""
    SELECT d.id, d.n, EXISTS (SELECT 1 FROM jobs j WHERE {JOBS_OF} AND j.state < {DEAD})
    FROM deliveries d WHERE d.id {LISTED}
"""
_NARROW = (
    "UPDATE jobs SET (covers, event_index, event_id, event) = (?, ?, ?, ?), reason = NULL "
    "WHERE n = ?"
)
_NUMBERS = {"jobs": "n"}


def erase(book: Book, step: ErasureStep, *, now: int) -> Erasure | None:
    """Take out what a step names and what has no open jobs, if the erasure stands there."""
    name = FACTS + step.after.id
    kept = book.one("SELECT value FROM facts WHERE name = ?", (name,))
    if not stands_at(kept, step.before):
        return None
    asked = listed([*step.whole, *[part.delivery.id for part in step.parts]])
    numbers, left = dict[str, int](), set[str]()
    for id_, n, is_open in book.db.execute(_ASKED, (asked,)).fetchall():
        numbers[id_] = n
        if is_open:
            left.add(id_)
        else:
            book.deliveries.forget(id_)
    counts = Counts()
    closed = {id_: n for id_, n in numbers.items() if id_ not in left}
    with overwriting(book):
        _whole(book, [closed[id_] for id_ in step.whole if id_ in closed], counts, now)
        for part in step.parts:
            number = closed.get(part.delivery.id)
            if number is not None and not _part(book, number, part, counts, now):
                left.add(part.delivery.id)
    after = advanced(step, left, counts)
    operations.remember(book, {name: msgspec.to_builtins(after)})
    audit_log.count_up(book, after.id, counts.deliveries + counts.parts)
    return after


def _whole(book: Book, numbers: Sequence[int], counts: Counts, now: int) -> None:
    events = f"SELECT events FROM deliveries WHERE n {LISTED}"
    for (blob,) in book.db.execute(events, (listed(numbers),)):
        counts.events += len(decode_events(blob))
    counts.deliveries += len(numbers)
    counts.jobs += pruning.remove(book, numbers, now)


def _part(book: Book, number: int, part: ErasedPart, counts: Counts, now: int) -> bool:
    """Take events out of a delivery; False: it is not what was read any more."""
    row = book.db.execute("SELECT meta, events FROM deliveries WHERE n = ?", (number,)).fetchone()
    if mark_of(row[0]) != part.before:
        return False
    entries, gone = kept_events(decode_events(row[1]), part.indexes)
    one = part.delivery
    book.db.execute(
        "UPDATE deliveries SET names = ?, events = ?, meta = ?, body = ? WHERE n = ?",
        (encode_names(entries), encode_entries(entries), encode_meta(one), one.body, number),
    )
    book.pages += 4 + len(one.body) // 4_096
    counts.parts += 1
    counts.events += gone
    counts.jobs += _narrow_jobs(book, number, part.indexes, entries, now)
    return True


def _narrow_jobs(
    book: Book, number: int, erased: frozenset[int], entries: Sequence[EventEntry], now: int
) -> int:
    """
    Jobs go with their events. Of one for a whole batch the other events stay, and what it put out
    is that of all.
    """
    span = (number * PLACES, number * PLACES + PLACES - 1)
    rows = book.db.execute("SELECT n, event_index, covers FROM jobs WHERE n BETWEEN ? AND ?", span)
    found = narrowed([JobEvents.of(*row) for row in rows.fetchall()], erased)
    gone = listed(found.gone)
    runs.at_once(runs.changes(book, now).forget("SELECT value FROM json_each(?)", (gone,)))
    book.db.execute(f"DELETE FROM attempts WHERE job {LISTED}", (gone,))
    book.db.execute(f"DELETE FROM jobs WHERE n {LISTED}", (gone,))
    by_index = {entry.index: entry for entry in entries}
    for job, covers in found.kept:
        first = by_index[covers[0]]
        values = (msgspec.json.encode(covers).decode(), first.index, first.id, first.name, job)
        book.db.execute(_NARROW, values)
        book.db.execute("UPDATE attempts SET reason = NULL, result = '{}' WHERE job = ?", (job,))
    book.pages += len(found.gone) + 2 * len(found.kept)
    return len(found.gone)


def blank(book: Book, texts: Sequence[str], after: str) -> str | None:
    """Search the next rows for texts that name somebody; where to go on, None: that was all."""
    table, reached = place_of(after)
    name, key, column = TEXTS[table]
    key = _NUMBERS.get(name, key)
    window = f"SELECT {key} FROM {name} WHERE {key} > ? ORDER BY {key} LIMIT {WINDOW}"
    begin = int(reached or -1)
    end = book.one(f"SELECT max({key}) FROM ({window})", (begin,))
    if end is not None:
        kind = "BLOB" if column == "asked" else "TEXT"
        with overwriting(book):
            for text in [as_stored(text, column) for text in texts]:
                book.pages += book.db.execute(
                    f"UPDATE {name} SET {column} = "
                    f"CAST(replace(CAST({column} AS TEXT), ?1, ?2) AS {kind}) "
                    f"WHERE {key} > ?3 AND {key} <= ?4 AND instr(CAST({column} AS TEXT), ?1)",
                    (text, ERASED, begin, end),
                ).rowcount
    return next_place(table, end)
