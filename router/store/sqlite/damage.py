"""Rows of the file that cannot be read: found by name, and refused."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from router.store.common.damage import UNREADABLE, damaged
from router.store.sqlite.connection import DAMAGED
from router.store.sqlite.fragments import PLACE_BITS

_TYPES = {"INTEGER": int, "TEXT": str, "BLOB": bytes}


def is_damage(error: Exception) -> bool:
    """Whether SQLite says that the file, or a text in it, is not what was written."""
    return isinstance(error, sqlite3.Error) and (
        getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED
        or "Could not decode" in str(error)  # Python says so of a text, and has no code for it
    )


@contextmanager
def reading(db: sqlite3.Connection, numbers: Callable[[], Iterable[int]]) -> Iterator[None]:
    """
    In here jobs of these numbers are read, and their deliveries. Raises Damaged, naming the first
    row with a value of a wrong type; a value that is none of its column's names the error alone.
    """
    try:
        yield
    except (*UNREADABLE, AttributeError, sqlite3.Error) as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) != sqlite3.SQLITE_ERROR:
            raise
        jobs = list(numbers())
        for table, found in (("jobs", jobs), ("deliveries", {n >> PLACE_BITS for n in jobs})):
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            for number in found:
                if not _is_readable(db, table, columns, number):
                    raise damaged(table, number, error) from error
        if isinstance(error, sqlite3.Error):
            raise
        raise damaged("jobs or deliveries", "?", error) from error


def _is_readable(
    db: sqlite3.Connection, table: str, columns: Iterable[Sequence[Any]], number: int
) -> bool:
    try:
        row = db.execute(f"SELECT * FROM {table} WHERE n = ?", (number,)).fetchone()
    except sqlite3.OperationalError:
        return False
    return row is None or all(
        type(value) is _TYPES[kind] or (value is None and not needed)
        for value, (_, _, kind, needed, _, _) in zip(row, columns, strict=True)
    )
