"""What is done to a store from outside a server: a look, a migration, a line of its audit."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from router.errors import StoreRefused
from router.model.operations import Audit
from router.store.common.states import STATES
from router.store.sqlite import audit_log, journal, location, schema
from router.store.sqlite.connection import open_existing, open_writer, refusing
from router.store.sqlite.fragments import DUE, OFFSET
from router.store.values import MigrationStep


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


def about(path: Path) -> StoreFacts:
    """
    Look at a store of any version, beside a running server or not.

    Raises:
        StoreRefused: there is none, or it is none of this router's.
    """
    with refusing(path), closing(open_existing(path)) as db:
        db.execute("BEGIN")
        return _about(db, path, schema.check(db))


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
    with refusing(path), closing(open_existing(path)) as db:
        found = schema.check(db)
        return MigrationStep(found, len(schema.MIGRATIONS), schema.NAMES[found:])


def upgrade(path: Path) -> MigrationStep:
    """
    Bring a store that no server holds to today's schema, one atomic step after another.

    Raises:
        StoreRefused: as `about`, or a server holds it.
    """
    step = due(path)
    if step.before != step.after:
        with refusing(path), closing(location.Lock(path)):
            location.prepare(path)
            journal.check(path)
            with closing(open_writer(path)) as db:
                schema.migrate(db)
    return step


def note_audit(store: Path, audit: Audit) -> None:
    """
    Add a line to the audit of a store that no server holds.

    Raises:
        StoreRefused: one holds it, or its schema is not this router's.
    """
    with closing(location.Lock(store)):
        write_audit(store, audit)


def write_audit(file: Path, audit: Audit) -> None:
    """
    The same in a file that nobody else has open; nothing is left beside it.

    Raises:
        StoreRefused: its schema is not this router's, or it cannot be written.
    """
    with closing(open_writer(file)) as db:
        if schema.check(db) != len(schema.MIGRATIONS):
            raise StoreRefused(f"{file} has the schema of an older router")
        audit_log.add(db, audit)
