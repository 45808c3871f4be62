"""The tables are made whole or not at all; a store of any other schema is refused."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.sqlite import schema
from router.store.sqlite.reader import open_reader
from router.store.sqlite.store import open_store
from tests.clocks import ManualClock

KILLED_ANYWHERE = """
import os, signal, sqlite3, sys
from router.store.sqlite import schema

class Dying(sqlite3.Connection):
    left = -1
    def execute(self, *args):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*args)

path, step, ended, there = sys.argv[1], 0, 9, []
while ended == 9:
    step += 1
    child = os.fork()
    if child == 0:
        db = sqlite3.connect(path, isolation_level=None, factory=Dying)
        db.left = step
        schema.make(db)
        db.close()
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    db = sqlite3.connect(path)
    there.append(schema.check(db))
    tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    assert bool(tables) == there[-1], (step, tables)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
assert ended == 0, ended
print(step, there[-1], any(there[:-1]))
"""


@pytest.mark.long
def test_a_kill_at_any_statement_leaves_an_empty_file_or_a_store(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED_ANYWHERE, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    steps, *ends = run.stdout.split()
    assert int(steps) > 30
    assert ends == ["True", "False"]


def test_a_statement_that_fails_leaves_nothing(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA max_page_count = 8")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            schema.make(db)
        assert not schema.check(db)
        with pytest.raises(StoreRefused, match="is empty"):
            schema.require(db)


@pytest.mark.parametrize(
    ("version", "words"),
    [(99, "written by a newer router"), (9, "made by an earlier development version")],
)
async def test_another_schema_is_refused(path: Path, version: int, words: str) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match=words):
        await open_store(str(path), clock=ManualClock())
    with pytest.raises(StoreRefused, match=words):
        open_reader(str(path))
    assert path.read_bytes() == before


def test_statements_end_where_sqlite_says() -> None:
    script = (
        "-- a; comment\nCREATE TABLE t (x); \n"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN\n  DELETE FROM t;\nEND;\n"
    )
    assert len(list(schema.statements(script))) == 2
