"""What the tests of this folder share."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import uvloop


def pytest_asyncio_loop_factories(
    config: Any, item: Any
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Calls out run on both loops: they differ in TLS, and in how connections end."""
    loops = {"asyncio": asyncio.new_event_loop}
    calls = item.path.stem in {"test_calls", "test_calls_tls", "test_calls_written"}
    return loops | {"uvloop": uvloop.new_event_loop} if calls else loops
