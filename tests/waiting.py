"""Waiting for what a real process or server is about to do."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until it holds; the test's own time limit bounds it."""
    while not condition():  # noqa: ASYNC110 - it is the world that changes, not a task of ours
        await asyncio.sleep(0)
