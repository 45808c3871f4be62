"""Migrations: old or new, never between; and never backwards."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.common.columns import encode_events, encode_meta
from router.store.common.states import STATE
from router.store.sqlite import schema
from router.store.sqlite.store import open_store
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.store_values import GENERATION, Maker, a_settlement

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
        "from router.store.sqlite import schema\n"
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

path, step = sys.argv[1], 0
schema.migrate(sqlite3.connect(path, isolation_level=None), schema.MIGRATIONS[:1])
ended, versions = 9, []
while ended == 9:
    step += 1
    child = os.fork()
    if child == 0:
        db = sqlite3.connect(path, isolation_level=None, factory=Dying)
        db.left = step
        schema.migrate(db)
        db.close()
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    db = sqlite3.connect(path)
    versions.append(db.execute("PRAGMA user_version").fetchone()[0])
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    scratch = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(scratch, schema.MIGRATIONS[: versions[-1]])
    wanted = {name for (name,) in scratch.execute("SELECT name FROM sqlite_schema")}
    assert found == wanted, (step, found ^ wanted)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    if versions[-1] > 1 and ended == 9:  # a step was done before the kill: begin anew, die later
        os.unlink(path)
        schema.migrate(sqlite3.connect(path, isolation_level=None), schema.MIGRATIONS[:1])
assert ended == 0, ended
print(step, sorted(set(versions)))
"""


def test_a_kill_at_any_statement_leaves_one_version_or_the_next(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED_ANYWHERE, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    steps, _, versions = run.stdout.partition(" ")
    assert int(steps) > 20
    assert versions.strip() == str(list(range(1, len(schema.MIGRATIONS) + 1)))


async def test_a_newer_schema_is_refused(path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    db = opened(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreRefused, match="written by a newer router"):
        await open_store(str(path), clock=ManualClock())


async def test_a_store_of_schema_two_keeps_its_jobs(path: Path) -> None:
    """What waited then waited for its paused rule; jobs of that time have no run."""
    old = opened(path)
    schema.migrate(old, schema.MIGRATIONS[:2])
    old.execute("INSERT INTO generations (n, id, created_at) VALUES (1, 'g', 0)")
    meta = encode_meta(Maker().delivery())
    delivery = (1, "dlv_1", "shop", 0, 5, 1, "", encode_events([], 0), meta, b"{}")
    old.execute("INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", delivery)
    for place, state in enumerate(("available", "waiting", "running", "dead")):
        old.execute(
            "INSERT INTO jobs (n, id, state, due_at, target, rule, action, kind, event_index, "
            "event_id, event, created_at, generation, attempt, lease) "
            "VALUES (?, ?, ?, 5, 't', 'r', 'a', 0, 0, 'e', 'e', 5, 1, ?, 'old/1')",
            ((1 << 20) + place, f"job_{state}", STATE[state], int(state != "waiting")),
        )
    old.close()
    store = await open_store(str(path), clock=ManualClock())
    jobs = {job.state: job for job in await store.reads.jobs(Selector())}
    assert jobs["waiting"].waits_for == ("its paused rule",)
    assert [job.after for job in jobs.values()] == [()] * 4
    assert await store.hold(frozenset({"r"}), generation=GENERATION) == 1, (
        "the available one; the other waits already"
    )
    assert await store.hold(frozenset(), generation=GENERATION) == 2
    await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=6, on_interrupt_dead=frozenset()
    )
    assert await store.revive(Selector(), now=6) == 1
    batch = await store.lease({"t": 9}, lease="new/1", now=9)
    assert len(batch.jobs) == 4
    assert all([await store.settle(a_settlement(leased.job)) for leased in batch.jobs])
    await store.close()


def test_statements_end_where_sqlite_says(path: Path) -> None:
    script = (
        "-- a; comment\nCREATE TABLE t (x); \n"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN\n  DELETE FROM t;\nEND;\n"
    )
    assert len(list(schema.statements(script))) == 2
