"""
When somebody sets the clock: the due times of all unfinished jobs move with it.

Dedupe keys, of which there may be millions, do not move: their ends are kept as if nobody had ever
set the clock, see `Book.unset`.
"""

import contextlib
import sqlite3

import msgspec

from router.store.sqlite.writer_state import SET_BY, Book

FACT = "clock"
"""The fact that keeps the time last seen, and by how much which process has moved the jobs."""

_WRITTEN = "temp.written_by_the_old_clock"


def shift(book: Book, total: int, boot: str, now: int) -> int:
    """
    Move due times until `boot` has moved them by `total` milliseconds, and keep `now` as the time
    last seen, within the open transaction; returns how many jobs moved.

    Whoever asks goes on by the old clock until he has the answer, so what is written until then is
    moved too, by `catch_up`; `caught_up` ends that.
    """
    kept = _kept(book)
    ms = total - (kept.moved if kept.boot == boot else 0)
    fact = msgspec.json.encode({"at": now, "boot": boot, "moved": total})
    _keep(book, FACT, fact, now)
    if not ms:
        return 0
    _keep(book, SET_BY, b"%d" % (book.set_by + ms), now)
    before = book.set_by
    book.set_by += ms
    book.undo.append(lambda: setattr(book, "set_by", before))
    moved = _move(book, ms)
    book.unsure.append(lambda: _behind(book, fact, ms))
    return moved


def _behind(book: Book, fact: bytes, ms: int) -> None:
    """Nobody knew whether the jobs were moved: if they were, whoever asked lags behind them."""
    if book.one("SELECT value FROM facts WHERE name = ?", (FACT,)) == fact:
        book.behind += ms


def _keep(book: Book, name: str, value: bytes, now: int) -> None:
    book.db.execute(
        "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) "
        "DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (name, value, now),
    )
    book.pages += 1


class _Kept(msgspec.Struct):
    boot: str = ""
    moved: int = 0


def _kept(book: Book) -> _Kept:
    text = book.one("SELECT CAST(value AS BLOB) FROM facts WHERE name = ?", (FACT,))
    try:
        return _Kept() if text is None else msgspec.json.decode(text, type=_Kept)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Kept()  # a disk has spoilt it: what an earlier process moved is of no use to us


def _move(book: Book, ms: int) -> int:
    moved = 0
    # Two statements for two partial indexes: neither looks at the jobs that have ended.
    for unfinished in ("state < 2", "state > 1 AND state < 5 AND state IN (2, 3)"):
        moved += book.db.execute(
            f"UPDATE jobs SET due_at = due_at + ? WHERE {unfinished}", (ms,)
        ).rowcount
    for n, due in book.db.execute("SELECT n, due FROM replays WHERE state < 2").fetchall():
        later = {t: at + ms for t, at in msgspec.json.decode(due, type=dict[str, float]).items()}
        book.db.execute("UPDATE replays SET due = ? WHERE n = ?", (msgspec.json.encode(later), n))
    book.pages += moved
    _watch(book)
    behind = book.behind
    book.behind += ms
    book.undo.append(lambda: setattr(book, "behind", behind))
    return moved


def _watch(book: Book) -> None:
    """Note which jobs are given a due time from here on."""
    book.db.execute(f"CREATE TABLE IF NOT EXISTS {_WRITTEN} (n INTEGER PRIMARY KEY)")
    for name, event in (
        ("inserted_by_the_old_clock", "INSERT ON main.jobs"),
        ("updated_by_the_old_clock", "UPDATE OF due_at ON main.jobs"),
    ):
        when = "WHEN NEW.due_at <> OLD.due_at" if event.startswith("UPDATE") else ""
        book.db.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS {name} AFTER {event} {when} BEGIN "
            f"INSERT OR IGNORE INTO {_WRITTEN.removeprefix('temp.')} VALUES (NEW.n); END"
        )
    # They may have noted the move itself, if whoever asked for the last one is gone.
    book.db.execute(f"DELETE FROM {_WRITTEN}")


def catch_up(book: Book) -> None:
    """Move what was just written by the old clock, within the transaction that wrote it."""
    numbers = [n for (n,) in book.db.execute(f"SELECT n FROM {_WRITTEN}")]
    listed = msgspec.json.encode(numbers).decode()
    book.db.execute(
        "UPDATE jobs SET due_at = due_at + ? WHERE n IN (SELECT value FROM json_each(?))",
        (book.behind, listed),
    )
    book.db.execute(f"DELETE FROM {_WRITTEN}")


def caught_up(book: Book) -> None:
    """From here on everything comes by the new clock."""
    book.behind = 0
    with contextlib.suppress(sqlite3.Error):  # left behind they only cost a little
        book.db.execute("DROP TRIGGER IF EXISTS temp.inserted_by_the_old_clock")
        book.db.execute("DROP TRIGGER IF EXISTS temp.updated_by_the_old_clock")
