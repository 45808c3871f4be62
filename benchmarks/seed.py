"""
Stores with a million of something in them, written before a router opens them.

Nothing is synced on the way, one sync at the end: how the rows came there is not what is measured.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import backlog
from router.clock import SystemClock
from router.model.settings import DAY_MS
from router.store.common.states import OUTCOME, STATE
from router.store.sqlite import accepting, location, schema
from router.store.sqlite.connection import open_writer
from router.store.sqlite.fragments import PLACE_BITS
from router.store.sqlite.writer_state import Book

MILLION = 1_000_000
GROUP = 1_000
BODY = b'{"ref":"refs/heads/main","repository":{"full_name":"example/engine"}}'


@contextmanager
def unsynced(path: Path) -> Iterator[sqlite3.Connection]:
    """A store, made as the router makes it, open for writing in bulk; durable at the end."""
    location.prepare(path)
    db = open_writer(path)
    schema.make(db)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000"):
        db.execute(f"PRAGMA {setting}")
    db.execute("BEGIN")
    yield db
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def keys(path: Path, endpoint: str, count: int = MILLION) -> None:
    """
    Random keys of an endpoint, each of 36 characters, live for a week from now.

    In no order: an index filled in order has fuller pages than any that grew.
    """
    draw = random.Random(1)  # noqa: S311 - keys of a benchmark
    until = int(time.time() * 1000) + 7 * DAY_MS
    prefix = endpoint.encode() + b"\0"
    rows = (
        (prefix + draw.randbytes(18).hex().encode(), f"dlv_{n:026d}", until) for n in range(count)
    )
    with unsynced(path) as db:
        db.executemany("INSERT INTO keys (key, delivery, until) VALUES (?, ?, ?)", rows)


def jobs(path: Path, count: int = MILLION) -> None:
    """As many small deliveries, each with one job for the target `sink`, due since long."""
    clock = SystemClock()
    now = clock.now()  # when they were made: jobs grow too old to be tried
    with unsynced(path) as db:
        book = Book(db, path, clock)
        for first in range(1, count + 1, GROUP):
            numbers = range(first, min(first + GROUP, count + 1))
            accepting.accept_all(book, [(backlog.acceptance(n, BODY), now) for n in numbers])
            book.later.clear()  # nobody asks this book: it forgets what it would remember
            book.undo.clear()


def end(path: Path, count: int) -> None:
    """The first `count` jobs of `jobs` ran eight days ago: retention lets go of them."""
    ago = SystemClock().now() - 8 * DAY_MS
    last = count << PLACE_BITS | (1 << PLACE_BITS) - 1
    with unsynced(path) as db:
        db.execute(
            "INSERT INTO attempts SELECT n, 1, ?1, ?1, ?2, NULL, '{}', generation FROM jobs "
            "WHERE n <= ?3",
            (ago, OUTCOME["succeeded"], last),
        )
        db.execute(
            "UPDATE jobs SET state = ?, attempt = 1, due_at = ?, created_at = ?, started_at = ?, "
            "ended_at = ? WHERE n <= ?",
            (STATE["succeeded"], ago, ago, ago, ago, last),
        )
        db.execute("UPDATE deliveries SET received_at = ? WHERE n <= ?", (ago, count))
