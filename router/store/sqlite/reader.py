"""The reading half of a store: its own connection, its own thread, nothing that can write."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from router.errors import StoreUnavailable
from router.model.job import Job
from router.store.common.damage import RESTORE, Damaged
from router.store.sqlite import (
    audit_log,
    clock_step,
    damage,
    in_force,
    lists,
    paging,
    pruning,
    reading,
    redacting,
    replaying,
    schema,
)
from router.store.sqlite.commit_order import following
from router.store.sqlite.connection import open_existing, open_read_only, refusing
from router.store.sqlite.damage import is_damage
from router.store.values import NodeLoad, NodeSeen

T = TypeVar("T")
P = ParamSpec("P")


def _question(
    function: Callable[Concatenate[sqlite3.Connection, P], T], *, counts_copies: bool = False
) -> Callable[Concatenate["SqliteReader", P], Coroutine[Any, Any, T]]:
    """
    A question of the protocol, which a function answers from a connection. `counts_copies`: what
    the writer holds in memory of them is written before.
    """

    async def question(self: "SqliteReader", /, *args: P.args, **kwargs: P.kwargs) -> T:
        if counts_copies and self._before is not None:
            await self._before()
        return await self.ask(function, *args, **kwargs)

    return question


def _ignore(_reason: str) -> None:
    """No router works on what is read."""


def _holders(db: sqlite3.Connection) -> list[tuple[int, str]]:
    with damage.reading(db, lambda: reading.running(db)):
        return reading.holders(db)


class SqliteReader:
    """
    Reads over a read-only connection. `before`: what the writer still holds in memory of
    deliveries is written first. `damaged` is called when the work to come cannot be read.
    """

    shared = False

    def __init__(
        self,
        path: Path,
        before: Callable[[], Awaitable[None]] | None = None,
        db: sqlite3.Connection | None = None,
        damaged: Callable[[str], None] = _ignore,
    ) -> None:
        self._path = path
        self._before = before
        self._damaged = damaged
        self.node: NodeSeen | None = None  # who has the store, if that is this process
        self._db = open_read_only(path) if db is None else db
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-reader")

    deliveries = _question(reading.deliveries, counts_copies=True)
    delivery = _question(reading.delivery, counts_copies=True)
    jobs = _question(reading.jobs)
    job = _question(reading.job)
    events = _question(lists.events)
    attempts = _question(lists.attempts)
    page = _question(paging.page)
    following = _question(following)
    results = _question(reading.results)
    causes = _question(reading.causes)
    names = _question(reading.names)
    planned = _question(lists.planned)
    replay = _question(replaying.one)
    made_by = _question(replaying.of_job)
    replays = _question(replaying.several)
    audited = _question(audit_log.lines)
    generation = _question(reading.generation)
    latest_generation_with = _question(reading.generations_with)
    generations = _question(lists.generations)
    in_force = _question(in_force.newest)
    recall = _question(reading.recall)
    target_counts = _question(reading.target_counts)
    counts = _question(reading.counts)
    open_states = _question(lists.open_states)
    rule_counts = _question(reading.rule_counts)
    activity = _question(reading.activity)
    activity_by_name = _question(reading.activity_by_name)
    activity_by_hour = _question(reading.activity_by_hour)
    due_redactions = _question(redacting.due)
    offset = _question(clock_step.offset)
    removable = _question(pruning.removable)

    async def targets(self) -> Mapping[str, int]:
        return await self._of_all(reading.targets)

    async def lost_leases(self, leases: Collection[str]) -> tuple[Job, ...]:
        return await self._of_all(lambda db: reading.under(db, leases))

    async def lost_nodes(self, node: str) -> frozenset[str]:
        return frozenset({one for _, one in await self._of_all(_holders)} - {node})

    async def _of_all(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Whoever asks this can do no work without an answer: a damaged row ends the router."""
        try:
            return await self.ask(question)
        except Damaged as error:
            self._damaged(str(error))
            raise

    async def nodes(self) -> tuple[NodeSeen, ...]:
        return () if self.node is None else (self.node,)

    async def node_loads(self) -> Mapping[str, NodeLoad]:
        return {}

    async def size(self) -> int:
        return await self.ask(reading.held_bytes)

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
            what = f"the store cannot be read: {error}"
            if is_damage(error):
                raise Damaged(f"{what}: {RESTORE}") from error
            raise StoreUnavailable(what) from error
        finally:
            with suppress(sqlite3.Error):
                self._db.execute("COMMIT")


def open_reader(path: str) -> SqliteReader:
    """
    Open a store for reading, beside a running server, after it, or after its crash.

    Raises:
        StoreRefused: there is none, it is damaged, or its schema is not this router's.
    """
    place = Path(path)
    with ExitStack() as stack, refusing(place):
        db = stack.enter_context(closing(open_existing(place)))
        schema.require(db)
        stack.pop_all()
    return SqliteReader(place, db=db)
