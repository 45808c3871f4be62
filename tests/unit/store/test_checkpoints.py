"""When the journal is emptied into the file, and what follows when that does not go well."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreUnavailable
from router.store.sqlite.store import open_store
from router.store.sqlite.writer import BATCH, CHECKPOINT_MOST, CHECKPOINT_PAGES, LARGE_BATCH
from router.store.sqlite.writer_state import Book
from router.store.values import Accepted
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker
from tests.unit.store.faults import Rig, fault
from tests.waiting import until


@pytest.fixture
async def rig(path: Path) -> AsyncIterator[Rig]:
    await (await open_store(str(path), clock=ManualClock())).close()
    made = Rig(path)
    await made.writer.start()
    yield made
    await made.writer.close()


class Held:
    """The writer is at something, while others come: they are one batch."""

    def __init__(self, rig: Rig, pages: int = 0) -> None:
        self._rig, self._pages = rig, pages
        self._entered, self._go = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()
        self._asked: list[asyncio.Future[Any]] = []

    def _hold(self, book: Book) -> None:
        self._loop.call_soon_threadsafe(self._entered.set)
        assert self._go.wait(10)
        book.pages += self._pages

    async def __aenter__(self) -> "Held":
        self._asked.append(self._rig.writer.submit("work", self._hold))
        await self._entered.wait()
        return self

    def ask(self, pages: int = 0, name: str = "") -> None:
        def work(book: Book) -> None:
            book.pages += pages
            if name:
                self._rig.happened.append(name)

        self._asked.append(self._rig.writer.submit("work", work))

    async def __aexit__(self, *_: object) -> None:
        self._go.set()
        await asyncio.gather(*self._asked)


def test_the_numbers() -> None:
    assert (BATCH, LARGE_BATCH) == (256, 1_000)
    assert (CHECKPOINT_PAGES, CHECKPOINT_MOST) == (250, 8_000)


async def test_of_a_quiet_store_one_is_due_after_250_pages(rig: Rig) -> None:
    await rig.write(249)
    assert await rig.checkpoints() == 0
    await rig.write(1)
    assert await rig.checkpoints() == 1
    await rig.write(249)
    assert await rig.checkpoints() == 1, "counted anew"
    await rig.write(1)
    assert await rig.checkpoints() == 2


@pytest.mark.parametrize(
    ("operations", "pages", "due"),
    [(2, 499, 0), (2, 500, 1), (32, 7_999, 0), (32, 8_000, 1), (40, 7_999, 0), (40, 8_000, 1)],
)
async def test_of_a_busy_one_after_as_many_for_each_operation_up_to_8000(
    rig: Rig, operations: int, pages: int, due: int
) -> None:
    async with Held(rig) as held:
        for place in range(operations):
            held.ask(0 if place else pages)
    assert rig.reported == [1, operations]
    if due:
        await until(lambda: rig.happened)
    left = await rig.writer.submit("work", lambda book: book.pages)
    assert left == (0 if due else pages)


@pytest.mark.parametrize(
    ("pages", "order"), [(1_000, ["checkpoint", "next"]), (1_001, ["next", "checkpoint"])]
)
async def test_who_waited_for_a_large_batch_goes_before_its_checkpoint(
    rig: Rig, pages: int, order: list[str]
) -> None:
    async with Held(rig, pages) as held:
        held.ask(name="next")
    await rig.write(0)
    assert rig.happened == order


async def test_what_was_written_before_it_makes_no_batch_a_large_one(rig: Rig) -> None:
    async with Held(rig) as held:
        for place in range(40):
            held.ask(0 if place else 7_999)
    assert rig.happened == []
    async with Held(rig, 1) as held:
        held.ask(name="next")
    assert rig.happened == ["checkpoint", "next"]


async def test_after_a_large_batch_that_kept_nobody_waiting_it_is_made_at_once(rig: Rig) -> None:
    await rig.write(5_000)
    await until(lambda: rig.happened)


async def test_as_many_as_256_operations_are_one_transaction(rig: Rig) -> None:
    async with Held(rig) as held:
        for _ in range(257):
            held.ask()
    assert rig.reported == [1, 256, 1]


async def test_pages_that_a_reader_kept_back_are_tried_again_sooner(rig: Rig) -> None:
    rig.db.left_over = True
    await rig.write(250)
    assert await rig.checkpoints() == 1
    await rig.write(124)
    assert await rig.checkpoints() == 1
    rig.db.left_over = False
    await rig.write(1)
    assert await rig.checkpoints() == 2
    await rig.write(249)
    assert await rig.checkpoints() == 2


async def test_one_that_is_held_up_is_tried_again_as_late_as_any_and_nothing_is_lost(
    rig: Rig, make: Maker
) -> None:
    rig.db.fails = fault("SQLITE_BUSY")
    await rig.write(250)
    await rig.write(249)
    assert await rig.checkpoints() == 1
    rig.db.fails = None
    accepted = make.acceptance()
    assert isinstance((await rig.writer.submit("accept", [accepted], START_MS))[0], Accepted)
    assert await rig.checkpoints() == 2
    assert not rig.failure.done()


@pytest.mark.parametrize("name", ["SQLITE_IOERR", "SQLITE_IOERR_FSYNC"])
async def test_one_that_the_disk_fails_is_the_last_write(rig: Rig, name: str) -> None:
    """What reached the file is unknown."""
    rig.db.fails = fault(name)
    await rig.write(250)
    with pytest.raises(StoreUnavailable, match=name):
        await rig.write(0)
    assert name in await rig.failure
    assert rig.happened == ["checkpoint"]


async def test_the_very_last_one_that_the_disk_fails_is_reported_and_leaves_the_journal(
    rig: Rig, path: Path, make: Maker
) -> None:
    """SQLite itself would make one more when the file is closed, and hide how that went."""
    accepted = make.acceptance()
    await rig.writer.submit("accept", [accepted], START_MS)
    before = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    assert before[1]
    rig.db.fails = fault("SQLITE_IOERR_FSYNC")
    await rig.writer.close()
    assert rig.failure.done()
    assert "SQLITE_IOERR_FSYNC" in await rig.failure
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before
    again = await open_store(str(path), clock=ManualClock())
    assert await again.reads.delivery(accepted.delivery.id) is not None
    await again.close()


async def test_after_a_failed_write_none_is_made_not_even_the_last(rig: Rig) -> None:
    """It could tell the file that something is safe of which nobody knows that it is."""

    def fail(_book: Book) -> None:
        raise fault("SQLITE_IOERR")

    with pytest.raises(StoreUnavailable, match="could not commit"):
        await rig.writer.submit("work", fail)
    await rig.writer.close()
    assert rig.happened == []


async def test_the_last_one_is_made_when_the_store_is_closed(rig: Rig) -> None:
    await rig.write(1)
    await rig.writer.close()
    assert rig.happened[-1] == "last checkpoint"


async def test_what_did_not_fit_on_the_disk_makes_one_due_that_makes_room(rig: Rig) -> None:
    def full(_book: Book) -> None:
        raise fault("SQLITE_FULL")

    with pytest.raises(StoreUnavailable, match="could not commit"):
        await rig.writer.submit("work", full)
    await until(lambda: rig.happened)


async def test_the_thread_has_a_name_and_keeps_no_process_alive(rig: Rig) -> None:
    assert (rig.writer._thread.name, rig.writer._thread.daemon) == ("store-writer", True)
