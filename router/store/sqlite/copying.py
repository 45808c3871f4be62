"""
Copies of a store: made while a server writes it, and put in the place of one that nobody holds.

A copy is all that was committed at one moment: it is read in one transaction, which hinders no
writer; only the journal cannot be reset until that ends. It counts as a copy once it is synced,
checked page by page and has its name.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from router.errors import StoreRefused, UsageError, os_errors_refused
from router.model.operations import Audit
from router.store.sqlite import location, schema
from router.store.sqlite.connection import (
    DAMAGED,
    open_read_only,
    open_unchanging,
    refusal,
    refusing,
)
from router.store.sqlite.outside import write_audit

STEP_PAGES = 1_000
STEP_OPERATIONS = 10
"""Of SQLite's virtual machine: a row takes about five, however large it is."""
FAULTS_SHOWN = 3

Progress = Callable[[int, int], None]
"""Called with how many pages are left, and of how many."""


class Copied(msgspec.Struct, frozen=True):
    """A finished copy. `kept`: where the store that stood in its place lies now."""

    path: str
    bytes: int
    schema: int
    kept: str | None = None


def _unobserved(_left: int, _pages: int) -> None:
    """Nobody observes the progress."""


def backup(
    store: Path, destination: Path, *, force: bool = False, progress: Progress = _unobserved
) -> Copied:
    """
    Copy a store, whether a server runs or not, into one file that needs no other beside it.

    Raises:
        StoreRefused: there is no store, or it is damaged.
        UsageError: the destination cannot be written, exists (and not `force`), or is the store.
    """
    if not store.is_file():
        raise StoreRefused(f"there is no store at {store}")
    if Path(f"{store}.dry").exists():
        raise StoreRefused(f"{store} holds jobs of a --dry run: there is nothing to keep")
    _check_destination(store, destination, force=force)
    with _unfinished(destination) as fresh:
        _copy(store, open_read_only, fresh, progress)
        fresh.replace(destination)
        location.sync(destination.parent)
    return Copied(str(destination), destination.stat().st_size, schema.VERSION)


def restore(
    source: Path,
    store: Path,
    *,
    stamp: str,
    audit: Audit | None = None,
    progress: Progress = _unobserved,
) -> Copied:
    """
    Put a backup in the place of a store; the old one is kept beside it, under a name with `stamp`.
    The line `audit` is in the store from its first moment.

    A kill at any moment leaves the old store, the new one, or a store that refuses to start and
    asks for this command again; never half of one.

    Raises:
        StoreRefused: a server holds the store; the backup is damaged, no store, or of another
            schema; the place is that of a --dry run.
        UsageError: there is no such backup, or it is the store itself.
    """
    _check_source(source, store)
    location.check_folder(store.parent)
    # Reading a file that is all there is makes nothing beside it.
    opened = open_read_only if Path(f"{source}-wal").exists() else open_unchanging
    with closing(location.Lock(store)):
        with _unfinished(store) as fresh:
            _copy(source, opened, fresh, progress)
            if audit is not None:
                write_audit(fresh, audit)
                location.sync(fresh)
            fresh.replace(location.restoring(store))
        kept = _put_aside(store, stamp)
        location.restoring(store).replace(store)
        location.sync(store.parent)
    return Copied(str(store), store.stat().st_size, schema.VERSION, str(kept) if kept else None)


def _check_destination(store: Path, destination: Path, *, force: bool) -> None:
    if destination.is_dir():
        raise UsageError(f"{destination} is a folder; name a file in it")
    if not destination.parent.is_dir():
        raise UsageError(f"the folder {destination.parent} does not exist")
    if destination.exists():
        if destination.samefile(store):
            raise UsageError(f"{destination} is the store itself")
        if not force:
            raise UsageError(
                f"{destination} exists; name another file, or overwrite it with --force"
            )


def _check_source(source: Path, store: Path) -> None:
    if not source.is_file():
        raise UsageError(f"there is no backup {source}")
    if store.exists() and source.samefile(store):
        raise UsageError(f"{source} is the store itself")
    if Path(f"{store}.dry").exists():
        raise StoreRefused(f"{store} is the store of a --dry run; remove it first")


@contextmanager
def _unfinished(destination: Path) -> Iterator[Path]:
    """A new file of ours beside the destination, gone again if it does not become it."""
    fresh = destination.with_name(f"{destination.name}.{os.getpid()}.new")
    with os_errors_refused(f"cannot write {fresh}"):
        os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def _copy(
    source: Path,
    opened: Callable[[Path], sqlite3.Connection],
    fresh: Path,
    progress: Progress,
) -> None:
    """Copy, sync and check."""
    try:
        with closing(opened(source)) as db:
            pages = int(db.execute("PRAGMA page_count").fetchone()[0])
            size = int(db.execute("PRAGMA page_size").fetchone()[0])
            reached = 0

            def stepped() -> None:
                # A little at a time: one great sync at the end would keep the server's waiting.
                nonlocal reached
                if (written := fresh.stat().st_size // size) >= reached + STEP_PAGES:
                    location.sync(fresh)
                    reached = written
                    progress(max(1, pages - written), pages)

            db.set_progress_handler(stepped, STEP_OPERATIONS)
            # Row by row: what lies in unused parts of pages is left behind.
            db.execute("PRAGMA query_only = OFF")  # the connection is read-only all the same
            db.execute("VACUUM INTO ?", (str(fresh),))
            progress(0, pages)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
            raise refusal(source, error) from error
        raise StoreRefused(f"{source} could not be copied to {fresh.parent}: {error}") from error
    location.sync(fresh)
    _check(fresh, source)


def _check(fresh: Path, source: Path) -> None:
    """Pass if it is a whole and healthy store. Raises StoreRefused, naming where it came from."""
    with closing(open_unchanging(fresh)) as db, refusing(source):
        is_store = schema.check(db)
        found = db.execute(f"PRAGMA integrity_check({FAULTS_SHOWN})").fetchall()
    if found != [("ok",)]:
        faults = "; ".join(str(row[0]) for row in found)
        raise StoreRefused(f"{source} is damaged: {faults}")
    if not is_store:
        raise StoreRefused(f"{source} is not a router's store")


def _put_aside(store: Path, stamp: str) -> Path | None:
    """
    Give the old store another name, with its journal: they belong together.

    Both have their new names before either loses its old one.
    """
    kept = Path(f"{store}.before-{stamp}")
    parts = [s for s in ("", "-wal") if (of := Path(f"{store}{s}")).exists() and of.stat().st_size]
    for suffix in parts:
        Path(f"{kept}{suffix}").unlink(missing_ok=True)  # of a restore that was cut off
        Path(f"{kept}{suffix}").hardlink_to(f"{store}{suffix}")
    location.sync(store.parent)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{store}{suffix}").unlink(missing_ok=True)
    return kept if "" in parts else None
