"""
Ledger time in the file: how far wall time is ahead of it now, was before, and the time last seen.

What a store records is wall time and is never rewritten. What is due, what ends and what grows old
goes by ledger time; `ages` finds it for a recorded time.
"""

import sqlite3

import msgspec

from router.clock import LONG_MS, Clock, Doubt
from router.store.sqlite.fragments import OFFSET
from router.store.sqlite.writer_state import Book
from router.store.values import CLOCK_DOUBT, CLOCK_SEEN

BLUR_MS = 5_000
"""The clock takes small differences over in passing: a step is known that exactly."""


def offset(db: sqlite3.Connection) -> int:
    """By how many milliseconds wall time is ahead of ledger time."""
    return int(db.execute(f"SELECT {OFFSET}").fetchone()[0])


def resume(db: sqlite3.Connection, clock: Clock) -> None:
    """Ledger time goes on where it was, as far as anybody can tell: never before the last seen."""
    clock.resume(offset(db))
    row = db.execute(
        "SELECT value FROM facts WHERE name = ? AND typeof(value) = 'integer'", (CLOCK_SEEN,)
    ).fetchone()
    if row is not None and clock.ledger() < row[0]:
        clock.resume(clock.now() - row[0])


def keep(book: Book) -> int:
    """
    Keep the offset of the store's clock and its ledger time, within the open transaction; returns
    by how much the offset has changed.
    """
    now, ahead = book.clock.ledger(), book.clock.offset
    if ms := ahead - offset(book.db):
        book.db.execute("UPDATE clock_steps SET ended = ? WHERE ended IS NULL", (now,))
        if ms < 0:
            _take_back(book.db, -ms, now)
        book.db.execute("INSERT INTO clock_steps (begun, ahead) VALUES (?, ?)", (now, ahead))
    book.db.execute(
        "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) "
        "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (CLOCK_SEEN, now, now + ahead),
    )
    book.pages += 1
    return ms


def _take_back(db: sqlite3.Connection, by: int, now: int) -> None:
    """
    A doubtful clock was wrong and is set right: ledger time goes on as it is, and what was recorded
    before the doubt becomes as much younger as the clock went back.
    """
    row = db.execute("SELECT value FROM facts WHERE name = ?", (CLOCK_DOUBT,)).fetchone()
    if row is None or (doubt := msgspec.json.decode(row[0], type=Doubt)).until <= now:
        return
    # The last minute before the doubt was not noted; the doubt itself began a day later at least.
    given = {"by": by, "until": doubt.seen - offset(db) + LONG_MS}
    db.execute(
        "INSERT INTO clock_steps (begun, ended, ahead) SELECT :until, ended, ahead "
        "FROM clock_steps WHERE ended > :until AND coalesce(begun, 0) < :until",
        given,
    )
    db.execute(
        "UPDATE clock_steps SET begun = begun + :by, ended = min(ended, :until) + :by, "
        "ahead = ahead - :by WHERE coalesce(begun, 0) < :until",
        given,
    )


def ages(db: sqlite3.Connection, recorded: str, now: int) -> str:
    """
    The ledger time of a column that records wall time, as SQL, if it is ledger time `now`. Where
    the clock was set back, so that it may be either of two, it is the later: nothing is thought
    older than it is.
    """
    steps = db.execute("SELECT count(*), max(ahead) FROM clock_steps").fetchone()
    if steps[0] == 1:
        return f"({recorded} - {steps[1]:d})"
    return (
        f"coalesce((SELECT max({recorded} - ahead) FROM clock_steps "
        f"WHERE {recorded} - ahead BETWEEN coalesce(begun, 0) - {BLUR_MS} "
        f"AND coalesce(ended, {now:d}) + {BLUR_MS}), {recorded} - {OFFSET})"
    )
