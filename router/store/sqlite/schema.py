"""The schema's versions: each migration is one file, applied in one transaction."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from router.errors import StoreRefused

APPLICATION_ID = 0x57_48_52_31
"""Marks the file as ours ("WHR1"), so that no other SQLite file is taken for a store."""

_FILES = sorted((Path(__file__).parent / "migrations").glob("[0-9]*.sql"))
MIGRATIONS = tuple([path.read_text("utf-8") for path in _FILES])
NAMES = tuple([path.stem for path in _FILES])


def check(db: sqlite3.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> int:
    """
    The version this file has.

    Raises:
        StoreRefused: the file is not a store, or a newer router wrote it.
    """
    version, application = _number(db, "user_version"), _number(db, "application_id")
    if version > len(migrations):
        raise StoreRefused(
            f"the store has schema {version}, this router knows {len(migrations)}: "
            "it was written by a newer router; install that one"
        )
    if application != APPLICATION_ID and (application or version or _tables(db)):
        raise StoreRefused("this SQLite file is not a router's store; name another file")
    return version


def migrate(db: sqlite3.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """
    Bring the file to the newest version, one atomic step after another.

    Raises:
        StoreRefused: as `check`.
    """
    for number in range(check(db, migrations) + 1, len(migrations) + 1):
        _apply(db, migrations[number - 1], number)


def _apply(db: sqlite3.Connection, script: str, number: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(script):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def statements(script: str) -> Iterator[str]:
    """The script's statements one by one: `executescript` would commit before the first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


def _tables(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
