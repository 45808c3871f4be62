import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import uvloop


def pytest_asyncio_loop_factories(
    config: Any, item: Any
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test of this room runs on both loops: they differ in how connections end."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
