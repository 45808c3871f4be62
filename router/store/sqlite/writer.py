"""The one thread that writes: it takes whatever waits, commits it together, and answers all."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Literal

import msgspec

from router.errors import RouterError, StoreRefused, StoreUnavailable
from router.store.common.damage import RESTORE, Damaged
from router.store.sqlite import accepting, operations, settling
from router.store.sqlite.connection import WRITER, open_read_only
from router.store.sqlite.damage import is_damage
from router.store.sqlite.writer_state import Book

BATCH = 256
"""Items from which a transaction takes no more operations."""

LARGE_BATCH = 1_000
"""Pages: what wrote as many has been waited for."""

CHECKPOINT_PAGES = 250
CHECKPOINT_MOST = 8_000
"""
Pages in the journal, for each item of the last batch, from which a checkpoint is due; at most.

A quiet store makes many small ones, so that nobody waits long for his answer; a busy one makes
few large ones, which write a page once that changed many times.
"""

EMPTY_EVERY_S = 1.0
"""How often a stale journal is emptied, at most."""

LOOK_S = 1.0
"""How often a store that nobody writes is looked for: is it still where it was opened?"""

_PASSING = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT,
    }
)
_FATAL = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_WRITE_FAILED = 778
"""SQLITE_IOERR_WRITE: nothing was committed; a quota or file size limit may be lifted again."""

Kind = Literal["accept", "settle", "work"]


class Operation(msgspec.Struct):
    """
    One request to the writer, and where its answer goes.

    The payload of `accept` and `settle` is a group of items, to be written at the ledger time
    `now`; the answer has what became of each. That of `work` is called with the book.
    """

    kind: Kind
    payload: Any
    future: "asyncio.Future[Any]"
    now: int = 0

    @property
    def items(self) -> int:
        """How many things it is about."""
        return 1 if self.kind == "work" else len(self.payload)


Batch = list[Operation]
Answers = list[tuple[Operation, Any]]


class Writer:
    """
    Commits operations in its own thread.

    After a sync has failed nothing is written any more: what reached the disk is unknown, and
    a second sync may succeed without having written. Nor when the files are `gone`, which is
    checked before the answers of each transaction are given: what was written may be found by
    nobody. `failed` is called once, `committed` after every transaction with its items and
    seconds; both on the loop.
    """

    def __init__(
        self,
        open_book: Callable[[], Book],
        failed: Callable[[str], None],
        committed: Callable[[int, float], None],
        gone: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._open_book = open_book
        self._failed = failed
        self._committed = committed
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._closed: str | None = None
        self._asked = -EMPTY_EVERY_S
        self._failure: str | None = None
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    async def start(self) -> None:
        """Open the store in the writer's thread; raises what opening raises."""
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread.start()
        await self._opened

    def submit(self, kind: Kind, payload: Any, now: int = 0) -> "asyncio.Future[Any]":
        """Queue an operation; the future has its answer once it is durable."""
        if self._closed is not None:
            raise StoreUnavailable(self._closed)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.put(Operation(kind, payload, future, now))
        return future

    async def close(self) -> None:
        """Finish what is queued, checkpoint, close the connection, end the thread."""
        if self._thread.is_alive():
            self._closed = self._closed or "the store is closed"
            self._queue.put(None)
            await asyncio.shield(self._ended)
        self._thread.join()

    # From here on: the writer's thread.

    def _run(self) -> None:
        try:
            book = self._open_book()
        except BaseException as error:  # noqa: BLE001 - raised again by start
            self._tell(_set, [(self._opened, error), (self._ended, None)])
            return
        self._tell(_set, [(self._opened, None)])
        last = False
        while not last:
            before = book.pages
            due, last = self._serve(book)
            # A batch of so many pages has kept others waiting: they go first.
            waited_for = book.pages - before > LARGE_BATCH and not self._queue.empty()
            if book.pages >= due and not waited_for:
                self._checkpoint(book)
            is_stale = book.stale_journal and book.clock.monotonic() >= self._asked + EMPTY_EVERY_S
            if book.wants_vacuum and not last:
                self._vacuum(book)
            elif (is_stale or book.wants_empty) and not waited_for:
                self._empty(book)
        self._finish(book)

    def _serve(self, book: Book) -> tuple[int, bool]:
        """
        Commit and answer what has gathered. Returns the pages from which a checkpoint is due, and
        whether that was the last.

        With the answers the batch is let go: the loop made its values and frees them cheaper.
        """
        batch, last = self._take()
        if batch:
            began = book.clock.monotonic()
            answers = self._commit(book, batch)
            self._tell(self._settled, (answers, book.clock.monotonic() - began))
        elif not last:
            self._look()
        return checkpoint_pages(batch), last

    def _take(self) -> tuple[Batch, bool]:
        """
        Wait for one operation, not for ever, then take what has gathered; True: up to the last
        call.
        """
        batch: Batch = []
        items = 0
        try:
            operation = self._queue.get(timeout=LOOK_S)
        except queue.Empty:
            return batch, False
        while operation is not None:
            batch.append(operation)
            items += operation.items
            if items >= BATCH or self._queue.empty():
                return batch, False
            operation = self._queue.get()
        return batch, True

    def _commit(self, book: Book, batch: Batch) -> Answers:
        if self._failure is None:
            answers = self._tried(book, batch)
            if self._failure is not None or self._look():
                return answers
        return [(one, StoreUnavailable(self._failure)) for one in batch]

    def _look(self) -> bool:
        """Whether the store's files are where they were; if not, nothing is written any more."""
        if self._failure is None and (gone := self._gone()):
            self._fail(f"the store is gone: {gone}")
        return self._failure is None

    def _tried(self, book: Book, batch: Batch) -> Answers:
        try:
            try:
                return _transaction(book, batch, _perform)
            except Exception as error:
                if _is_storage(error):
                    raise
            return _transaction(book, batch, _one_by_one)  # raises again, at the item to blame
        except Exception as error:  # noqa: BLE001 - the thread must live and answer everybody
            return self._lost(book, batch, error)

    def _lost(self, book: Book, batch: Batch, error: Exception) -> Answers:
        """The batch did not commit, or nobody knows; decide whether writing may go on."""
        book.pages = CHECKPOINT_MOST  # a full disk: what the journal holds makes room for more
        if not _is_passing(error):
            self._break(book, error)
        unavailable = _unavailable("the store could not commit", error)
        return [(operation, unavailable) for operation in batch]

    def _break(self, book: Book, error: Exception) -> None:
        book.broken = True
        if isinstance(error, Damaged):
            self._fail(f"the store is damaged and writes no more: {error}")
            return
        name = getattr(error, "sqlite_errorname", "error")
        remedy = f": {RESTORE}" if is_damage(error) else ""
        self._fail(f"the store has failed ({name}: {error}) and writes no more{remedy}")

    def _fail(self, reason: str) -> None:
        self._failure = self._closed = reason
        self._tell(self._failed, reason)

    def _checkpoint(self, book: Book, mode: Literal["PASSIVE", "TRUNCATE"] = "PASSIVE") -> None:
        if book.broken:
            return
        try:
            _, log, done = book.db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        except sqlite3.Error as error:
            if not _is_passing(error):
                self._break(book, error)
            log, done = 0, 0
        # A reader may have kept some pages back: they are tried again with the next ones.
        book.pages = 0 if done == log else CHECKPOINT_PAGES // 2

    def _vacuum(self, book: Book) -> None:
        """
        Write the whole file anew, as `book.vacuumed` tells; who has something to write waits. Cut
        off, it has changed nothing.
        """
        book.wants_vacuum = False
        if not self._look():
            return
        folder = str(book.path.parent).replace("'", "''")
        try:
            book.db.execute(f"PRAGMA temp_store_directory = '{folder}'")
            book.db.execute("PRAGMA temp_store = FILE")
            book.db.execute("VACUUM")
            book.vacuumed = None
        except sqlite3.Error as error:
            book.vacuumed = str(error)
            if is_damage(error) or error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR:
                self._break(book, error)
        finally:
            with contextlib.suppress(sqlite3.Error):
                book.db.execute(f"PRAGMA temp_store = {WRITER['temp_store']}")
        book.stale_journal = True
        book.pages = CHECKPOINT_MOST

    def _empty(self, book: Book) -> None:
        """Empty the journal; not while somebody reads it, whom nobody waits for."""
        self._asked, book.wants_empty = book.clock.monotonic(), False
        if not self._look():
            return
        try:
            book.db.execute("PRAGMA busy_timeout = 0")
            busy, _, _ = book.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            book.stale_journal &= bool(busy)
        except sqlite3.Error as error:
            if not _is_passing(error):
                self._break(book, error)
        finally:
            with contextlib.suppress(sqlite3.Error):
                book.db.execute(f"PRAGMA busy_timeout = {WRITER['busy_timeout']}")

    def _finish(self, book: Book) -> None:
        if book.copies:
            self._commit(book, [Operation("work", operations.write_copies, self._ended)])
        self._checkpoint(book, "TRUNCATE")
        with contextlib.suppress(sqlite3.Error, StoreRefused):
            if book.broken:
                # SQLite's own checkpoint, which hides a failed sync, is made by the last to close.
                with contextlib.closing(open_read_only(book.path)):
                    book.db.close()
            book.db.close()
        self._tell(_set, [(self._ended, None)])

    def _settled(self, done: tuple[Answers, float]) -> None:
        """On the loop: all are answered at once."""
        answers, seconds = done
        _set([(operation.future, answer) for operation, answer in answers])
        self._committed(sum([operation.items for operation, _ in answers]), seconds)

    def _tell(self, callback: Callable[[Any], None], argument: Any) -> None:
        # The loop is gone when its owner did not close the store: nobody is left to be answered.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, argument)


