"""The store in one SQLite file."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from router.clock import Clock
from router.errors import StoreRefused, StoreUnavailable
from router.model.job import Job, JobState, NewJob, Settlement
from router.store import accepting, leasing, place, pruning, schema, settling, verbs
from router.store.book import Book
from router.store.connection import open_writer, refusal, warning
from router.store.protocol import (
    Acceptance,
    Accepted,
    DeliveryRecord,
    DeliverySummary,
    Duplicate,
    Generation,
    LeaseBatch,
    Pruned,
    Recovered,
    Retain,
    Selector,
)
from router.store.reader import SqliteReader
from router.store.writer import Writer

COPIES_WAIT_S = 1.0
"""Counts of copies are written at most this often."""


class SqliteStore:
    """
    The ledger in one file: one thread writes, one reads, the event loop waits for neither.

    `failure` is set, with the reason, when the store will never write again; serving then ends.
    `on_commit` hears of every transaction: its writes and its seconds.
    `warning` is what is to be said about this machine's SQLite, if anything.
    """

    def __init__(self, path: Path, clock: Clock, lock: place.Lock) -> None:
        self._path = path
        self._clock = clock
        self._lock = lock
        self._writer = Writer(lambda: _open_book(path, clock), self._fail, self._committed)
        self._reader: SqliteReader
        self._search = pruning.Search()
        self._counting: asyncio.Task[None] | None = None
        self._closed = False
        self.on_commit: Callable[[int, float], None] = lambda _writes, _seconds: None
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.warning = warning()

    async def start(self) -> None:
        """Open the file. Raises StoreRefused."""
        await self._writer.start()
        self._reader = SqliteReader(self._path)

    def _committed(self, writes: int, seconds: float) -> None:
        self.on_commit(writes, seconds)

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        prepared = accepting.prepare(acceptance, self._clock.now())
        receipt: Accepted | Duplicate = await self._writer.submit("accept", prepared)
        if type(receipt) is Duplicate and self._counting is None:
            self._counting = asyncio.create_task(self._count_soon())
        return receipt

    async def settle(self, settlement: Settlement) -> bool:
        held: bool = await self._writer.submit("settle", settling.prepare(settlement))
        return held

    async def lease(self, slots: Mapping[str, int], *, lease: str, now: int) -> LeaseBatch:
        batch: LeaseBatch = await self._writer.submit(
            "work", lambda book: leasing.lease(book, slots, lease, now)
        )
        return batch

    async def recover(
        self, *, alive: str, now: int, on_interrupt_dead: frozenset[tuple[str, str]]
    ) -> Recovered:
        recovered: Recovered = await self._writer.submit(
            "work", lambda book: leasing.recover(book, alive, now, on_interrupt_dead)
        )
        return recovered

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        now = self._clock.now()
        count: int = await self._writer.submit(
            "work", lambda book: verbs.add(book, delivery, jobs, now)
        )
        return count

    async def cancel(self, selector: Selector, *, reason: str, now: int) -> int:
        return await self._in_steps(
            lambda book, after: verbs.cancel(book, selector, reason, now, after)
        )

    async def revive(self, selector: Selector, *, now: int) -> int:
        return await self._in_steps(lambda book, after: verbs.revive(book, selector, now, after))

    async def hold(self, paused: frozenset[str]) -> int:
        rules = msgspec.json.encode(sorted(paused)).decode()
        changed = 0
        while step := await self._writer.submit("work", lambda book: verbs.hold(book, rules)):
            changed += step
        return changed

    async def keep_generation(self, generation: Generation) -> None:
        await self._writer.submit("work", lambda book: verbs.keep_generation(book, generation))

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        await self._write_copies()
        plan = await self._reader.ask(self._search.plan, retain, now)
        pruned: Pruned = await self._writer.submit(
            "work", lambda book: pruning.prune(book, plan, retain, now)
        )
        return pruned

    async def ready(self) -> None:
        await self._writer.submit("work", verbs.beat)

    async def targets(self) -> Mapping[str, int]:
        return await self._reader.targets()

    async def generation(self, prefix: str) -> Generation | None:
        return await self._reader.generation(prefix)

    async def latest_generation_with(self, rule: str) -> tuple[str, ...]:
        return await self._reader.latest_generation_with(rule)

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        await self._write_copies()
        return await self._reader.deliveries(selector)

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        await self._write_copies()
        return await self._reader.delivery(prefix)

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        return await self._reader.jobs(selector)

    async def job(self, prefix: str) -> Job | None:
        return await self._reader.job(prefix)

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        return await self._reader.counts()

    async def size(self) -> int:
        return await self._reader.size()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._stop_counting()
        await self._reader.close()
        await self._writer.close()
        self._lock.release()

    async def _in_steps(self, step: Callable[..., verbs.Step]) -> int:
        total, after = 0, -1
        while True:
            changed: int
            changed, following = await self._writer.submit("work", partial(step, after=after))
            total += changed
            if following is None:
                return total
            after = following

    async def _count_soon(self) -> None:
        await self._clock.sleep(COPIES_WAIT_S)
        self._counting = None
        # Should it fail, the counts stay in memory and go with the next ones.
        with contextlib.suppress(StoreUnavailable):
            await self._writer.submit("work", verbs.write_copies)

    async def _write_copies(self) -> None:
        if self._counting is not None:
            await self._stop_counting()
            await self._writer.submit("work", verbs.write_copies)

    async def _stop_counting(self) -> None:
        task, self._counting = self._counting, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _fail(self, reason: str) -> None:
        if not self.failure.done():
            self.failure.set_result(reason)


async def open_store(path: str, *, clock: Clock) -> SqliteStore:
    """
    Open the store at `path` for writing, making or migrating it as needed.

    Raises:
        StoreRefused: another server has it, it is newer than this router, damaged, or lies where
            it cannot be kept; the text says which.
    """
    where = Path(path)
    if where.parent.is_dir():
        lock = place.Lock(where)
    else:
        raise StoreRefused(f"the folder {where.parent} does not exist")
    store = SqliteStore(where, clock, lock)
    try:
        place.prepare(where)
        await store.start()
    except BaseException:
        lock.release()
        raise
    return store


def _open_book(path: Path, clock: Clock) -> Book:
    db = open_writer(path)
    try:
        schema.migrate(db)
        return Book(db, path, clock)
    except sqlite3.Error as error:
        db.close()
        raise refusal(path, error) from error
    except BaseException:
        db.close()
        raise
