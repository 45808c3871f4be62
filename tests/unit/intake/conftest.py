"""A store on a real file, with a clock of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    yield opened
    await opened.close()
