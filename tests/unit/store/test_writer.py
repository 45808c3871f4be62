"""What the writer does when the disk does not do its part."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.errors import NotFound, StoreUnavailable
from router.model.job import NewJob, Predecessor
from router.store.sqlite import leasing, operations
from router.store.sqlite.connection import open_writer
from router.store.sqlite.store import SqliteStore, open_store
from router.store.sqlite.writer import Kind, Operation, Writer
from router.store.sqlite.writer_state import Book
from router.store.values import ALREADY, Accepted, Duplicate, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement

ALL = Selector()


async def within(store: SqliteStore, sql: str) -> None:
    """Run a statement on the writing connection."""
    await store._writer.submit("work", lambda book: book.db.execute(sql).fetchall())


async def test_a_full_disk_loses_the_batch_and_nothing_else(
    store: SqliteStore, make: Maker
) -> None:
    first, big, last = make.acceptance(), make.acceptance(body=b"x" * 400_000), make.acceptance()
    await store.accept(first)
    await within(store, "PRAGMA max_page_count = 60")
    with pytest.raises(StoreUnavailable, match="full"):
        await store.accept(big)
    assert not store.failure.done()
    await within(store, "PRAGMA max_page_count = 100000")
    await store.accept(last)
    assert [s.id for s in await store.reads.deliveries(ALL)] == [
        last.delivery.id,
        first.delivery.id,
    ]
    await store.accept(big)


LIMITED = """
import asyncio, os, resource, signal, sys
from router.errors import StoreUnavailable
from router.store.sqlite.store import open_store
from tests.clocks import ManualClock
from tests.store_values import Maker

async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store, make = await open_store(sys.argv[1], clock=ManualClock()), Maker()
    await store.accept(make.acceptance())
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    for _ in range(3):
        try:
            await store.accept(make.acceptance(body=b"x" * 400_000))
        except StoreUnavailable:
            print("unavailable")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(type(await store.accept(make.acceptance())).__name__, store.failure.done())
    await store.close()

asyncio.run(main())
"""


def test_a_file_size_limit_passes_when_it_is_lifted(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert run.stdout.split() == ["unavailable"] * 3 + ["Accepted", "False"]
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM deliveries").fetchone() == (2,)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


async def test_after_a_failed_sync_nothing_is_written_any_more(
    store: SqliteStore, make: Maker
) -> None:
    def fail(_: Book) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode, error.sqlite_errorname = 1034, "SQLITE_IOERR_FSYNC"
        raise error

    kept = make.acceptance()
    await store.accept(kept)
    failing = [store._writer.submit("work", fail), *[store.accept(make.acceptance())] * 1]
    answers = await asyncio.gather(*failing, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
    assert "SQLITE_IOERR_FSYNC" in await store.failure
    with pytest.raises(StoreUnavailable, match="writes no more"):
        await store.accept(make.acceptance())
    with pytest.raises(StoreUnavailable, match="writes no more"):
        await store.ready()
    assert [s.id for s in await store.reads.deliveries(ALL)] == [kept.delivery.id]


class Unsure:
    """A connection whose next COMMIT is done, and says that it was not."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db, self.lies = db, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        done = self._db.execute(sql, *values)
        if sql == "COMMIT" and self.lies:
            self.lies -= 1
            error = sqlite3.OperationalError("interrupted")
            error.sqlite_errorcode, error.sqlite_errorname = 9, "SQLITE_INTERRUPT"
            raise error
        return done


class Doubtful:
    """A writer on such a connection."""

    def __init__(self, path: Path) -> None:
        self.writer = Writer(lambda: self._open(path), lambda _: None, lambda _n, _s: None)

    def _open(self, path: Path) -> Book:
        self.book = Book(open_writer(path), path, ManualClock())
        self.db = self.book.db = Unsure(self.book.db)  # type: ignore[assignment]
        return self.book

    async def ask(self, kind: Kind, payload: Any) -> Any:
        if kind == "work":
            return await self.writer.submit(kind, payload)
        (answer,) = await self.writer.submit(kind, (payload,), START_MS)
        return answer

    async def in_doubt(self, kind: Kind, payload: Any) -> None:
        """It is done, and whoever asked hears that it was not."""
        self.db.lies = 1
        with pytest.raises(StoreUnavailable, match="interrupted"):
            await self.ask(kind, payload)


