"""A window with something behind it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.web.pages.rig import Rig, a_rig


def pytest_asyncio_loop_factories(
    config: Any, item: Any
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Pages are asked without a socket: one loop is as good as the other."""
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with a_rig(tmp_path) as made:
        await made.fill()
        yield made


@pytest.fixture
async def free(tmp_path: Path) -> AsyncIterator[Rig]:
    """Where no token is asked for."""
    async with a_rig(tmp_path, asked=False) as made:
        await made.fill()
        yield made
