"""A server that crashes and comes back while deliveries are accepted."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.errors import StoreUnavailable
from router.model.store_address import DatabaseUrl
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore, open_store
from tests.postgres.server import Server
from tests.postgres.sharing import private_server
from tests.store_values import Maker
from tests.unit.store.postgres.looking import counted, rows
from tests.waiting import until

pytestmark = pytest.mark.long

STOPS, SENDERS, BETWEEN = 5, 20, 500
NEVER = 1 << 60


@pytest.fixture
async def server(postgres_binaries: Path) -> AsyncIterator[Server]:
    """Processes crash and the machine goes on: what is committed has reached the system."""
    with private_server(postgres_binaries, {"fsync": "off", "synchronous_commit": "on"}) as server:
        yield server


def is_odd(key: bytes) -> bool:
    return bool(int(key.partition(b"/")[0]) % 2)


class Sender:
    """
    Sends one delivery after the other, each again, under its key, until somebody has it. Those of
    an even sender have a second key, so that they take the careful way.
    """

    def __init__(self, store: PostgresStore, make: Maker, number: int) -> None:
        self._store, self._make, self._number = store, make, number
        self.answered: dict[bytes, str] = {}
        self.refused = 0
        self.ends = False

    async def send(self) -> None:
        while not self.ends:
            key = b"%d/%d" % (self._number, len(self.answered))
            keys = (key,) if is_odd(key) else (key, b"second/" + key)
            self.answered[key] = await self._insist(keys)

    async def _insist(self, keys: tuple[bytes, ...]) -> str:
        while True:
            try:
                one = self._make.acceptance(*keys, keys_until=NEVER)
                return (await self._store.accept(one)).delivery
            except StoreUnavailable:
                self.refused += 1


async def until_answered(senders: list[Sender], more: int) -> None:
    enough = sum([len(one.answered) for one in senders]) + more
    await until(lambda: sum([len(one.answered) for one in senders]) >= enough)


async def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(
    server: Server, make: Maker
) -> None:
    store = await open_store(server.address(), clock=SystemClock())
    senders = [Sender(store, make, number) for number in range(SENDERS)]
    async with asyncio.TaskGroup() as tasks:
        for one in senders:
            tasks.create_task(one.send())
        for _ in range(STOPS):
            await until_answered(senders, BETWEEN)
            await asyncio.to_thread(server.stop, "immediate")
            await asyncio.to_thread(server.start)
        await until_answered(senders, BETWEEN)
        for one in senders:
            one.ends = True
    await store.close()
    answered = {key: id_ for one in senders for key, id_ in one.answered.items()}
    db = Database(DatabaseUrl(server.address()), SystemClock(), 6)
    owners = {key: f"dlv_{id_}" for key, id_ in await rows(db, "SELECT key, delivery FROM keys")}
    stored = await counted(db)
    await db.close()
    both = {b"second/" + key: id_ for key, id_ in answered.items() if not is_odd(key)}
    assert owners == answered | both
    assert stored == (len(answered), len(owners), len(answered), len(answered))
