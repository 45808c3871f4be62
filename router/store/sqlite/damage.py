"""Jobs that a disk has changed so that nobody can read them: found one by one, and put aside."""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from router.kinds import NUMBERED
from router.store.sqlite.rows import CHECKED, PLACE_BITS, PLACES, STATE, decode_needs
from router.store.sqlite.writer_state import Book

CORRUPT = "corrupt"
"""The reason such a job is dead for; one whose delivery is damaged has it too."""

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
_OVER = frozenset({STATE["dead"], STATE["succeeded"], STATE["cancelled"]})
_NUMBERS = ("due_at", "created_at", "event_index", "attempt", "charged", "deaths")


def is_unreadable(error: Exception) -> bool:
    """Whether a value is to blame, not the disk or the file as a whole."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR
    return isinstance(error, (ValueError, TypeError, LookupError))


def put_aside(
    book: Book, numbers: Iterable[int], read: Callable[[int], object], now: int
) -> list[int]:
    """
    Make dead those of these unfinished jobs that `read` fails on, within the open transaction;
    returns their numbers. What can be read of them stays, so that lists show them.
    """
    spoilt = _spoilt(book, list(numbers), read)
    for number in spoilt:
        _bury(book, number, now)
    return spoilt


def met(book: Book, number: int, now: int) -> None:
    """
    This job stood in the way of another: it is dead, unless it has ended, or runs: whoever runs
    it has read it before, and it is looked at again when its attempt has ended.
    """
    state = book.one("SELECT state FROM jobs WHERE n = ?", (number,))
    if state in _OVER:
        _make_legible(book, "jobs", number)
        _drop_lists(book, number)
    elif state != STATE["running"]:
        _bury(book, number, now)


def _spoilt(book: Book, left: list[int], read: Callable[[int], object]) -> list[int]:
    """Those of them that cannot be read, and with them such as share their run or delivery."""
    found: dict[int, bool] = {}
    while left:
        number = left.pop()
        if number in found:
            continue
        try:
            read(number)
        except Exception as error:
            if not is_unreadable(error):
                raise
            found[number] = True
            left += _beside(book, number)
        else:
            found[number] = False
    return sorted(number for number, spoilt in found.items() if spoilt)


def _beside(book: Book, number: int) -> list[int]:
    """Jobs of the same delivery, and so of the same run, that have not begun."""
    first = number >> PLACE_BITS << PLACE_BITS
    return [
        n
        for (n,) in book.db.execute(
            "SELECT n FROM jobs WHERE n BETWEEN ? AND ? AND state < 3", (first, first + PLACES - 1)
        )
    ]


def _bury(book: Book, number: int, now: int) -> None:
    if _make_legible(book, "deliveries", number >> PLACE_BITS):
        _mark_damaged(book, number >> PLACE_BITS)
    _make_legible(book, "jobs", number)
    _drop_lists(book, number)
    numbers = ", ".join(
        [f"{name} = iif(typeof({name}) = 'integer', {name}, 0)" for name in _NUMBERS]
    )
    numbered = ", ".join(map(str, NUMBERED))
    book.db.execute(
        f"UPDATE jobs SET state = {STATE['dead']}, reason = ?, ended_at = ?, lease = NULL, "
        "waits = NULL, started_at = iif(typeof(started_at) = 'integer', started_at, NULL), "
        f"kind = iif(kind IN ({numbered}), kind, 0), {numbers} WHERE n = ?",
        (CORRUPT, book.wall(now), number),
    )
    book.pages += 2
    id_ = book.one("SELECT CAST(id AS BLOB) FROM jobs WHERE n = ?", (number,))
    book.buried(number, legible(id_), now)


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


def _mark_damaged(book: Book, delivery: int) -> None:
    """What reads well again is not what was accepted: its checksum must go on saying so."""
    meta = book.one("SELECT CAST(meta AS BLOB) FROM deliveries WHERE n = ?", (delivery,))
    if meta[:1] == CHECKED:
        wrong = meta[:-1] + bytes([meta[-1] ^ 0xFF])
        book.db.execute("UPDATE deliveries SET meta = ? WHERE n = ?", (wrong, delivery))


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
