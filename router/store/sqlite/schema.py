"""The schema of the file: one script, run in one transaction."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from router.errors import StoreRefused

APPLICATION_ID = 0x57_48_52_31
"""Marks the file as ours ("WHR1"), so that no other SQLite file is taken for a store."""

VERSION = 10
SCRIPT = Path(__file__).with_name("schema.sql").read_text("utf-8")


def check(db: sqlite3.Connection) -> bool:
    """
    Whether the tables are there; False: the file is empty.

    Raises:
        StoreRefused: the file is not a store, or has another schema.
    """
    version, application = _number(db, "user_version"), _number(db, "application_id")
    if application != APPLICATION_ID:
        if application or version or _tables(db):
            raise StoreRefused("this SQLite file is not a router's store; name another file")
        return False
    if version > VERSION:
        raise StoreRefused(
            f"the store has schema {version}, this router knows {VERSION}: "
            "it was written by a newer router; install that one"
        )
    if version < VERSION:
        raise StoreRefused(
            f"the store has schema {version}, this router knows {VERSION}: it was made by an "
            "earlier development version, and nothing of that schema was released. Start with an "
            f"empty store, or bring this one to schema {VERSION} first: `router store migrate` of "
            "commit 1f9af773"
        )
    return True


def require(db: sqlite3.Connection) -> None:
    """Pass if the tables are there. Raises StoreRefused: as `check`, or the file is empty."""
    if not check(db):
        raise StoreRefused("this SQLite file is empty; `router serve` makes it a store")


def make(db: sqlite3.Connection) -> None:
    """Make the tables of an empty file: all of them or none. Raises StoreRefused: as `check`."""
    if check(db):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(SCRIPT):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
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


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


def _tables(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
