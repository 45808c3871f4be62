"""The reading half of a store."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from router.clock import SystemClock
from router.errors import StoreAbsent
from router.model.operations import Cause
from router.model.store_address import POOL_MIN, DatabaseUrl
from router.store.postgres import (
    about,
    audit_log,
    in_force,
    lists,
    nodes,
    paging,
    pruning,
    reading,
    redacting,
    replaying,
    schema,
    selection,
    shares,
)
from router.store.postgres.commit_order import following
from router.store.postgres.database import Database, Tx
from router.store.postgres.sessions import open_first
from router.store.removal import Retain
from router.store.values import NameKind, Selector

T = TypeVar("T")
P = ParamSpec("P")


def _question(
    function: Callable[Concatenate[Tx, P], Awaitable[T]], *, counts_copies: bool = False
) -> Callable[Concatenate["PostgresReader", P], Coroutine[Any, Any, T]]:
    """
    A question of the protocol, which a function answers in a transaction that only reads.
    `counts_copies`: what this process holds in memory of them is written before.
    """

    async def question(self: "PostgresReader", /, *args: P.args, **kwargs: P.kwargs) -> T:
        if counts_copies:
            await self._before()
        return await self._db.ask(lambda tx: function(tx, *args, **kwargs))

    return question


def _quick(
    function: Callable[Concatenate[Tx, P], Awaitable[T]],
) -> Callable[Concatenate["PostgresReader", P], Coroutine[Any, Any, T]]:
    """The same of one that is one statement."""

    async def question(self: "PostgresReader", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._db.ask_once(lambda tx: function(tx, *args, **kwargs))

    return question


class PostgresReader:
    """
    What all routers have committed. `before`: what this one still holds in memory of deliveries is
    written first.
    """

    shared = True

    def __init__(self, db: Database, before: Callable[[], Awaitable[None]]) -> None:
        self._db, self._before = db, before

    deliveries = _question(reading.deliveries, counts_copies=True)
    delivery = _question(reading.delivery, counts_copies=True)
    jobs = _question(reading.jobs)
    job = _question(reading.job)
    events = _question(lists.events)
    attempts = _question(lists.attempts)
    page = _question(paging.page)
    following = _question(following)
    results = _question(reading.results)
    planned = _question(lists.planned)
    replay = _question(replaying.one)
    made_by = _question(replaying.of_job)
    replays = _question(replaying.several)
    audited = _quick(audit_log.lines)
    generation = _question(reading.generation)
    latest_generation_with = _quick(reading.generations_with)
    generations = _quick(lists.generations)
    in_force = _quick(in_force.newest)
    recall = _quick(reading.recall)
    targets = _quick(reading.targets)
    target_counts = _quick(reading.target_counts)
    counts = _quick(reading.counts)
    open_states = _quick(lists.open_states)
    rule_counts = _quick(reading.rule_counts)
    activity = _quick(reading.activity)
    activity_by_name = _quick(reading.activity_by_name)
    activity_by_hour = _quick(reading.activity_by_hour)
    lost_leases = _quick(reading.under)
    due_redactions = _quick(redacting.due)
    lost_nodes = _quick(nodes.lost)
    nodes = _quick(nodes.listed)
    node_loads = _quick(shares.loads)
    size = _quick(reading.held_bytes)
    about = _question(about.about)

    async def causes(self, selector: Selector) -> tuple[Cause, ...]:
        dead = await self._db.ask(lambda tx: reading.dead_alike(tx, selector))
        return await to_thread(reading.causes, dead)  # reasons that all differ take their time

    async def names(self, kind: NameKind) -> tuple[str, ...]:
        if kind == "cause":
            return await to_thread(reading.keys, await self._db.ask(selection.deaths))
        return await self._db.ask(lambda tx: reading.names(tx, kind))

    async def removable(self, retain: Retain, now: int) -> tuple[int, int]:
        return await pruning.removable(self._db, retain, now)

    async def offset(self) -> int:
        """The database's wall time is ledger time."""
        return 0

    async def close(self) -> None:
        """Close its connections; those of a store are the store's."""
        await self._db.close()


async def open_reader(url: str) -> PostgresReader:
    """
    Open the store at this address for reading, beside the routers that run on it.

    Raises:
        StoreAbsent: no router has made its tables yet.
        StoreRefused: the server refuses us, or its tables are not of this router's version.
        StoreUnavailable: it cannot be reached now.
    """
    address = DatabaseUrl(url)
    db = Database(address, SystemClock(), POOL_MIN)
    try:
        await open_first(db.read, db.node)
        if not await db.read.run(schema.check):
            raise StoreAbsent(f"{address} has no tables of a router yet")
    except BaseException:
        await db.close()
        raise
    return PostgresReader(db, _nothing_held)


async def _nothing_held() -> None:
    """A reader alone counts no copies."""
