"""The store in one SQLite file."""

import asyncio
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Concatenate

from router.clock import Clock
from router.errors import RouterError, StoreRefused, StoreUnavailable
from router.model.job import ActionKind, NewJob, Settlement
from router.model.operations import Audit
from router.model.share import NO_REPORT, Division, ShareReport, Shares
from router.model.target import Pause
from router.store.common.copy_counts import CopyCounts
from router.store.removal import Pruned, Retain
from router.store.sqlite import (
    adding,
    audit_log,
    clock_step,
    erasing,
    holding,
    in_force,
    journal,
    leasing,
    location,
    operations,
    pruning,
    redacting,
    replaying,
    runs,
    schema,
)
from router.store.sqlite.connection import (
    open_read_only,
    open_writer,
    refusal,
    refusing,
)
from router.store.sqlite.reader import P, SqliteReader, T
from router.store.sqlite.writer import Writer
from router.store.sqlite.writer_state import Book
from router.store.values import (
    Acceptance,
    Accepted,
    Beats,
    Died,
    Duplicate,
    Heard,
    LeaseBatch,
    NodeCard,
    NodeSeen,
    OnCommit,
    Recovered,
    Selector,
    Settled,
    VacuumRoom,
    uncounted,
    untold,
)


def _verb(
    function: Callable[Concatenate[Book, P], T],
) -> Callable[Concatenate["SqliteStore", P], Coroutine[Any, Any, T]]:
    """A verb of the protocol, which a function does in one transaction of the writer."""

    async def verb(self: "SqliteStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._work(lambda book: function(book, *args, **kwargs))

    return verb


class SqliteStore:
    """
    The ledger in one file: one thread writes, one reads, the event loop waits for neither.

    Its lock keeps every other process out: this node is the only one.

    `failure` is set, with the reason, when the store will never write again; serving then ends.
    `on_commit` is called after every transaction with its writes and its seconds.
    """

    shared = False
    fingerprint_key = b""

    def __init__(
        self, path: Path, clock: Clock, lock: location.Lock, on_commit: OnCommit = uncounted
    ) -> None:
        self._path = path
        self._clock = clock
        self._lock = lock
        self._writer = Writer(self._open, self._fail, on_commit, lock.gone)
        self.reads: SqliteReader
        self._search = pruning.PruneSearch()
        self._emptying = set[str]()
        self._counts = CopyCounts(clock, lambda: self._work(operations.write_copies))
        self._closed = False
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def start(self) -> None:
        """Open the file. Raises StoreRefused."""
        await self._writer.start()
        self.reads = SqliteReader(self._path, self._write_copies, damaged=self._fail)

    def _open(self) -> Book:
        path = self._path
        journal.check(path)
        _recognise(path)
        db = open_writer(path)
        try:
            schema.make(db)
            clock_step.resume(db, self._clock)
            book = Book(db, path, self._clock)
            self._lock.hold()
        except BaseException as error:
            db.close()
            if isinstance(error, (sqlite3.Error, ValueError, TypeError)):
                raise refusal(path, error) from error
            raise
        return book

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        (receipt,) = await self.accept_all((acceptance,))
        if isinstance(receipt, RouterError):
            raise receipt
        return receipt

    def accept_all(
        self, group: Sequence[Acceptance]
    ) -> "asyncio.Future[Sequence[Accepted | Duplicate | RouterError]]":
        receipts = self._writer.submit("accept", group, self._clock.ledger())
        receipts.add_done_callback(self._count_copies)
        return receipts

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        (settled,) = await self.settle_all(((settlement, own),))
        if isinstance(settled, RouterError):
            raise settled
        return settled

    def settle_all(
        self, group: Sequence[tuple[Settlement, Acceptance | None]]
    ) -> "asyncio.Future[Sequence[Settled | RouterError]]":
        if any(own is not None for _, own in group):
            self._counts.came()
        return self._writer.submit("settle", group, self._clock.ledger())

    def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
        kinds: Mapping[str, ActionKind] = {},
    ) -> "asyncio.Future[LeaseBatch]":
        return self._work(
            lambda book: leasing.lease(book, slots, lease=lease, now=now, fresh=fresh, kinds=kinds)
        )

    async def recover(
        self,
        *,
        nodes: Collection[str],
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        recovered = await self._work(
            lambda book: leasing.recover(book, nodes, now, on_interrupt_dead, died)
        )
        self._counts.came()
        return recovered

    async def join(self, card: NodeCard) -> str:
        self.reads.node = NodeSeen(secrets.token_hex(6), card, 0, self._clock.now())
        return self.reads.node.number

    async def beat(
        self, node: str, card: NodeCard, report: ShareReport = NO_REPORT
    ) -> Beats | None:
        del report
        now, seen = self._clock.now(), self.reads.node
        beats = 1 if seen is None else seen.beats + 1
        self.reads.node = NodeSeen(node, card, beats, now)
        return Beats(now)

    async def declare_gone(self, node: str, beats: int) -> bool:
        del beats
        return self.reads.node is None or self.reads.node.number != node

    async def claim(self, name: str, node: str, ttl_ms: int) -> bool:
        del name, node, ttl_ms
        return True

    def listen(self, heard: Heard) -> None:
        del heard  # there is nobody else

    async def divide(
        self, node: str, division: Division, *, generation: str, ttl_ms: int
    ) -> Shares | None:
        del node, division, generation, ttl_ms
        return None

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        now = self._clock.ledger()
        return await self._work(lambda book: adding.add(book, delivery, jobs, now))

    begin_replay = _verb(replaying.begin)
    replay_step = _verb(replaying.step)
    keep_clock = _verb(clock_step.keep)
    keep_generation = _verb(operations.keep_generation)
    put_in_force = _verb(in_force.put_in_force)
    count_rules = _verb(operations.count_rules)
    count_activity = _verb(operations.count_activity)
    remember = _verb(operations.remember)
    ready = _verb(operations.beat)
    note = _verb(audit_log.note)
    erase = _verb(erasing.erase)

    async def cancel(
        self, selector: Selector, *, reason: str, now: int, audit: Audit | None = None
    ) -> int:
        return await self._in_steps(
            lambda book, after: operations.cancel(book, selector, reason, now, after),
            audit,
            change=selector.replay is not None,
        )

    async def revive(self, selector: Selector, *, now: int, audit: Audit | None = None) -> int:
        return await self._in_steps(
            lambda book, after: operations.revive(book, selector, now, after), audit
        )

    async def hold(self, paused: frozenset[str], *, generation: str, now: int = 0) -> int:
        return await self._until_none(
            lambda book: holding.hold(book, paused, generation=generation, now=now)
        )

    async def pause_target(self, target: str, *, reason: str, by: str, at: int) -> int:
        held = await self._work(lambda book: holding.pause(book, target, Pause(reason, by, at)))
        return held + await self._until_none(lambda book: holding.pause_on(book, target))

    async def resume_target(self, target: str, *, now: int) -> int:
        freed = await self._work(lambda book: holding.resume(book, target, now))
        return freed + await self._until_none(lambda book: holding.resume_on(book, target, now))

    regroup = _verb(runs.regroup)
    redact = _verb(redacting.redact)

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        await self._write_copies()
        plan = await self.reads.ask(self._search.plan, retain, now)
        return await self._work(lambda book: pruning.prune(book, plan, retain, now))

    async def blank(self, texts: Sequence[str], after: str = "") -> str | None:
        return await self._work(lambda book: erasing.blank(book, texts, after))

    async def empty_journal(self, name: str) -> bool:
        return await self._work(partial(self._is_empty, name))

    def _is_empty(self, name: str, book: Book) -> bool:
        """Whether the journal was emptied since this was first asked by that name."""
        if name in self._emptying and not book.stale_journal:
            self._emptying.discard(name)
            return True
        self._emptying.add(name)
        book.stale_journal = book.wants_empty = True
        return False

    async def vacuum_room(self) -> VacuumRoom:
        held = await self.reads.size()
        return VacuumRoom(held, 2 * held, shutil.disk_usage(self._path.parent).free)

    async def vacuum(self) -> None:
        def want(book: Book) -> None:
            book.wants_vacuum = True

        await self._work(want)
        # The writer does it before it takes this one.
        if failed := await self._work(lambda book: book.vacuumed):
            raise StoreUnavailable(f"the store's file was not written anew: {failed}")

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return await self.reads.recall(prefix)

    def journal_bytes(self) -> int:
        """How long the journal is."""
        return journal.journal_bytes(self._path)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._counts.stop()
        await self.reads.close()
        await self._writer.close()
        self._lock.close()

    async def _in_steps(
        self, step: Callable[..., operations.Step], audit: Audit | None, *, change: bool = False
    ) -> int:
        """
        Step by step; each adds what it changed to the audit's line. `change`: it is one, however
        many jobs that are.
        """

        def audited(book: Book, after: int) -> operations.Step:
            changed, following = step(book, after=after)
            if changed or change:
                audit_log.note(book, audit, changed)
            return changed, following

        total = 0
        after: int | None = -1
        while after is not None:
            changed, after = await self._work(partial(audited, after=after))
            total += changed
        return total

    async def _until_none(self, step: Callable[[Book], int]) -> int:
        """Step by step, until one changes nothing; how many all of them changed."""
        total = 0
        while changed := await self._work(step):
            total += changed
        return total

    def _work(self, work: Callable[[Book], T]) -> "asyncio.Future[T]":
        return self._writer.submit("work", work)

    def _count_copies(self, receipts: "asyncio.Future[Any]") -> None:
        failed = receipts.cancelled() or receipts.exception() is not None
        if not failed and Duplicate in map(type, receipts.result()):
            self._counts.came()

    async def _write_copies(self) -> None:
        if await self._counts.stop():
            await self._work(operations.write_copies)

    def _fail(self, reason: str) -> None:
        if not self.failure.done():
            self.failure.set_result(reason)


async def open_store(path: str, *, clock: Clock, on_commit: OnCommit = uncounted) -> SqliteStore:
    """
    Open the store at `path` for writing, making it as needed.

    Raises:
        StoreRefused: another server has it, it has another schema, is damaged, or lies where
            it cannot be kept; the text says which.
    """
    where = Path(path)
    if not where.parent.is_dir():
        raise StoreRefused(f"the folder {where.parent} does not exist")
    lock = location.Lock(where)
    store = SqliteStore(where, clock, lock, on_commit)
    try:
        location.prepare(where)
        await store.start()
    except BaseException:
        lock.close()
        raise
    return store


def _recognise(path: Path) -> None:
    """
    Look before anything is changed: opening for writing makes a foreign file a WAL file.

    A first start that a power cut broke off has left a rollback journal, which only a writer can
    use.
    """
    if not path.stat().st_size or Path(f"{path}-journal").exists():
        return
    with refusing(path), closing(open_read_only(path)) as db:
        schema.check(db)
