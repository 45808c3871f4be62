"""A writer whose disk fails as a test says, and whose checkpoints are counted."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from router.store.sqlite.connection import open_writer
from router.store.sqlite.writer import Writer
from router.store.sqlite.writer_state import Book
from tests.clocks import ManualClock

CHECKPOINT, LAST = "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(TRUNCATE)"


def fault(name: str) -> sqlite3.OperationalError:
    """What SQLite raises of this name."""
    error = sqlite3.OperationalError(name.lower())
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name
    return error


class Watched:
    """A connection that tells of its checkpoints, and whose checkpoints may fail."""

    def __init__(self, db: sqlite3.Connection, happened: list[str]) -> None:
        self._db, self._happened = db, happened
        self.fails: sqlite3.Error | None = None
        self.left_over = False
        """A reader keeps the last pages from being written back."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == CHECKPOINT:
            self._happened.append("checkpoint")
            if self.fails is not None:
                raise self.fails
            if self.left_over:
                return self._db.execute("SELECT 0, 10, 9")
        if sql == LAST:
            self._happened.append("last checkpoint")
            if self.fails is not None:
                raise self.fails
        return self._db.execute(sql, *values)


class Rig:
    """A writer on such a connection: what it did, and what it told."""

    def __init__(self, path: Path) -> None:
        self.happened: list[str] = []
        self.reported: list[int] = []
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.writer = Writer(
            lambda: self._open(path),
            self.failure.set_result,
            lambda writes, _seconds: self.reported.append(writes),
        )

    def _open(self, path: Path) -> Book:
        self.book = Book(open_writer(path), path, ManualClock())
        self.db = self.book.db = Watched(self.book.db, self.happened)  # type: ignore[assignment]
        return self.book

    async def write(self, pages: int) -> None:
        """A transaction of one operation that writes so many pages."""
        await self.writer.submit("work", lambda book: self._count(book, pages))

    @staticmethod
    def _count(book: Book, pages: int) -> None:
        book.pages += pages

    async def checkpoints(self) -> int:
        """How many there have been by now."""
        await self.write(0)
        return self.happened.count("checkpoint")
