"""Stores on a real file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock
from tests.store_values import FAR, Maker
from tests.unit.store.spoiling import NOBODY, Teller


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "router.db"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = await open_store(str(path), clock=clock)
    yield store
    await store.close()


@pytest.fixture
async def teller(store: SqliteStore, make: Maker) -> Teller:
    """A router has started on the store."""
    teller = Teller(make)
    await store.recover(
        nodes=await store.reads.lost_nodes("b"), now=FAR, on_interrupt_dead=NOBODY, died=teller.died
    )
    return teller
