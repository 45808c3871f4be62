"""Connections to PostgreSQL: some for each purpose, opened anew when they were lost."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import asyncpg

from router.errors import StoreUnavailable
from router.model.store_address import DatabaseUrl
from router.store.postgres.failures import DRIVER, SOUND, failure
from router.store.postgres.ids import decode_id, encode_id

Connection: TypeAlias = asyncpg.Connection

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[T]]

CONNECT_S = 2.0
IDLE_S = 5.0
"""How long a session may wait for us in the middle of what it does."""
SETTINGS = {
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": f"{IDLE_S:.0f}s",
    "default_transaction_isolation": "read committed",
    "TimeZone": "UTC",
    "jit": "off",
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}
PLANS_S, FIRST_PLANS_S = 5.0, 0.1
"""
How long a connection keeps its plans: one made of an empty table reads all of it, which is no
longer right when a million rows have come. When the connection is new they grow fastest.
"""
_SET = (
    "SELECT pg_backend_pid(), count(set_config(name, value, false)) "
    "FROM unnest($1::text[], $2::text[]) AS s (name, value)"
)
LATE_S = 1.0
"""The server ends a statement that takes too long; that long after we do not wait for it either."""


class Lane:
    """
    Connections for one purpose, `size` at most, each made when it is first wanted.

    `timeout_s` bounds each statement; `settings` are the server's, beside those of every lane.
    Plans are made anew every few seconds by `seconds`, which tells the time; None: never.
    """

    def __init__(
        self,
        address: DatabaseUrl,
        purpose: str,
        size: int,
        timeout_s: float,
        settings: Mapping[str, str] = {},
        seconds: Callable[[], float] | None = None,
    ) -> None:
        self.address, self._purpose, self._timeout_s = address, purpose, timeout_s
        timeout = {"statement_timeout": f"{round(timeout_s * 1000)}ms"}
        self._settings = SETTINGS | timeout | dict(settings)
        self._seconds = seconds
        self._where = f"{address} ({purpose})"
        self._planned: dict[Connection, tuple[float, float]] = {}  # made at, planned at
        self._room = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._working: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.sessions: set[int] = set()  # of its open connections, by the server's number

    async def run(self, work: Work[T]) -> T:
        """
        `work` on a connection that is its own meanwhile. It goes on to its end though whoever
        asked does not wait for that.

        Raises:
            StoreUnavailable: the driver failed, in whatever way. Crossed, Unstorable: the work is
                undone; else what became of it is not known, and the connection is given up.
        """
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return await asyncio.shield(task)

    async def _run(self, work: Work[T]) -> T:
        async with self._room:
            connection = await self._connection()
            try:
                if self._seconds is not None:
                    await self._plan_anew(connection, self._seconds())
                return await work(connection)
            except DRIVER as error:
                failed = failure(error, self._where)
                if not isinstance(failed, SOUND):
                    connection.terminate()
                raise failed from error
            finally:
                self._put_back(connection)

    def _put_back(self, connection: Connection) -> None:
        """One that is amid a transaction would harm the next who gets it."""
        if not connection.is_closed() and connection.is_in_transaction():
            connection.terminate()
        if not connection.is_closed():
            self._idle.append(connection)

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        try:
            return await self._open()
        except DRIVER as error:
            raise failure(error, self._where) from error

    async def _plan_anew(self, connection: Connection, now: float) -> None:
        """What the connection has prepared is planned again, by the sizes that tables have now."""
        if connection not in self._planned:
            kept = {c: times for c, times in self._planned.items() if not c.is_closed()}
            self._planned = kept | {connection: (now, now)}
        made, planned = self._planned[connection]
        if now - planned >= min(PLANS_S, max(FIRST_PLANS_S, planned - made)):
            await connection.execute("DISCARD PLANS")
            self._planned[connection] = made, now

    async def _open(self) -> Connection:
        connection = await self.connect()
        try:
            await self._settle(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def connect(self) -> Connection:
        """A connection as it comes: nothing is set in it. Raises what the driver raises."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return await asyncpg.connect(
            self.address.url,
            timeout=CONNECT_S,
            command_timeout=self._timeout_s + LATE_S,
            statement_cache_size=512,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": f"router {self._purpose}"},
        )

    async def adopt(self, connection: Connection) -> None:
        """Have this one, which `connect` made. Raises what the driver raises."""
        await self._settle(connection)
        self._idle.append(connection)

    async def _settle(self, connection: Connection) -> None:
        """Not as it connects: poolers know few settings by name, and refuse the others."""
        session = await connection.fetchval(_SET, list(self._settings), [*self._settings.values()])
        self.sessions.add(session)
        connection.add_termination_listener(lambda _connection: self.sessions.discard(session))
        await connection.set_type_codec(
            "uuid", schema="pg_catalog", encoder=encode_id, decoder=decode_id, format="binary"
        )

    async def close(self) -> None:
        """Let what is under way end, and close every connection."""
        while self._working:
            await asyncio.wait(set(self._working))
        self._closed = True
        for connection in self._idle:
            with suppress(*DRIVER):  # one that is lost is closed
                await connection.close(timeout=CONNECT_S)
        self._idle.clear()
