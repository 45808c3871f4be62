"""
The store in memory, on the caller's loop: the writer's own code, without a thread or a file.

For whoever runs the router under virtual time, where a thread would bring chance in.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate

from router.clock import Clock
from router.store.sqlite import location, schema
from router.store.sqlite.connection import open_in_memory
from router.store.sqlite.reader import P, SqliteReader, T
from router.store.sqlite.store import SqliteStore
from router.store.sqlite.writer import Kind, Operation, Writer
from router.store.sqlite.writer_state import Book
from router.store.values import uncounted


class InlineWriter(Writer):
    """Commits on the loop: what is submitted in one turn is committed together in the next."""

    book: Book

    async def start(self) -> None:
        """Open the store."""
        self.book = self._open_book()
        self._waiting: list[Operation] = []
        self._turning = False

    def submit(self, kind: Kind, payload: Any, now: int = 0) -> "asyncio.Future[Any]":
        """Queue an operation; the future has its answer once it is committed."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append(Operation(kind, payload, future, now))
        if not self._turning:
            self._turning = True
            self.take_turn()
        return future

    def take_turn(self) -> None:
        """See to it that what waits is committed."""
        self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turning = False
        waiting, self._waiting = self._waiting, []
        self._settled((self._commit(self.book, waiting), 0.0))

    async def close(self) -> None:
        """Close the connection."""
        self.book.db.close()


class InlineReader(SqliteReader):
    """Answers on the loop."""

    async def ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer to a question, from one consistent state."""
        return self._answered(lambda db: question(db, *args, **kwargs))


class Memory:
    """A database without a file, for one store after another: each finds it empty."""

    def __init__(self) -> None:
        self.db = open_in_memory()
        schema.make(self.db)
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        # A virtual clock is never set: the one row of its steps is part of the schema.
        self._tables = [name for (name,) in self.db.execute(tables) if name != "clock_steps"]

    def empty(self) -> None:
        """Leave nothing of the store before."""
        for table in self._tables:
            self.db.execute(f"DELETE FROM {table}")


class MemoryStore(SqliteStore):
    """A store of its own while it is open: one at a time for each `memory`."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        super().__init__(Path(":memory:"), clock, location.NoLock(), uncounted)
        self._memory = memory
        self._writer = InlineWriter(self._open, self._fail, uncounted)

    def _open(self) -> Book:
        self._memory.empty()
        return Book(self._memory.db, self._path, self._clock)

    async def start(self) -> None:
        """Begin empty."""
        await self._writer.start()
        self.reads = InlineReader(self._path, self._write_copies, self._memory.db)

    async def empty_journal(self, name: str) -> bool:  # noqa: ARG002 - there is none
        return True

    async def close(self) -> None:
        """Stop what is under way; the memory is there for the next."""
        await self._counts.stop()