@pytest.fixture
async def doubtful(path: Path) -> AsyncIterator[Doubtful]:
    await (await open_store(str(path), clock=ManualClock())).close()
    made = Doubtful(path)
    await made.writer.start()
    yield made
    await made.writer.close()


async def test_after_a_commit_in_doubt_no_number_is_given_twice(
    doubtful: Doubtful, make: Maker
) -> None:
    """Of deliveries, generations, runs: all are new with the one whose commit is in doubt."""

    def linked(name: str) -> list[NewJob]:
        return [make.job(action="a", run=name), make.job(run=name, after=(Predecessor("a"),))]

    first = make.acceptance(b"k", jobs=linked("r"), generation="g1")
    await doubtful.in_doubt("accept", first)
    again = make.acceptance(b"k", generation="g1")
    assert await doubtful.ask("accept", again) == Duplicate(first.delivery.id)
    other = make.acceptance(jobs=linked("s"), generation="g1")
    assert await doubtful.ask("accept", other) == Accepted(other.delivery.id)


async def test_after_a_commit_in_doubt_running_jobs_are_looked_up(
    doubtful: Doubtful, make: Maker
) -> None:
    """Handed over in one that is in doubt, settled in another: each is held once."""
    chain = [
        make.job(action="a", run="r"),
        make.job(action="b", run="r", after=(Predecessor("a"),)),
    ]
    stored = make.acceptance(jobs=chain)
    await doubtful.ask("accept", stored)
    batch = await doubtful.ask(
        "work", lambda book: leasing.lease(book, {"erp": 1}, lease="b/1", now=FAR)
    )
    ending = (a_settlement(batch.jobs[0].job), None)
    assert doubtful.book.linked
    await doubtful.in_doubt("work", operations.beat)
    assert (await doubtful.ask("settle", ending)).freed, "the run is known again"
    assert await doubtful.ask("settle", ending) == ALREADY
    assert not doubtful.book.running


async def test_copies_in_doubt_are_counted_once(doubtful: Doubtful, make: Maker) -> None:
    for _ in range(3):
        await doubtful.ask("accept", make.acceptance(b"k"))
    await doubtful.in_doubt("work", operations.write_copies)
    await doubtful.ask("accept", make.acceptance(b"k"))
    await doubtful.ask("work", operations.write_copies)
    assert await doubtful.ask("work", lambda book: book.one("SELECT count FROM copies")) == 3


