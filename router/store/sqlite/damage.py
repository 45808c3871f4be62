"""
Jobs that a disk has changed so that nobody can read them: found one by one, and made dead, so
that they hold up no other of their run, their group or their target.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from router.kinds import NUMBERED
from router.model.job import Job
from router.store.common.chains import Member
from router.store.common.columns import CHECKED, FURTHER, decode_needs
from router.store.common.death_causes import CORRUPT
from router.store.common.states import CANCELLED, DEAD, RUNNING, STATES, SUCCEEDED
from router.store.sqlite.fragments import PLACE_BITS, PLACES
from router.store.sqlite.writer_state import Book

SPOILT = "\ufffd"
"""Stands in a text for what could not be read of it."""

_TEXTS = {
    "jobs": ("id", "target", "rule", "action", "event_id", "event", "replay_of", "reason"),
    "deliveries": ("id", "endpoint", "names"),
}
_LISTS: dict[str, Callable[[Any], object]] = {
    "covers": msgspec.json.Decoder(list[int] | None).decode,
    "needs": decode_needs,
}
_NUMBERS = ("due_at", "created_at", "event_index", "attempt", "charged", "deaths")

_MEMBER = "SELECT n, action, state, due_at, target, waits, needs, attempt, reason FROM jobs"
_MEMBER_BYTES = (
    "SELECT n, CAST(action AS BLOB), state, due_at, CAST(target AS BLOB), waits, "
    "CAST(needs AS BLOB), attempt, CAST(reason AS BLOB) FROM jobs"
)
_MEMBER_TYPES = (str, str, int, int, int, int, str)

_JOB_TEXTS = "j.id, d.id, d.endpoint, j.event_id, j.event, j.rule, j.action, j.target, g.id"
_JOB_BYTES = (
    f"SELECT {', '.join([f'CAST({name} AS BLOB)' for name in _JOB_TEXTS.split(', ')])}, "
    "j.kind, j.event_index, j.created_at, j.attempt, j.due_at, j.started_at, j.run FROM jobs j "
    f"LEFT JOIN deliveries d ON d.n = j.n >> {PLACE_BITS} "
    "LEFT JOIN generations g ON g.n = j.generation WHERE j.n = ?"
)


def is_unreadable(error: Exception) -> bool:
    """Whether a value is to blame, not the disk or the file as a whole."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR
    return isinstance(error, (ValueError, TypeError, LookupError))


def members(book: Book, first: int, last: int, now: int) -> dict[int, Member]:
    """
    The jobs of a run, which has these numbers, within the open transaction. One that nobody can
    read is dead by then, with the reason `corrupt`: it holds up no other.
    """
    try:
        found = _members(book, first, last)
    except Exception as error:
        if not is_unreadable(error):
            raise
        found = {}
        for (n,) in book.db.execute(
            "SELECT n FROM jobs WHERE n BETWEEN ? AND ? ORDER BY n", (first, last)
        ).fetchall():
            found |= _member(book, n, now)
    _stand_in([*found.values()])
    return found


def _members(book: Book, first: int, last: int) -> dict[int, Member]:
    """Raises what `is_unreadable` knows."""
    found: dict[int, Member] = {}
    for n, action, state, due_at, target, waits, needs, attempt, reason in book.db.execute(
        f"{_MEMBER} WHERE n BETWEEN ? AND ? ORDER BY n", (first, last)
    ):
        values = (action, target, state, due_at, waits or 0, attempt, reason or "")
        if tuple(map(type, values)) != _MEMBER_TYPES or state < 0:
            raise ValueError("a value of another type")
        found[n] = Member(
            action, STATES[state], due_at, target, waits or 0, decode_needs(needs), attempt, reason
        )
    return found


def _member(book: Book, n: int, now: int) -> dict[int, Member]:
    """One job by its number; of one that cannot be read, as much as can."""
    try:
        return _members(book, n, n)
    except Exception as error:
        if not is_unreadable(error):
            raise
    met(book, n, now)
    _, action, state, due_at, target, waits, needs, attempt, reason = book.db.execute(
        f"{_MEMBER_BYTES} WHERE n = ?", (n,)
    ).fetchone()
    try:
        needed = decode_needs(needs)
    except ValueError:
        needed = ()
    due_at, waits, attempt = (v if isinstance(v, int) else 0 for v in (due_at, waits, attempt))
    why = None if reason is None else legible(reason)
    return {
        n: Member(
            legible(action), STATES[state], due_at, legible(target), waits, needed, attempt, why
        )
    }


def _stand_in(members: list[Member]) -> None:
    """
    A job whose name cannot be read stands for every need that no other job of the run meets: who
    needs it waits for it, or is cancelled with it, rather than begin too early.
    """
    unreadable = [member.action for member in members if SPOILT in member.action]
    if unreadable:
        known = {member.action for member in members}
        for member in members:
            member.needs = tuple(
                msgspec.structs.replace(need, action=name)
                for need in member.needs
                for name in ([need.action] if need.action in known else unreadable)
            )


