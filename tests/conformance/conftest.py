"""Every store, behind one fixture: a test of a verb holds for file, memory, server and model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.store.protocol import Store
from router.store.sqlite.inline import Memory, MemoryStore
from router.store.sqlite.store import open_store
from tests.clocks import ManualClock
from tests.conformance.fleet import Fleet, ModelFleet
from tests.conformance.model_store import ModelStore
from tests.conformance.rig import DATABASES, Rig
from tests.store_values import Maker


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture(params=[*DATABASES, "model"])
async def store(
    request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[Store]:
    if request.param == "model":
        yield ModelStore(clock)
        return
    if request.param == "memory":
        memory = MemoryStore(Memory(), clock)
        await memory.start()
        yield memory
        await memory.close()
        return
    if request.param == "postgres":
        # A driver that few tests need.
        from router.store.postgres.store import open_store as open_shared  # noqa: PLC0415

        shared = await open_shared(await _emptied(request), clock=clock)
        yield shared
        await shared.close()
        return
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    yield store
    await store.close()


@pytest.fixture(params=["postgres", "model"])
async def fleet(request: pytest.FixtureRequest, clock: ManualClock) -> AsyncIterator[Fleet]:
    """A ledger of several nodes: of every store that can be shared."""
    if request.param == "model":
        yield ModelFleet(clock)
        return
    # A driver that few tests need.
    from tests.conformance.postgres_fleet import PostgresFleet  # noqa: PLC0415

    shared = PostgresFleet(await _emptied(request), clock)
    yield shared
    await shared.close()


async def _emptied(request: pytest.FixtureRequest) -> str:
    """The address of this process's database, which is emptied."""
    from tests.postgres.emptying import emptied  # noqa: PLC0415 - as above

    address: str = request.getfixturevalue("postgres")
    await emptied(address)
    return address


@pytest.fixture
def rig(store: Store, make: Maker) -> Rig:
    return Rig(store, make)
