"""What a store is, and how it comes to today's schema; for a person who asks."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from router.errors import StoreRefused
from router.store.sqlite import journal, location, schema
from router.store.sqlite.connection import open_read_only, open_writer, refusal
from router.store.sqlite.fragments import DUE, OFFSET, STATES


class StoreFacts(msgspec.Struct, frozen=True):
    """
    A store at a glance. Times in Unix milliseconds, sizes in bytes; `free_bytes` are pages that
    new deliveries fill before the file grows. `oldest_due_at` is of jobs that could run now or
    later by themselves.
    """

    path: str
    bytes: int
    journal_bytes: int
    free_bytes: int
    schema: int
    schema_wanted: int
    deliveries: int
    newest_at: int | None
    keys: int
    jobs: dict[str, int]
    oldest_due_at: int | None


class MigrationStep(msgspec.Struct, frozen=True):
    """A migration done, or to be done."""

    before: int
    after: int


def about(path: Path) -> StoreFacts:
    """
    Look at a store of any version, beside a running server or not.

    Raises:
        StoreRefused: there is none, or it is none of this router's.
    """
    with closing(_reading(path)) as db:
        try:
            db.execute("BEGIN")
            version = schema.check(db)
            return _about(db, path, version)
        except sqlite3.Error as error:
            raise refusal(path, error) from error


def _about(db: sqlite3.Connection, path: Path, version: int) -> StoreFacts:
    def one(sql: str) -> int | None:
        row = db.execute(sql).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    jobs = db.execute("SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state")
    page = one("PRAGMA page_size") or 0
    offset = OFFSET if version == len(schema.MIGRATIONS) else 0  # an older store has none
    return StoreFacts(
        path=str(path),
        bytes=path.stat().st_size,
        journal_bytes=journal.journal_bytes(path),
        free_bytes=page * (one("PRAGMA freelist_count") or 0),
        schema=version,
        schema_wanted=len(schema.MIGRATIONS),
        deliveries=one("SELECT count(*) FROM deliveries") or 0,
        newest_at=one("SELECT received_at FROM deliveries ORDER BY n DESC LIMIT 1"),
        keys=one("SELECT count(*) FROM keys") or 0,
        jobs={STATES[state]: count for state, count in jobs},
        oldest_due_at=one(f"SELECT min(due_at) + {offset} FROM jobs WHERE {DUE}"),
    )


def due(path: Path) -> MigrationStep:
    """
    The migration that a store needs; nothing is changed.

    Raises:
        StoreRefused: as `about`.
    """
    with closing(_reading(path)) as db:
        try:
            return MigrationStep(schema.check(db), len(schema.MIGRATIONS))
        except sqlite3.Error as error:
            raise refusal(path, error) from error


def upgrade(path: Path) -> MigrationStep:
    """
    Bring a store that no server holds to today's schema, one atomic step after another.

    Raises:
        StoreRefused: as `about`, or a server holds it.
    """
    step = due(path)
    if step.before == step.after:
        return step
    lock = location.Lock(path)
    try:
        location.prepare(path)
        journal.check(path)
        with closing(open_writer(path)) as db:
            schema.migrate(db)
    except sqlite3.Error as error:
        raise refusal(path, error) from error
    finally:
        lock.release()
    return step


def _reading(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreRefused(f"there is no store at {path}; `router serve` makes one")
    return open_read_only(path)
