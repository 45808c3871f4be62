"""What the writer does when opening fails, or a disk while items are tried one by one."""

import asyncio
import sqlite3
import threading

import pytest

from router.errors import StoreUnavailable
from router.store.common.damage import RESTORE
from router.store.sqlite.store import SqliteStore
from router.store.sqlite.writer import Writer
from router.store.sqlite.writer_state import Book
from router.store.values import Selector
from tests.store_values import Maker
from tests.unit.store.faults import fault


async def test_a_store_that_cannot_be_opened_says_why_and_leaves_no_thread() -> None:
    def never() -> Book:
        raise fault("SQLITE_CANTOPEN")

    writer = Writer(never, lambda _: None, lambda _n, _s: None)
    with pytest.raises(sqlite3.OperationalError, match="sqlite_cantopen"):
        await writer.start()
    await asyncio.wait_for(writer._ended, 10)  # what `close` waits for, if the thread still lives
    await writer.close()
    assert not writer._thread.is_alive()


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("SQLITE_FULL", ""),
        ("SQLITE_BUSY", ""),
        ("SQLITE_IOERR", "(SQLITE_IOERR: sqlite_ioerr) and writes no more"),
        ("SQLITE_READONLY", "(SQLITE_READONLY: sqlite_readonly) and writes no more"),
        ("SQLITE_CORRUPT", f"(SQLITE_CORRUPT: sqlite_corrupt) and writes no more: {RESTORE}"),
        ("SQLITE_NOTADB", f"(SQLITE_NOTADB: sqlite_notadb) and writes no more: {RESTORE}"),
    ],
)
async def test_a_disk_that_fails_while_items_are_tried_alone(
    store: SqliteStore, make: Maker, name: str, ends: str
) -> None:
    """Nothing of the batch is stored, and none of it is blamed."""
    go, asked = threading.Event(), list[str]()

    def odd(_book: Book) -> None:
        asked.append(name)
        raise ValueError("odd") if len(asked) == 1 else fault(name)

    held = store._writer.submit("work", lambda _book: go.wait(10))
    batch = [asyncio.ensure_future(store.accept(make.acceptance()))]
    await asyncio.sleep(0)  # it is queued now, and what follows goes with it
    batch.append(store._writer.submit("work", odd))
    go.set()
    answers = await asyncio.gather(held, *batch, return_exceptions=True)
    assert [type(one) for one in answers[1:]] == [StoreUnavailable] * 2
    assert all("could not commit" in str(one) for one in answers[1:])
    assert store.failure.done() is bool(ends)
    if ends:
        assert await store.failure == f"the store has failed {ends}"
    assert await store.reads.deliveries(Selector()) == ()