def checkpoint_pages(batch: Batch) -> int:
    """Pages in the journal from which a checkpoint is due after this batch."""
    return min(CHECKPOINT_PAGES * sum([one.items for one in batch]), CHECKPOINT_MOST)


def _perform(book: Book, batch: Batch) -> Answers:
    """
    The usual way, set by set: accepts first, then settlements, then the rest in order: nobody has
    been answered yet.
    """
    answers = _together(book, [one for one in batch if one.kind == "accept"], accepting.accept_all)
    answers += _together(book, [one for one in batch if one.kind == "settle"], settling.settle_all)
    answers += [(one, one.payload(book)) for one in batch if one.kind == "work"]
    return answers


def _together(book: Book, groups: Batch, write: "Callable[[Book, Any], list[Any]]") -> Answers:
    """Write the items of several groups as one batch."""
    if not groups:
        return []
    answers = iter(write(book, [(item, one.now) for one in groups for item in one.payload]))
    return [(one, list(islice(answers, len(one.payload)))) for one in groups]


def _transaction(book: Book, batch: Batch, perform: Callable[[Book, Batch], Answers]) -> Answers:
    """All of it, committed, or nothing."""
    try:
        book.begin()
        answers = perform(book, batch)
        book.commit()
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            if book.db.in_transaction:
                book.db.execute("ROLLBACK")
        book.unwind()
        raise
    return answers


