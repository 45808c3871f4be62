"""Lines of the audit for what is done to a store from outside a server."""

from contextlib import closing
from pathlib import Path

from router.errors import StoreRefused
from router.model.operations import Audit
from router.store.sqlite import audit_log, location, schema
from router.store.sqlite.connection import open_writer


def note(store: Path, audit: Audit) -> None:
    """
    Add a line to a store that no server holds.

    Raises:
        StoreRefused: one holds it, or its schema is not this router's.
    """
    lock = location.Lock(store)
    try:
        write(store, audit)
    finally:
        lock.release()


def write(file: Path, audit: Audit) -> None:
    """
    The same in a file that nobody else has open; nothing is left beside it.

    Raises:
        StoreRefused: its schema is not this router's, or it cannot be written.
    """
    with closing(open_writer(file)) as db:
        if schema.check(db) != len(schema.MIGRATIONS):
            raise StoreRefused(f"{file} has the schema of an older router")
        audit_log.add(db, audit)
