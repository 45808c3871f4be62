"""Connections to SQLite: how they are set, and the proof that they are set so."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from router.errors import StoreRefused
from router.store.common import death_causes
from router.store.sqlite import location

WRITER = {
    "journal_mode": "wal",
    "synchronous": 2,
    "trusted_schema": 0,
    "cell_size_check": 1,
    "busy_timeout": 1000,
    "journal_size_limit": 64 * 1024 * 1024,
    "mmap_size": 0,
    "temp_store": 2,
    "foreign_keys": 0,
    "wal_autocheckpoint": 0,
    "secure_delete": 2,
    "cache_size": -32_000,
}
"""
Every setting is read back.

foreign_keys is off: the verbs keep the references, and checking them costs a lookup a row.
wal_autocheckpoint is off: SQLite hides a failing sync of its own checkpoints, the writer does not.
"""

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Primary codes of a file that is not what was written."""

_SPELT = {"secure_delete": "fast"}  # reads back as 2, but 2 would be taken for a plain "yes"

READER = {
    "query_only": 1,
    "trusted_schema": 0,
    "cell_size_check": 1,
    "busy_timeout": 1000,
    "mmap_size": 0,
    "temp_store": 2,
}


def _itself(value: Any) -> Any:
    return value


# Python's sqlite3 seeks an adapter for each value that is no int, float or str, and takes longest
# where there is none: this halves what binding bytes and None costs, in every statement.
for _type in (bytes, type(None)):
    sqlite3.register_adapter(_type, _itself)


def open_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes and checkpoints. Raises StoreRefused."""
    return _opened(f"file:{quote(str(path))}?mode=rw", path, WRITER)


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Raises StoreRefused."""
    return _opened(f"file:{quote(str(path))}?mode=ro", path, READER)


def open_existing(path: Path) -> sqlite3.Connection:
    """The same, of a store that may not be there yet. Raises StoreRefused."""
    if not path.is_file():
        raise StoreRefused(f"there is no store at {path}; `router serve` makes one")
    return open_read_only(path)


def open_unchanging(path: Path) -> sqlite3.Connection:
    """
    A connection to a file that nobody else has open; it makes no file beside it.

    Raises:
        StoreRefused: it cannot be opened.
    """
    return _opened(f"file:{quote(str(path))}?mode=ro&immutable=1", path, READER)


def open_in_memory() -> sqlite3.Connection:
    """A connection to an empty database of its own, without a file."""
    db = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=512
    )
    db.create_function("cause_of", 4, death_causes.key_of, deterministic=True)
    return db


def _opened(uri: str, path: Path, settings: Mapping[str, object]) -> sqlite3.Connection:
    db: sqlite3.Connection | None = None
    try:
        # One thread uses it at a time, but close() may come from another.
        db = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        _set(db, settings)
        db.create_function("cause_of", 4, death_causes.key_of, deterministic=True)
    except (sqlite3.Error, UnicodeDecodeError, StoreRefused) as error:
        if db is not None:
            db.close()
        if isinstance(error, StoreRefused):
            raise
        raise refusal(path, error) from error
    return db


def _set(db: sqlite3.Connection, settings: Mapping[str, object]) -> None:
    db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    for name, wanted in settings.items():
        db.execute(f"PRAGMA {name} = {_SPELT.get(name, wanted)}").fetchall()
        found = db.execute(f"PRAGMA {name}").fetchone()
        if found is not None and found[0] != wanted:
            raise StoreRefused(f"SQLite keeps {name} at {found[0]}, the store needs {wanted}")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What SQLite raises in here refuses the store at `path`. Raises StoreRefused."""
    try:
        yield
    except sqlite3.Error as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: sqlite3.Error | ValueError | TypeError) -> StoreRefused:
    """
    Why the store cannot be opened, in words for its operator.

    SQLite quotes what it cannot understand of a damaged schema, and Python cannot decode that;
    nor a text that is none, nor count with what is no number.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    unread = isinstance(error, (ValueError, TypeError)) or "Could not decode" in str(error)
    if code in DAMAGED or unread:
        return StoreRefused(
            f"{path} is damaged or not a store ({error}); it was left as it is: "
            "restore a backup, or move it away to start with an empty one"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreRefused(f"{path} is locked by another program ({error})")
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return StoreRefused(
            f"the making of {path} was cut off, and only looking cannot finish it: "
            "start `router serve` once"
        )
    is_io = code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    if code == sqlite3.SQLITE_FULL or (is_io and location.is_full(path.parent)):
        return location.without_room(path)
    return StoreRefused(f"{path} cannot be opened ({error})")
