"""Replays in the ledger: each step makes its jobs and notes how far it has come, or neither."""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from router.errors import NotFound
from router.model.job import NewJob
from router.model.operations import Audit, Item, Replay, ReplayState, ReplayStep
from router.store.sqlite import audit_log
from router.store.sqlite.adding import add
from router.store.sqlite.fragments import JOBS_OF, LISTED, listed
from router.store.sqlite.writer_state import Book

STATES: tuple[ReplayState, ...] = ("making", "made", "cancelled")
MAKING, MADE, CANCELLED = 0, 1, 2

_COLUMNS = "state, reached, due, deliveries, jobs, skipped, ended_at, passed, earlier"
"""Those of a replay behind its items, in the order of its fields."""
_items = msgspec.json.Decoder(tuple[Item, ...])


def begin(book: Book, replay: Replay, audit: Audit | None = None) -> Replay:
    """Keep a new replay; a known one is returned as it is."""
    if (known := one(book.db, replay.id)) is not None:
        return known
    book.replays = True
    book.db.execute(
        "INSERT INTO replays (id, asked, items, state, reached, due, deliveries, jobs, skipped, "
        "created_at) VALUES (?, ?, ?, 0, ?, ?, 0, 0, 0, ?)",
        (
            replay.id,
            msgspec.json.encode(replay.asked),
            None if replay.items is None else msgspec.json.encode(replay.items),
            replay.reached,
            msgspec.json.encode(replay.due),
            replay.created_at,
        ),
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
    made = [_make(book, number, left.delivery, left.jobs, now) for left in work]
    jobs, gone = sum(one or 0 for one in made), made.count(None)
    book.db.execute(
        "UPDATE replays SET reached = ?, due = ?, deliveries = deliveries + ?, jobs = jobs + ?, "
        "skipped = skipped + ?, state = ?, ended_at = ?, passed = passed + ?, "
        "earlier = nullif(max(coalesce(earlier, ''), ?), '') WHERE n = ?",
        (
            step.reached,
            msgspec.json.encode(step.due),
            len(made) - gone - sum(bool(left.passed) and not left.jobs for left in work),
            jobs,
            step.skipped + gone,
            MADE if step.last else MAKING,
            book.wall(now) if step.last else None,
            step.passed + sum(left.passed for left in work),
            max([step.earlier or "", *[left.earlier for left in work]]),
            number,
        ),
    )
    audit_log.count_up(book, step.replay, jobs)
    book.pages += 2
    return one(book.db, step.replay, items="NULL")


class _Left(NamedTuple):
    """What is to be made of a delivery; `passed` and `earlier` as of a replay."""

    delivery: str
    jobs: Sequence[NewJob]
    passed: int = 0
    earlier: str = ""


def _left(book: Book, delivery: str, jobs: Sequence[NewJob], *, once: bool) -> _Left:
    """Without what somebody else has made since it was looked at: two may ask for the same."""
    if not once or not jobs:
        return _Left(delivery, jobs)
    newest: dict[tuple[int, str, str], str] = {}
    routed: dict[tuple[str | None, str | None], str] = {}
    for index, rule, action, id_, origin, generation in book.db.execute(
        "SELECT j.event_index, j.rule, j.action, j.id, j.replay_of, g.id FROM deliveries d "
        f"JOIN jobs j ON {JOBS_OF} JOIN generations g ON g.n = j.generation WHERE d.id = ? "
        "ORDER BY j.n",
        (delivery,),
    ):
        newest[index, rule, action] = routed[origin, generation] = id_
    if jobs[0].replay_of == delivery:
        made = routed.get((delivery, jobs[0].generation))
        return _Left(delivery, jobs) if made is None else _Left(delivery, (), 1, made)
    last = {job.id: newest.get((job.event_index, job.rule, job.action)) for job in jobs}
    left = [job for job in jobs if last[job.id] == job.replay_of]
    gone = [last[job.id] or "" for job in jobs if last[job.id] != job.replay_of]
    return _Left(delivery, left, len(gone), max(gone, default=""))


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
    rows = db.execute(
        f"SELECT id, asked, created_at, {items}, {_COLUMNS} FROM replays {which}", (value,)
    )
    return tuple(
        [
            Replay(
                id_,
                msgspec.json.decode(asked),
                created_at,
                None if named is None else _items.decode(named),
                STATES[state],
                reached,
                msgspec.json.decode(due, type=dict[str, float]),
                *rest,
            )
            for id_, asked, created_at, named, state, reached, due, *rest in rows.fetchall()
        ]
    )