def _one_by_one(book: Book, batch: Batch) -> Answers:
    """The careful way: a savepoint for each item, so that a bad one fails alone."""
    return [(one, _alone(book, one) if one.kind == "work" else _each(book, one)) for one in batch]


def _each(book: Book, group: Operation) -> list[Any]:
    """What became of each item: its answer, or the error."""
    answers: list[Any] = []
    for item in group.payload:
        answer = _alone(book, Operation(group.kind, (item,), group.future, group.now))
        answers += answer if type(answer) is list else (answer,)
    return answers


def _alone(book: Book, operation: Operation) -> Any:
    mark = book.mark()
    book.db.execute("SAVEPOINT item")
    try:
        accepts = operation.kind == "accept"
        known = accepting.accepted_before(book, operation.payload[0]) if accepts else None
        answer = [known] if known else _perform(book, [operation])[0][1]
    except Exception as error:
        if _is_storage(error):
            raise
        book.db.execute("ROLLBACK TO item")
        book.unwind(mark)
        unstorable = not isinstance(error, RouterError)
        answer = _unavailable("this cannot be stored", error) if unstorable else error
    book.db.execute("RELEASE item")
    return answer


def _unavailable(what: str, error: Exception) -> StoreUnavailable:
    unavailable = StoreUnavailable(f"{what}: {error}")
    unavailable.__cause__ = error
    return unavailable


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0))


def _is_storage(error: Exception) -> bool:
    """The disk or file is to blame, not an item."""
    is_said = _code(error) & 0xFF in _PASSING | _FATAL
    return is_said or isinstance(error, Damaged) or is_damage(error)


def _is_passing(error: Exception) -> bool:
    return _code(error) & 0xFF in _PASSING or _code(error) == _WRITE_FAILED


def _set(answers: "Sequence[tuple[asyncio.Future[Any], Any]]") -> None:
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
