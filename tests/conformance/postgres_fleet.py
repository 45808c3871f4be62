"""Several nodes on one PostgreSQL."""

import asyncpg

from router.clock import Clock
from router.store.postgres.store import PostgresStore, open_store
from router.store.protocol import Store


class PostgresFleet:
    """One database behind them all: an empty one."""

    def __init__(self, address: str, clock: Clock) -> None:
        self._address, self._clock = address, clock
        self._stores: list[PostgresStore] = []

    async def open(self) -> Store:
        store = await open_store(self._address, clock=self._clock)
        self._stores.append(store)
        return store

    async def cut(self, store: Store) -> None:
        assert isinstance(store, PostgresStore)
        pid = await store._db.node.run(lambda c: c.fetchval("SELECT pg_backend_pid()"))
        other = await asyncpg.connect(self._address)
        assert await other.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
        await other.close()

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
