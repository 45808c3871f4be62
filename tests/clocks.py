"""Clocks for tests."""

import asyncio
import heapq
from itertools import count

from router.clock import Clock

START_MS = 1_750_000_000_000


class ManualClock(Clock):
    """
    Time moves only by `advance`; sleepers wake as it passes them, in order.

    `now` is in milliseconds, `monotonic` in seconds from 0; both move together.
    """

    def __init__(self, now_ms: int = START_MS) -> None:
        self._start = now_ms
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> int:
        return self._start + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Suspend until the time has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), waker))
        await waker

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everything run that becomes runnable on the way."""
        await settle()
        until = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            at, _, waker = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, at)
            if not waker.done():
                waker.set_result(None)
            await settle()
        self._elapsed = until
        await settle()


class SetClock(ManualClock):
    """One that somebody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.off_by = 0

    def now(self) -> int:
        return super().now() + self.off_by

    def set(self, off_by: int) -> None:
        """Be off by so many milliseconds from here on."""
        self.off_by = off_by

    def nanoseconds(self) -> int:
        """Time that nobody sets."""
        return round(self.monotonic() * 1e9)


async def settle(turns: int = 30) -> None:
    """Let every runnable task run until it waits for time or I/O."""
    for _ in range(turns):
        await asyncio.sleep(0)


class JumpingClock(Clock):
    """Every sleep is over at once, and the time has passed; `slept` holds how long each was."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._start = now_ms
        self.elapsed = 0.0
        self.slept: list[float] = []

    def now(self) -> int:
        return self._start + round(self.elapsed * 1000)

    def monotonic(self) -> float:
        return self.elapsed

    async def sleep(self, seconds: float) -> None:
        """Let that much time be over."""
        self.slept.append(seconds)
        self.elapsed += max(0.0, seconds)
        await asyncio.sleep(0)