async def test_a_closed_store_says_so(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.accept(make.acceptance())


async def test_closing_finishes_what_is_queued(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    waiting = [asyncio.create_task(store.accept(make.acceptance())) for _ in range(300)]
    await asyncio.sleep(0)
    await store.close()
    assert all(type(receipt) is Accepted for receipt in await asyncio.gather(*waiting))


async def test_a_caller_that_went_away_spoils_nothing(store: SqliteStore, make: Maker) -> None:
    gone, stays = make.acceptance(), make.acceptance()
    task = asyncio.create_task(store.accept(gone))
    await asyncio.sleep(0)
    task.cancel()
    await store.accept(stays)
    assert len(await store.reads.deliveries(ALL)) == 2


async def test_a_batch_of_more_than_a_statement_takes(store: SqliteStore, make: Maker) -> None:
    events = [make.event(i, b"%d" % i) for i in range(1000)]
    await store.accept(make.acceptance(events=events, event_count=1000))
    assert len(await store.reads.jobs(Selector(limit=2000))) == 1000
    copy = make.acceptance(events=events, event_count=1000)
    assert type(await store.accept(copy)).__name__ == "Duplicate"


async def test_the_journal_is_emptied_into_the_file(store: SqliteStore, make: Maker) -> None:
    body = b"x" * 1_000_000
    for _ in range(40):
        await store.accept(make.acceptance(body=body))
    journal = store._path.with_name("router.db-wal").stat().st_size
    assert journal < 24_000_000
    assert store._path.stat().st_size > 16_000_000


async def test_delivery_keys_and_jobs_are_one_transaction(store: SqliteStore, make: Maker) -> None:
    """No moment at which a delivery is there without its keys or its jobs."""
    said: list[str] = []
    await store._writer.submit("work", lambda book: book.db.set_trace_callback(said.append))
    await store.accept(make.acceptance(b"shop\0k", jobs=[make.job(), make.job(rule="other")]))
    await store._writer.submit("work", lambda book: book.db.set_trace_callback(None))
    # The first COMMIT is of the transaction that began to listen, the last BEGIN of the one after.
    assert said.count("COMMIT") == 2, said
    first = said.index("COMMIT")
    within = said[first + 1 : said.index("COMMIT", first + 1)]
    filled = {statement.split()[2] for statement in within if statement.startswith("INSERT INTO")}
    assert within[0] == "BEGIN IMMEDIATE"
    assert filled >= {"keys", "deliveries", "jobs"}, said


async def test_what_was_queued_before_a_failure_was_known_is_answered(
    store: SqliteStore, make: Maker
) -> None:
    """It stood in the queue when the disk failed: nothing of it is written, and that is said."""
    loop = asyncio.get_running_loop()
    behind = Operation("work", lambda _book: "written", loop.create_future())

    def fail(_: Book) -> None:
        store._writer._queue.put(behind)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode, error.sqlite_errorname = 1034, "SQLITE_IOERR_FSYNC"
        raise error

    with pytest.raises(StoreUnavailable, match="could not commit"):
        await store._writer.submit("work", fail)
    with pytest.raises(StoreUnavailable, match="writes no more"):
        await behind.future


async def test_an_item_that_fails_alone_spoils_no_other_and_says_why(
    store: SqliteStore, make: Maker
) -> None:
    def odd(_: Book) -> None:
        raise ValueError("odd")

    def refused(_: Book) -> None:
        raise NotFound("nothing there")

    kept = make.acceptance()
    answers = await asyncio.gather(
        store._writer.submit("work", odd),
        store._writer.submit("work", refused),
        store.accept(kept),
        return_exceptions=True,
    )
    assert [type(one) for one in answers] == [StoreUnavailable, NotFound, Accepted]
    assert "this cannot be stored: odd" in str(answers[0])
    assert not store.failure.done()
    assert [s.id for s in await store.reads.deliveries(ALL)] == [kept.delivery.id]


async def test_closing_twice_does_nothing(path: Path) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    await store.close()
    await store._writer.close()
    assert store._writer._queue.empty()


async def test_what_is_committed_into_a_store_that_is_gone_is_not_answered(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """Nor anything after it. What had been answered is in the file, without its journal."""
    kept = make.acceptance()
    await store.accept(kept)
    away = path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(StoreUnavailable, match=f"the store is gone: {path} was taken away"):
        await store.accept(make.acceptance())
    assert "the store is gone" in await store.failure
    with pytest.raises(StoreUnavailable, match="the store is gone"):
        await store.ready()
    away.rename(path)
    with pytest.raises(StoreUnavailable, match="the store is gone"):
        await store.ready()
    await store.close()
    assert not Path(f"{path}-wal").exists() or not Path(f"{path}-wal").stat().st_size
    again = await open_store(str(path), clock=ManualClock())
    assert kept.delivery.id in {one.id for one in await again.reads.deliveries(ALL)}
    await again.close()


async def test_whatever_stands_in_place_of_the_lock_file_the_writer_goes_on(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    lock = Path(f"{path}.lock")
    lock.unlink()
    lock.symlink_to(lock)  # to itself: it can be neither read nor opened
    for _ in range(2):
        async with asyncio.timeout(10):
            await store.accept(make.acceptance())


@pytest.mark.long
async def test_a_store_that_nobody_writes_is_looked_for(store: SqliteStore, path: Path) -> None:
    path.unlink()
    assert "the store is gone" in await store.failure


async def test_what_waits_when_the_store_is_found_gone_is_refused(path: Path) -> None:
    await (await open_store(str(path), clock=ManualClock())).close()
    go, reported = threading.Event(), list[str]()
    writer = Writer(
        lambda: Book(open_writer(path), path, ManualClock()),
        reported.append,
        lambda _n, _s: None,
        lambda: "it is not there",
    )
    await writer.start()
    held = writer.submit("work", lambda _book: go.wait(10))
    waiting = [writer.submit("work", lambda book: book.pages) for _ in range(3)]
    go.set()
    answers = await asyncio.gather(held, *waiting, return_exceptions=True)
    assert [str(one) for one in answers] == ["the store is gone: it is not there"] * 4
    await writer.close()
    assert reported == ["the store is gone: it is not there"]
