"""Counts of copies, which a store holds in memory and writes now and then."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from router.clock import Clock
from router.errors import StoreUnavailable

WAIT_S = 1.0
"""They are written at most this often."""


class CopyCounts:
    """Has them written by `write` a while after the first of them came."""

    def __init__(self, clock: Clock, write: Callable[[], Awaitable[object]]) -> None:
        self._clock, self._write = clock, write
        self._task: asyncio.Task[None] | None = None

    def came(self) -> None:
        """A copy has come, or may have."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write_later())

    async def _write_later(self) -> None:
        await self._clock.sleep(WAIT_S)
        self._task = None
        # Should it fail, the counts stay in memory and go with the next ones.
        with suppress(StoreUnavailable):
            await self._write()

    async def stop(self) -> bool:
        """Nothing is written later; whether that was to be."""
        task, self._task = self._task, None
        if task is None:
            return False
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return True
