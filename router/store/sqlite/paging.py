"""Whole deliveries read in pages, for whoever must look into them: bounded in rows and bytes."""

import sqlite3
from itertools import groupby
from typing import Any

import msgspec

from router.model.job import Job
from router.store.sqlite import selection
from router.store.sqlite.fragments import (
    DELIVERY_COLUMNS,
    JOBS_JOINED,
    PLACE_BITS,
    PLACES,
    SHOWN_JOB_COLUMNS,
)
from router.store.sqlite.rows import decode_events, to_delivery, to_job
from router.store.sqlite.selection import Condition
from router.store.values import Page, Selector, Stored

ROWS = 200
BYTES = 8 * 1024 * 1024
"""Bodies in a page; one larger body is a page by itself."""

Key = tuple[str, int, tuple[int, ...]]
"""Where the next page goes on after this one, the delivery's number, numbers of its jobs."""


def page(
    db: sqlite3.Connection,
    selector: Selector,
    *,
    jobs: bool,
    newest: bool = False,
    after: str | None = None,
    whole: bool = False,
) -> Page:
    """Some of the selected deliveries or jobs, in order."""
    if not jobs:
        keys, more = _deliveries(db, selector, newest, after)
    elif newest:
        keys, more = _jobs_newest_first(db, selection.jobs(selector, whole=whole), after)
    else:
        keys, more = _jobs_by_delivery(db, selection.jobs(selector, whole=whole), after)
    found: list[Stored] = []
    room = BYTES
    reached: str | None = None
    for key in keys:
        if room <= 0:
            return Page(tuple(found), reached)
        stored = _load(db, key, whole=whole)
        room -= len(stored.delivery.body) + 4096
        reached = key[0]
        found.append(stored)
    return Page(tuple(found), reached if more else None)


def _deliveries(
    db: sqlite3.Connection, selector: Selector, newest: bool, after: str | None
) -> tuple[list[Key], bool]:
    sql, asked = selection.deliveries(selector)
    if after is not None:
        sql, asked = f"d.id {'<' if newest else '>'} ? AND {sql}", [after, *asked]
    rows = db.execute(
        f"SELECT d.id, d.n FROM deliveries d WHERE {sql} "
        f"ORDER BY d.id {'DESC' if newest else 'ASC'} LIMIT ?",
        [*asked, ROWS],
    ).fetchall()
    return [(id_, n, ()) for id_, n in rows], len(rows) == ROWS


def _jobs_newest_first(
    db: sqlite3.Connection, condition: Condition, after: str | None
) -> tuple[list[Key], bool]:
    sql, asked = condition
    if after is not None:
        sql, asked = f"j.id < ? AND {sql}", [after, *asked]
    rows = db.execute(
        f"SELECT j.id, j.n FROM {JOBS_JOINED} WHERE {sql} ORDER BY j.id DESC LIMIT ?",
        [*asked, ROWS],
    ).fetchall()
    return [(id_, n >> PLACE_BITS, (n,)) for id_, n in rows], len(rows) == ROWS


def _jobs_by_delivery(
    db: sqlite3.Connection, condition: Condition, after: str | None
) -> tuple[list[Key], bool]:
    """By number, so that the jobs of a delivery are together: those of one run belong so."""
    begin = 0 if after is None else (int(after) + 1) * PLACES
    numbers = _numbers(db, condition, begin, ROWS)
    more = len(numbers) == ROWS
    if more:  # the last delivery may have more
        last = numbers[-1] >> PLACE_BITS
        numbers = [n for n in numbers if n >> PLACE_BITS < last]
        numbers += _numbers(db, condition, last * PLACES, PLACES, last * PLACES + PLACES)
    return [
        (str(delivery), delivery, tuple(group))
        for delivery, group in groupby(numbers, lambda n: n >> PLACE_BITS)
    ], more


def _numbers(
    db: sqlite3.Connection, condition: Condition, begin: int, limit: int, end: int = 2**63 - 1
) -> list[int]:
    sql, asked = condition
    return [
        n
        for (n,) in db.execute(
            f"SELECT j.n FROM {JOBS_JOINED} WHERE j.n >= ? AND j.n < ? AND {sql} "
            "ORDER BY j.n LIMIT ?",
            [begin, end, *asked, limit],
        )
    ]


def _load(db: sqlite3.Connection, key: Key, *, whole: bool) -> Stored:
    at, number, jobs = key
    row = db.execute(
        f"SELECT {DELIVERY_COLUMNS}, d.events FROM deliveries d "
        "JOIN generations g ON g.n = d.generation WHERE d.n = ?",
        (number,),
    ).fetchone()
    events = decode_events(row[7])
    history = history_of(db, number) if whole else ()
    return Stored(at, to_delivery(row[:7]), events, _jobs(db, jobs), history)


def history_of(db: sqlite3.Connection, delivery: int) -> tuple[Job, ...]:
    """All jobs of a delivery, by its number, in the order they were made."""
    rows = db.execute(
        f"SELECT {SHOWN_JOB_COLUMNS} FROM {JOBS_JOINED} WHERE j.n BETWEEN ? AND ? ORDER BY j.n",
        (delivery * PLACES, delivery * PLACES + PLACES - 1),
    )
    return tuple([to_job(row) for row in rows])


def _jobs(db: sqlite3.Connection, numbers: tuple[int, ...]) -> tuple[Job, ...]:
    if not numbers:
        return ()
    rows: Any = db.execute(
        f"SELECT {SHOWN_JOB_COLUMNS} FROM (SELECT value AS n FROM json_each(?)) chosen "
        f"JOIN jobs j ON j.n = chosen.n JOIN deliveries d ON d.n = j.n >> {PLACE_BITS} "
        "JOIN generations g ON g.n = j.generation ORDER BY j.n",
        (msgspec.json.encode(numbers).decode(),),
    )
    return tuple([to_job(row) for row in rows])
