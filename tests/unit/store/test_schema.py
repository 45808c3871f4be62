"""Migrations: old or new, never between; and never backwards."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store import schema
from router.store.sqlite import open_store
from tests.clocks import ManualClock

NEXT = "CREATE TABLE extra (n INTEGER);\nINSERT INTO extra VALUES (1);\n"


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_an_empty_file_gets_the_newest_schema(path: Path) -> None:
    db = opened(path)
    schema.migrate(db)
    assert version(db) == len(schema.MIGRATIONS)
    schema.migrate(db)
    db.close()


def test_migrations_go_on_from_where_the_file_is(path: Path) -> None:
    db = opened(path)
    schema.migrate(db)
    schema.migrate(db, (*schema.MIGRATIONS, NEXT))
    assert db.execute("SELECT n FROM extra").fetchall() == [(1,)]
    db.close()


@pytest.mark.parametrize("fault", ["INSERT INTO nowhere VALUES (1);", "CREATE TABLE extra (n);"])
def test_a_failing_migration_changes_nothing(path: Path, fault: str) -> None:
    db = opened(path)
    schema.migrate(db)
    before = db.execute("SELECT * FROM sqlite_schema").fetchall()
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(db, (*schema.MIGRATIONS, NEXT + fault))
    assert db.execute("SELECT * FROM sqlite_schema").fetchall() == before
    assert version(db) == len(schema.MIGRATIONS)
    db.close()


def test_a_kill_within_a_migration_leaves_the_old_version(path: Path) -> None:
    script = (
        "import os, signal, sqlite3, sys\n"
        "from router.store import schema\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "schema.migrate(db)\n"
        "db.create_function('die', 0, lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
        "schema.migrate(db, (*schema.MIGRATIONS, sys.argv[2] + 'SELECT die();'))\n"
    )
    run = subprocess.run([sys.executable, "-c", script, str(path), NEXT], check=False)
    assert run.returncode == -9
    db = opened(path)
    assert version(db) == len(schema.MIGRATIONS)
    schema.migrate(db, (*schema.MIGRATIONS, NEXT))
    assert version(db) == len(schema.MIGRATIONS) + 1
    db.close()


async def test_a_newer_schema_is_refused(path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    db = opened(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreRefused, match="written by a newer router"):
        await open_store(str(path), clock=ManualClock())


def test_statements_end_where_sqlite_says(path: Path) -> None:
    script = (
        "-- a; comment\nCREATE TABLE t (x); \n"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN\n  DELETE FROM t;\nEND;\n"
    )
    assert len(list(schema.statements(script))) == 2