def put_aside(
    book: Book, numbers: Iterable[int], read: Callable[[int], object], now: int
) -> list[int]:
    """
    Make dead those of these unfinished jobs that `read` fails on, within the open transaction;
    returns their numbers. What can be read of them stays, so that lists show them.
    """
    found: dict[int, bool] = {}
    left = list(numbers)
    while left:
        if (number := left.pop()) in found:
            continue
        found[number] = False
        try:
            read(number)
        except Exception as error:
            if not is_unreadable(error):
                raise
            found[number] = True
            # Jobs of the same delivery, and so of the same run, that have not begun.
            first = number >> PLACE_BITS << PLACE_BITS
            beside = f"SELECT n FROM jobs WHERE n BETWEEN ? AND ? AND state < {RUNNING}"
            left += [n for (n,) in book.db.execute(beside, (first, first + PLACES - 1))]
    spoilt = sorted(number for number, is_spoilt in found.items() if is_spoilt)
    for number in spoilt:
        _bury(book, number, now)
    return spoilt


def met(book: Book, number: int, now: int) -> None:
    """
    This job stood in the way of another: it is dead, unless it has ended, or runs: whoever runs
    it has read it before, and it is looked at again when its attempt has ended.
    """
    state = book.one("SELECT state FROM jobs WHERE n = ?", (number,))
    if state in (DEAD, SUCCEEDED, CANCELLED):
        _make_legible(book, "jobs", number)
        _drop_lists(book, number)
    elif state != RUNNING:
        _bury(book, number, now)


def _bury(book: Book, number: int, now: int) -> None:
    delivery = number >> PLACE_BITS
    if _make_legible(book, "deliveries", delivery):
        # What reads well again is not what was accepted: its checksum must go on saying so.
        meta = book.one("SELECT CAST(meta AS BLOB) FROM deliveries WHERE n = ?", (delivery,))
        if meta[:1] in (CHECKED, FURTHER):
            wrong = meta[:-1] + bytes([meta[-1] ^ 0xFF])
            book.db.execute("UPDATE deliveries SET meta = ? WHERE n = ?", (wrong, delivery))
    _make_legible(book, "jobs", number)
    _drop_lists(book, number)
    numbers = ", ".join(
        [f"{name} = iif(typeof({name}) = 'integer', {name}, 0)" for name in _NUMBERS]
    )
    numbered = ", ".join(map(str, NUMBERED))
    book.db.execute(
        f"UPDATE jobs SET state = {DEAD}, reason = ?, ended_at = ?, lease = NULL, "
        "waits = NULL, started_at = iif(typeof(started_at) = 'integer', started_at, NULL), "
        f"kind = iif(kind IN ({numbered}), kind, 0), {numbers} WHERE n = ?",
        (CORRUPT, book.wall(now), number),
    )
    book.pages += 2
    id_ = book.one("SELECT CAST(id AS BLOB) FROM jobs WHERE n = ?", (number,))
    book.buried(number, legible(id_), now)


def dead_job(book: Book, number: int, now: int) -> tuple[Job, int | None]:
    """As much of a job made dead as can be read, and its run; nothing stands for what is lost."""
    row = book.db.execute(_JOB_BYTES, (number,)).fetchone()
    texts = [legible(raw) for raw in row[:9]]
    id_, delivery, endpoint, event_id, event, rule, action, target, generation = texts
    kind, index, created_at, attempt, due_at, started_at, run = row[9:]
    return Job(
        id_,
        delivery,
        endpoint,
        index,
        event_id,
        event,
        rule,
        action,
        NUMBERED[kind],
        target,
        "dead",
        due_at,
        min(max(created_at, 0), now),  # a date beyond the calendar cannot be shown
        generation,
        attempt,
        started_at=started_at,
        ended_at=now,
        reason=CORRUPT,
    ), run if isinstance(run, int) else None


def legible(raw: bytes | None) -> str:
    """A text whose bytes were read as they are; what is none is `SPOILT`."""
    return str(raw or b"", "utf-8", "replace")


def _make_legible(book: Book, table: str, number: int) -> bool:
    """Texts that are none become some, `SPOILT` where a byte was; True: there were such."""
    columns = _TEXTS[table]
    raw = ", ".join([f"CAST({name} AS BLOB), typeof({name})" for name in columns])
    row = book.db.execute(f"SELECT {raw} FROM {table} WHERE n = ?", (number,)).fetchone() or ()
    spoilt = False
    for name, value, kind in zip(columns, row[::2], row[1::2], strict=False):
        text = legible(value)
        if value is not None and (kind != "text" or text.encode() != value):
            spoilt = True
            _try(book, f"UPDATE {table} SET {name} = ? WHERE n = ?", (text, number))
    return spoilt


def _drop_lists(book: Book, number: int) -> None:
    for name, decode in _LISTS.items():
        value = book.one(f"SELECT CAST({name} AS BLOB) FROM jobs WHERE n = ?", (number,))
        try:
            decode(value or b"null")
        except ValueError:
            _try(book, f"UPDATE jobs SET {name} = NULL WHERE n = ?", (number,))


def _try(book: Book, sql: str, values: tuple[Any, ...]) -> None:
    """A mend that the file does not allow is left: that the job does not run is what counts."""
    book.db.execute("SAVEPOINT mend")
    try:
        book.db.execute(sql, values)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (
            sqlite3.SQLITE_CORRUPT,  # an index does not have the spoilt value
            sqlite3.SQLITE_CONSTRAINT,
        ):
            raise
        book.db.execute("ROLLBACK TO mend")
    book.db.execute("RELEASE mend")
