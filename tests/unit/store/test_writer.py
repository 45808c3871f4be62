"""What the writer does when the disk does not do its part."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.store.book import Book
from router.store.protocol import Accepted, Selector
from router.store.sqlite import SqliteStore, open_store
from tests.clocks import ManualClock
from tests.store_values import Maker

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
    assert [s.id for s in await store.deliveries(ALL)] == [last.delivery.id, first.delivery.id]
    await store.accept(big)


LIMITED = """
import asyncio, os, resource, signal, sys
from router.errors import StoreUnavailable
from router.store.sqlite import open_store
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
    assert [s.id for s in await store.deliveries(ALL)] == [kept.delivery.id]


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
    assert len(await store.deliveries(ALL)) == 2


async def test_a_batch_of_more_than_a_statement_takes(store: SqliteStore, make: Maker) -> None:
    events = [make.event(i, b"%d" % i) for i in range(1000)]
    await store.accept(make.acceptance(events=events, event_count=1000))
    assert len(await store.jobs(Selector(limit=2000))) == 1000
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
