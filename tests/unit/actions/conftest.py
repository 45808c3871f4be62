"""What tests of several actions share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop

from router.actions.http import HttpAction
from router.egress import EgressPolicy

BOTH_LOOPS = {"test_client", "test_request_auth"}


def pytest_asyncio_loop_factories(
    config: Any, item: Any
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What lives by how connections end, and by TLS, runs on both loops: they differ there."""
    loops = {"asyncio": asyncio.new_event_loop}
    return loops | {"uvloop": uvloop.new_event_loop} if item.path.stem in BOTH_LOOPS else loops


@pytest.fixture
async def action() -> AsyncIterator[HttpAction]:
    """The http action, closed at the end."""
    made = HttpAction(EgressPolicy())
    yield made
    await made.close()
