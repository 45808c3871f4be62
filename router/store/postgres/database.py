"""The database as the store's verbs see it: transactions, the clock, and generations by number."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import Any, TypeVar

from router.clock import Clock
from router.model.settings import DAY_MS
from router.model.store_address import DatabaseUrl
from router.store.common.damage import Damaged
from router.store.postgres.connection import Connection, Lane, Work
from router.store.postgres.failures import Crossed
from router.store.postgres.sessions import open_first
from router.store.values import OnCommit, uncounted

T = TypeVar("T")

WRITE_S, READ_S, NODE_S = 5.0, 120.0, 2.0
"""How long a statement may take."""
AGAIN = 5
"""Times that a transaction is begun anew because its locks crossed those of another."""
BY_INDEX = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
    "enable_memoize": "off",
}
"""
Statements that take some rows of tables of any size go by their indexes, row by row, and are not
planned for each call: tables of many days take milliseconds to plan.
"""
CONSIDERING = {
    "plan_cache_mode": "force_custom_plan",
    "idle_in_transaction_session_timeout": f"{READ_S:.0f}s",
}
QUESTIONS = CONSIDERING | {"default_transaction_read_only": "on"}
"""
A question is planned for what it asks: which days it is about, how many a list names, how rare what
it selects is. A plan for any values may take a thousand times as long. And who asks for a cause
reads the reasons of all that are dead before the next statement.
"""


class Database:
    """
    The lanes of one router to its database.

    `write` accepts and does the operator's verbs, `dispatch` leases and settles, `read` answers
    questions, `node` says that this router lives: none of them waits for another. Whoever names no
    lane writes `beside`: while others hold what that needs, `write` has connections left to accept.
    """

    def __init__(
        self, address: DatabaseUrl, clock: Clock, pool: int, on_commit: OnCommit = uncounted
    ) -> None:
        self.address, self.clock, self._on_commit = address, clock, on_commit
        share = self.writers = max(1, (pool - 2) // 2)
        self.write = Lane(address, "write", share, WRITE_S)
        self._beside = asyncio.Semaphore(max(1, share - 1))
        self.dispatch = Lane(address, "dispatch", 1, WRITE_S, BY_INDEX, clock.monotonic)
        self.read = Lane(address, "read", max(1, pool - 2 - share), READ_S, QUESTIONS)
        self.node = Lane(address, "node", 1, NODE_S, {"synchronous_commit": "off"})
        self.numbers: dict[str, int] = {}  # generations by id that have been named today
        self._today = 0
        self.ids: dict[int, str] = {}  # generations by number
        self.damaged: Callable[[str], object] = str  # called when the work to come cannot be read
        self.recent_days = 0, 0, 0  # today, and from which day to which leases look for deliveries
        self.running: dict[str, str] = {}  # jobs by themselves that run here, and their deliveries
        self.ruled: set[tuple[str, int]] = set()  # rules whose jobs are known to name a generation

    @property
    def sessions(self) -> frozenset[int]:
        """The sessions in which this router writes, by the server's numbers."""
        return frozenset(self.write.sessions | self.dispatch.sessions)

    async def open(self) -> None:
        """Make the first connections. Raises StoreRefused, StoreUnavailable."""
        await open_first(self.write, self.dispatch)

    async def close(self) -> None:
        """Let every lane end what it does."""
        async with AsyncExitStack() as stack:
            for lane in (self.node, self.read, self.dispatch, self.write):
                stack.push_async_callback(lane.close)

    async def transact(
        self, work: Callable[["Tx"], Awaitable[T]], lane: Lane | None = None, writes: int = 1
    ) -> T:
        """
        `work`, about so many things, in one transaction; it is begun anew, with all it did undone,
        when its locks crossed those of another.

        Raises:
            StoreUnavailable: whether it has committed is not known.
        """
        return await self._committed(writes, lambda c: self._transaction(c, work), lane)

    async def state(
        self, writes: int, work: Callable[["Tx"], Awaitable[T]], lane: Lane | None = None
    ) -> T:
        """
        The same of what is one statement, about so many things: without a transaction around it.
        """
        return await self._committed(writes, lambda c: work(Tx(self, c)), lane)

    async def beside(self, work: Work[T]) -> T:
        """`work` on a connection of `write` that is not the last one free, if it has several."""
        async with self._beside:
            return await self.write.run(work)

    async def _committed(self, writes: int, work: Work[T], lane: Lane | None) -> T:
        began = self.clock.monotonic()
        for _ in range(AGAIN):
            try:
                result = await (self.beside if lane is None else lane.run)(work)
            except Crossed as error:
                crossed = error
            except Damaged as error:
                self.damaged(str(error))
                raise
            else:
                self._on_commit(writes, self.clock.monotonic() - began)
                return result
        raise crossed

    async def _transaction(self, connection: Connection, work: Callable[["Tx"], Awaitable[T]]) -> T:
        tx = Tx(self, connection)
        async with connection.transaction():
            result = await work(tx)
        for change in tx.later:
            change()
        return result

    async def ask(self, question: Callable[["Tx"], Awaitable[T]]) -> T:
        """The answer to a question, from one consistent state. Raises StoreUnavailable."""

        async def asked(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await question(Tx(self, connection))

        return await self.read.run(asked)

    async def ask_once(self, question: Callable[["Tx"], Awaitable[T]]) -> T:
        """The same of a question that is one statement: without a transaction around it."""
        return await self.read.run(lambda connection: question(Tx(self, connection)))

    async def number(self, generations: Collection[str]) -> None:
        """
        See to it that `numbers` has these generations, as committed. Raises StoreUnavailable.
        """
        while new := sorted(set(generations) - self.numbers_today().keys()):

            async def note(tx: "Tx") -> None:
                for id_ in new:
                    await tx.generation(id_)

            await self.transact(note, self.write)

    def numbers_today(self) -> dict[str, int]:
        """
        `numbers`, empty when a day begins: once a day it is noted that a generation is still named,
        and retention goes by that.
        """
        if (today := self.clock.now() // DAY_MS) != self._today:
            self.numbers, self._today = {}, today
        return self.numbers

    def wall(self, at: int) -> int:
        """A ledger time as it is recorded."""
        return at + self.clock.offset


class Tx:
    """
    An open transaction. `later` are changes of what this process remembers, which count only once
    it has committed.

    Values stand in SQL as `$1`, `$2` …, or, where conditions are put together, as `?` in order.
    """

    def __init__(self, db: Database, connection: Connection) -> None:
        self.db, self.connection = db, connection
        self.later: list[Callable[[], object]] = []

    async def all(self, sql: str, *values: Any) -> Sequence[Any]:
        """Every row."""
        return await self.connection.fetch(numbered(sql), *values)  # type: ignore[no-any-return]  # asyncpg has no types

    async def row(self, sql: str, *values: Any) -> Any:
        """The first row, or None."""
        return await self.connection.fetchrow(numbered(sql), *values)

    async def one(self, sql: str, *values: Any) -> Any:
        """The single value that a statement yields, or None."""
        return await self.connection.fetchval(numbered(sql), *values)

    async def run(self, sql: str, *values: Any) -> int:
        """Do it; returns how many rows it touched."""
        return touched(await self.connection.execute(numbered(sql), *values))

    async def each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """The same statement with the values of each row, in one go."""
        await self.connection.executemany(numbered(sql), rows)

    async def generation(self, id_: str) -> int:
        """The number of a generation, for what names it from now on; noted in the database."""
        known = self.db.numbers_today()
        if (number := known.get(id_)) is not None:
            return number
        now = self.db.clock.now()
        noted = await self.one(
            "INSERT INTO generations AS g (id, created_at, named_on) VALUES ($1, $2, $3) "
            "ON CONFLICT (id) DO UPDATE SET named_on = greatest(g.named_on, $3) RETURNING n",
            id_,
            now,
            now // DAY_MS,
        )
        self.later.append(lambda: known.update({id_: noted}))
        return int(noted)

    async def rule_generations(self, pairs: Collection[tuple[str, int]]) -> None:
        """Jobs of these rules name these generations, by number: they are looked up by that."""
        if new := sorted(set(pairs) - self.db.ruled):
            await self.run(
                "INSERT INTO rule_generations SELECT * FROM unnest($1::text[], $2::integer[]) "
                "ON CONFLICT DO NOTHING",
                [rule for rule, _ in new],
                [number for _, number in new],
            )
            self.later.append(lambda: self.db.ruled.update(new))

    async def generation_ids(self, numbers: Set[int]) -> Mapping[int, str]:
        """The ids of these generations, and of others; one that is not there is not among them."""
        if unknown := numbers - self.db.ids.keys():
            sql = "SELECT n, id FROM generations WHERE n = ANY($1::integer[])"
            self.db.ids.update(await self.all(sql, list(unknown)))
        return self.db.ids


def touched(status: str) -> int:
    """How many rows a statement touched, from what the server says of it: `UPDATE 5`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0


@lru_cache(maxsize=1024)
def numbered(sql: str) -> str:
    """Each `?` as `$1`, `$2` … in order; what is numbered already stays."""
    first, *rest = sql.split("?")
    return first + "".join([f"${n}{part}" for n, part in enumerate(rest, 1)])
