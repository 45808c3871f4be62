"""The reading half of a store: its own connection, its own thread, nothing that can write."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from router.errors import StoreRefused, StoreUnavailable
from router.model.delivery import DeliverySummary
from router.model.job import Job, JobState
from router.model.operations import Audit, Cause, Change, Planned, Replay
from router.model.target import TargetCounts
from router.store.sqlite import audit_log, clock_step, lists, paging, reading, replaying, schema
from router.store.sqlite.commit_order import following
from router.store.sqlite.connection import open_read_only, refusal
from router.store.values import (
    DeliveryRecord,
    FeedQuery,
    Following,
    Generation,
    ListedAttempt,
    ListedEvent,
    ListedGeneration,
    NameKind,
    Page,
    RuleCount,
    Selector,
)

T = TypeVar("T")
P = ParamSpec("P")


class SqliteReader:
    """
    Reads over a read-only connection. `before`: what the writer still holds in memory of
    deliveries is written first.
    """

    def __init__(
        self,
        path: Path,
        before: Callable[[], Awaitable[None]] | None = None,
        db: sqlite3.Connection | None = None,
    ) -> None:
        self._path = path
        self._before = before
        self._db = open_read_only(path) if db is None else db
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-reader")

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        if self._before is not None:
            await self._before()
        return await self.ask(reading.deliveries, selector)

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        if self._before is not None:
            await self._before()
        return await self.ask(reading.delivery, prefix)

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        return await self.ask(reading.jobs, selector)

    async def job(self, prefix: str) -> Job | None:
        return await self.ask(reading.job, prefix)

    async def results(self, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
        return await self.ask(reading.results, job, actions)

    async def following(self, asked: FeedQuery) -> Following:
        return await self.ask(following, asked)

    async def target_counts(self) -> Mapping[str, TargetCounts]:
        return await self.ask(reading.target_counts)

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        return await self.ask(reading.counts)

    async def page(
        self,
        selector: Selector,
        *,
        jobs: bool,
        newest: bool = False,
        after: str | None = None,
        whole: bool = False,
    ) -> Page:
        return await self.ask(
            paging.page, selector, jobs=jobs, newest=newest, after=after, whole=whole
        )

    async def causes(self, selector: Selector) -> tuple[Cause, ...]:
        return await self.ask(reading.causes, selector)

    async def names(self, kind: NameKind) -> tuple[str, ...]:
        return await self.ask(reading.names, kind)

    async def planned(self, selector: Selector, change: Change) -> Planned:
        return await self.ask(lists.planned, selector, change)

    async def replay(self, id_: str) -> Replay | None:
        return await self.ask(replaying.one, id_)

    async def made_by(self, job: str) -> Replay | None:
        return await self.ask(replaying.of_job, job)

    async def replays(self, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
        return await self.ask(replaying.several, limit, making=making)

    async def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        return await self.ask(audit_log.lines, since, until, limit)

    async def rule_counts(self) -> Mapping[str, RuleCount]:
        return await self.ask(reading.rule_counts)

    async def targets(self) -> Mapping[str, int]:
        return await self.ask(reading.targets)

    async def lost_nodes(self, node: str) -> frozenset[str]:
        return frozenset({one for _, one in await self.ask(reading.holders)} - {node})

    async def lost_leases(self, leases: Collection[str]) -> tuple[Job, ...]:
        return await self.ask(reading.under, leases)

    async def generation(self, prefix: str) -> Generation | None:
        return await self.ask(reading.generation, prefix)

    async def latest_generation_with(self, rule: str) -> tuple[str, ...]:
        return await self.ask(reading.generations_with, rule)

    async def offset(self) -> int:
        """By how many milliseconds wall time is ahead of ledger time."""
        return await self.ask(clock_step.offset)

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return await self.ask(reading.recall, prefix)

    async def events(
        self, selector: Selector, after: tuple[str, int] | None = None
    ) -> tuple[ListedEvent, ...]:
        """Events of the selected deliveries, newest delivery first."""
        return await self.ask(lists.events, selector, after)

    async def attempts(
        self, selector: Selector, after: tuple[str, int] | None = None
    ) -> tuple[ListedAttempt, ...]:
        """Ended attempts of the selected jobs, newest job first."""
        return await self.ask(lists.attempts, selector, after)

    async def generations(
        self, limit: int, after: str | None = None
    ) -> tuple[ListedGeneration, ...]:
        """Kept generations, newest first."""
        return await self.ask(lists.generations, limit, after)

    async def open_states(self) -> Mapping[str, int]:
        """Jobs that have not ended, and dead ones, by state."""
        return await self.ask(lists.open_states)

    async def size(self) -> int:
        return await self.ask(reading.held_bytes) + _journal_bytes(self._path)

    async def close(self) -> None:
        """Close the connection."""
        self._thread.shutdown(wait=True)
        self._db.close()

    async def ask(
        self,
        question: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The answer to a question, from one consistent state. Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: self._answered(lambda db: question(db, *args, **kwargs))
        )

    def _answered(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self._db.execute("BEGIN")
            return question(self._db)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"the store cannot be read: {error}") from error
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("COMMIT")


def open_reader(path: str) -> SqliteReader:
    """
    Open a store for reading, beside a running server, after it, or after its crash.

    Raises:
        StoreRefused: there is none, it is damaged, or its schema is not this router's.
    """
    place = Path(path)
    if not place.is_file():
        raise StoreRefused(f"there is no store at {place}; `router serve` makes one")
    reader = SqliteReader(place)
    try:
        _check(reader)
    except StoreRefused:
        reader._db.close()  # noqa: SLF001 - not handed out yet
        raise
    return reader


def _check(reader: SqliteReader) -> None:
    db: Any = reader._db  # noqa: SLF001 - not handed out yet
    try:
        version = schema.check(db)
    except sqlite3.Error as error:
        raise refusal(reader._path, error) from error  # noqa: SLF001
    if version < len(schema.MIGRATIONS):
        raise StoreRefused(
            f"the store has schema {version}, this router reads {len(schema.MIGRATIONS)}; "
            "`router store migrate` brings it there"
        )


def _journal_bytes(path: Path) -> int:
    try:
        return Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        return 0
