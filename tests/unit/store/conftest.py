"""Stores on a real file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock
from tests.store_values import Maker


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
