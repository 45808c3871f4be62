"""What is done to a store from outside a server: a look, a line of its audit."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from router.model.operations import Audit
from router.store.common.states import STATES
from router.store.sqlite import audit_log, journal, location, schema
from router.store.sqlite.connection import open_existing, open_writer, refusing
from router.store.sqlite.fragments import DUE, OFFSET


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
    deliveries: int
    newest_at: int | None
    keys: int
    jobs: dict[str, int]
    oldest_due_at: int | None


def about(path: Path) -> StoreFacts:
    """
    Look at a store, beside a running server or not.

    Raises:
        StoreRefused: there is none, it is none of this router's, or of another schema.
    """
    with refusing(path), closing(open_existing(path)) as db:
        db.execute("BEGIN")
        schema.require(db)
        return _about(db, path)


def _about(db: sqlite3.Connection, path: Path) -> StoreFacts:
    def one(sql: str) -> int | None:
        row = db.execute(sql).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    jobs = db.execute("SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state")
    page = one("PRAGMA page_size") or 0
    return StoreFacts(
        path=str(path),
        bytes=path.stat().st_size,
        journal_bytes=journal.journal_bytes(path),
        free_bytes=page * (one("PRAGMA freelist_count") or 0),
        schema=schema.VERSION,
        deliveries=one("SELECT count(*) FROM deliveries") or 0,
        newest_at=one("SELECT received_at FROM deliveries ORDER BY n DESC LIMIT 1"),
        keys=one("SELECT count(*) FROM keys") or 0,
        jobs={STATES[state]: count for state, count in jobs},
        oldest_due_at=one(f"SELECT min(due_at) + {OFFSET} FROM jobs WHERE {DUE}"),
    )


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
        schema.require(db)
        audit_log.add(db, audit)
