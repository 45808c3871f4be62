"""Waits that end at a time, or by something that happens before."""

import asyncio
from collections.abc import Callable
from typing import Any

from router.clock import Clock


class Alarm:
    """
    For one waiter. It may end early, never late: the waiter looks again at what it waits for.

    One timer task is kept across waits, as most of them end by a ring.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()
        self._timer: asyncio.Task[None] | None = None
        self._at = 0.0

    def ring(self) -> None:
        """End the wait, or the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait for a ring, `seconds` at most."""
        if seconds > 0 and not self._event.is_set():
            self._arm(seconds)
            await self._event.wait()
        self._event.clear()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, seconds: float) -> None:
        at = self._clock.monotonic() + seconds
        if self._timer is not None and not self._timer.done():
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = asyncio.get_running_loop().create_task(self._ring_after(seconds))

    async def _ring_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._event.set()


async def none_left(
    busy: Callable[[], "set[asyncio.Future[Any]]"], clock: Clock, seconds: float
) -> None:
    """Wait until nothing is `busy` any more, `seconds` at most."""
    sleeper = asyncio.get_running_loop().create_task(clock.sleep(seconds))
    try:
        while left := busy():
            await asyncio.wait({*left, sleeper}, return_when=asyncio.FIRST_COMPLETED)
            if sleeper.done():
                return
    finally:
        sleeper.cancel()
