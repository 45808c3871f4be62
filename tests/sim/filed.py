"""
The real store in a real file under virtual time: its own code, but no thread and no real waiting.

What waits for the writer is committed together in one turn of the loop, after a time that the seed
draws, so that group commits, their order and their failures are those of the schedule. With a twin
every verb goes to the plain model as well, in the order in which the writer did them, and each
answer must be the same.
"""

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from router.clock import Clock
from router.store.protocol import Store
from router.store.sqlite import location
from router.store.sqlite.inline import InlineReader, InlineWriter
from router.store.sqlite.store import SqliteStore, open_store
from router.store.sqlite.writer import Kind, Operation, _set, checkpoint_pages
from router.store.sqlite.writer_state import Book
from router.store.values import uncounted

Twin = Callable[[], Coroutine[Any, Any, Any]]
ASKED: ContextVar[Twin | None] = ContextVar("ASKED", default=None)
"""What the model is asked when the verb that is under way here is done by the writer."""


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The answer of something that is async in name only."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the model must not wait")


class Breaks:
    """
    Breaks a transaction off in the middle, once, after so many steps of SQLite's machine. Not when
    COMMIT has done its work: no error but those that end the store comes so late.
    """

    def __init__(self, db: sqlite3.Connection, rng: random.Random) -> None:
        self._db, self._left = db, rng.choice((1, 3, 10))
        db.set_progress_handler(self._step, 40)

    def _step(self) -> int:
        self._left -= 1
        return int(self._left == 0 and self._db.in_transaction)


class PausingWriter(InlineWriter):
    """`pause` is the time before and after a commit."""

    def __init__(
        self,
        open_book: Callable[[], Book],
        failed: Callable[[str], None],
        committed: Callable[[int, float], None],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(open_book, failed, committed)
        self._pause = pause
        self._twins: dict[asyncio.Future[Any], Twin | None] = {}
        self._turns: asyncio.Task[None] | None = None
        self.breaks: Callable[[sqlite3.Connection], Breaks | None] = lambda _db: None
        self.differ: Callable[[str], None] = lambda _text: None
        self.dead = False
        self.commits = 0

    def submit(self, kind: Kind, payload: Any, now: int = 0) -> "asyncio.Future[Any]":
        future = super().submit(kind, payload, now)
        self._twins[future] = ASKED.get()
        return future

    def take_turn(self) -> None:
        self._turns = self._loop.create_task(self._take_turns())

    async def _take_turns(self) -> None:
        while self._waiting and not self.dead:
            await self._pause()
            if self.dead:
                return
            waiting, self._waiting = self._waiting, []
            answers = self._done(waiting)
            await self._pause()
            if self.dead:
                return
            _set([(operation.future, answer) for operation, answer in answers])
        self._turning = False

    def _done(self, waiting: list[Operation]) -> Any:
        book = self.book
        broken = self.breaks(book.db)
        answers = self._commit(book, waiting)
        if broken is not None:
            book.db.set_progress_handler(None, 0)
        if book.pages >= checkpoint_pages(waiting):
            self._checkpoint(book)  # as `_run` does it: a journal without end makes every read slow
        self.commits += 1
        for operation, answer in answers:
            twin = self._twins.pop(operation.future)
            if twin is not None and not isinstance(answer, BaseException):
                self._compare(answer, at_once(twin()))
        return answers

    def _compare(self, answer: Any, expected: Any) -> None:
        if type(answer) is tuple:  # a step of a verb: how many, and where to go on
            answer = answer[0]
        if type(answer) is list and type(expected) is not list:  # a verb for one: a group of one
            (answer,) = answer
        if answer != expected and answer is not None:
            self.differ(f"the store says {answer}, the model {expected}")

    async def close(self) -> None:
        self.dead = True
        self.book.db.close()


class FiledStore(SqliteStore):
    """The store in a file, all of it on the loop."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    ) -> None:
        super().__init__(path, clock, location.Lock(path))
        opened = self._writer
        self.inline = PausingWriter(opened._open_book, self._fail, uncounted, pause)
        self._writer = self.inline

    async def start(self) -> None:
        await self._writer.start()
        # What survives is the file; that the disk keeps it is the matter of tests/faults.
        self.inline.book.db.execute("PRAGMA synchronous = OFF")
        self.reads = InlineReader(self._path, self._write_copies)

    def die(self) -> None:
        """The process is gone: what was not committed never will be."""
        self.inline.dead = True
        self.inline.book.db.close()
        self.reads._db.close()
        self._lock.close()


@contextmanager
def asking(twin: Twin | None) -> Iterator[None]:
    """Verbs begun within are asked of the model too."""
    token = ASKED.set(twin)
    try:
        yield
    finally:
        ASKED.reset(token)


async def a_blank(path: Path, clock: Clock) -> None:
    """An empty store at `path`, closed: copied, it saves each seed the migrations."""
    store: Store = await open_store(str(path), clock=clock)
    await store.close()
