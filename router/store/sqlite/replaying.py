"""Replays in the ledger: each step makes its jobs and notes how far it has come, or neither."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from router.errors import NotFound
from router.model.job import NewJob
from router.model.operations import Audit, Replay, ReplayStep
from router.store.common.replaying import COLUMNS, Left, Made, begun, left, progress, to_replay
from router.store.sqlite import audit_log
from router.store.sqlite.adding import add
from router.store.sqlite.fragments import JOBS_OF, LISTED, listed
from router.store.sqlite.writer_state import Book


def begin(book: Book, replay: Replay, audit: Audit | None = None) -> Replay:
    """Keep a new replay; a known one is returned as it is."""
    if (known := one(book.db, replay.id)) is not None:
        return known
    book.replays = True
    book.db.execute(
        "INSERT INTO replays (id, asked, items, reached, due, created_at, state, deliveries, jobs, "
        "skipped) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0)",
        begun(replay),
    )
    if audit is not None:
        audit_log.note(book, msgspec.structs.replace(audit, id=replay.id))
    book.pages += 2
    return replay


def step(book: Book, step: ReplayStep, *, now: int) -> Replay | None:
    """Make a step's jobs, if the replay still stands where the step begins."""
    standing = "SELECT n FROM replays WHERE id = ? AND state = 0 AND reached = ?"
    if (number := book.one(standing, (step.replay, step.after))) is None:
        return None
    work = [_left(book, delivery, jobs, once=step.once) for delivery, jobs in step.work]
    made = [_make(book, number, todo.delivery, todo.jobs, now) for todo in work]
    far = progress(step, work, made)
    book.db.execute(
        "UPDATE replays SET reached = ?, due = ?, deliveries = deliveries + ?, jobs = jobs + ?, "
        "skipped = skipped + ?, state = ?, passed = passed + ?, "
        "earlier = nullif(max(coalesce(earlier, ''), ?), ''), ended_at = ? WHERE n = ?",
        (*far, book.wall(now) if step.last else None, number),
    )
    audit_log.count_up(book, step.replay, far.jobs)
    book.pages += 2
    return one(book.db, step.replay, items="NULL")


def _left(book: Book, delivery: str, jobs: Sequence[NewJob], *, once: bool) -> Left:
    if not once or not jobs:
        return Left(delivery, jobs)
    made = book.db.execute(
        "SELECT j.event_index, j.rule, j.action, j.id, j.replay_of, g.id FROM deliveries d "
        f"JOIN jobs j ON {JOBS_OF} JOIN generations g ON g.n = j.generation WHERE d.id = ? "
        "ORDER BY j.n",
        (delivery,),
    )
    return left(delivery, jobs, [Made(*row) for row in made])


def _make(book: Book, replay: int, delivery: str, jobs: Sequence[Any], now: int) -> int | None:
    """How many jobs were made; None: the delivery is gone since it was looked at."""
    if not jobs:
        return 0
    try:
        add(book, delivery, jobs, now)
    except NotFound:
        return None
    book.db.execute(
        f"UPDATE jobs SET replay = ? WHERE id {LISTED}", (replay, listed(job.id for job in jobs))
    )
    return len(jobs)


def stop(book: Book, id_: str, now: int) -> None:
    """The replay makes no more jobs. Raises NotFound."""
    ending = "UPDATE replays SET state = 2, ended_at = ? WHERE id = ?"
    if not book.db.execute(ending, (book.wall(now), id_)).rowcount:
        raise NotFound(f"no replay {id_}")


def one(db: sqlite3.Connection, id_: str, *, items: str = "items") -> Replay | None:
    """A replay by its whole id."""
    return next(iter(_replays(db, "WHERE id = ?", id_, items)), None)


def of_job(db: sqlite3.Connection, job: str) -> Replay | None:
    """The replay that made a job, without its items."""
    return next(iter(_replays(db, "WHERE n = (SELECT replay FROM jobs WHERE id = ?)", job)), None)


def several(db: sqlite3.Connection, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
    """Newest first, without their items."""
    which = "WHERE state = 0" if making else ""
    return _replays(db, f"{which} ORDER BY n DESC LIMIT ?", limit)


def _replays(
    db: sqlite3.Connection, which: str, value: str | int, items: str = "NULL"
) -> tuple[Replay, ...]:
    rows = db.execute(f"SELECT {COLUMNS.format(items=items)} FROM replays {which}", (value,))
    return tuple([to_replay(row) for row in rows.fetchall()])
