"""Whole deliveries read in pages, for whoever must look into them: bounded in rows and bytes."""

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from router.model.job import Job
from router.store.common.columns import decode_events, to_delivery, to_job
from router.store.common.lists import BYTES, ROWS
from router.store.common.selection import Condition
from router.store.sqlite.fragments import (
    DELIVERY_COLUMNS,
    JOBS_JOINED,
    LISTED,
    PLACE_BITS,
    PLACES,
    SHOWN_JOB_COLUMNS,
    listed,
)
from router.store.sqlite.selection import SqliteSelection
from router.store.values import Page, Selector, Stored

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
    chosen = SqliteSelection(selector)
    if not jobs:
        keys, more = _by_id(db, "d", chosen.deliveries(), newest, after)
    elif newest:
        keys, more = _by_id(db, "j", chosen.jobs(whole=whole), newest, after)
    else:
        keys, more = _jobs_by_delivery(db, chosen.jobs(whole=whole), after)
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


def _by_id(
    db: sqlite3.Connection, of: str, condition: Condition, newest: bool, after: str | None
) -> tuple[list[Key], bool]:
    """Deliveries (`d`) or jobs (`j`), each by itself."""
    sql, asked = condition
    if after is not None:
        sql, asked = f"{of}.id {'<' if newest else '>'} ? AND {sql}", [after, *asked]
    number, rows_of = ("j.n", JOBS_JOINED) if of == "j" else ("NULL", "deliveries d")
    rows = db.execute(
        f"SELECT {of}.id, d.n, {number} FROM {rows_of} WHERE {sql} "
        f"ORDER BY {of}.id {'DESC' if newest else 'ASC'} LIMIT ?",
        [*asked, ROWS],
    ).fetchall()
    keys: list[Key] = [(id_, n, () if job is None else (job,)) for id_, n, job in rows]
    return keys, len(rows) == ROWS


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
    numbers = f"SELECT j.n FROM {JOBS_JOINED} WHERE j.n >= ? AND j.n < ? AND {sql} ORDER BY j.n"
    return [n for (n,) in db.execute(f"{numbers} LIMIT ?", [begin, end, *asked, limit])]


def _load(db: sqlite3.Connection, key: Key, *, whole: bool) -> Stored:
    at, number, jobs = key
    row = db.execute(
        f"SELECT {DELIVERY_COLUMNS}, d.events FROM deliveries d "
        "JOIN generations g ON g.n = d.generation WHERE d.n = ?",
        (number,),
    ).fetchone()
    history = history_of(db, number) if whole else ()
    chosen = jobs_where(db, f"j.n {LISTED} ORDER BY j.n", [listed(jobs)]) if jobs else ()
    return Stored(at, to_delivery(row[:7]), decode_events(row[7]), chosen, history)


def history_of(db: sqlite3.Connection, delivery: int) -> tuple[Job, ...]:
    """All jobs of a delivery, by its number, in the order they were made."""
    span = [delivery * PLACES, delivery * PLACES + PLACES - 1]
    return jobs_where(db, "j.n BETWEEN ? AND ? ORDER BY j.n", span)


def jobs_where(
    db: sqlite3.Connection, which: str, values: Sequence[Any], columns: str = SHOWN_JOB_COLUMNS
) -> tuple[Job, ...]:
    """The jobs that an SQL condition chooses, as people see them."""
    rows = db.execute(f"SELECT {columns} FROM {JOBS_JOINED} WHERE {which}", values)
    return tuple([to_job(row) for row in rows])
