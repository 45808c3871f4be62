"""Time as a parameter: wall clock for records, monotonic for waits."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """
    Where every room gets its time.

    `now` is Unix time in milliseconds (UTC) and goes into records; `monotonic` is in seconds and
    measures waits; `sleep` ends early only by cancellation.
    """

    def now(self) -> int: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock:
    """
    A clock that goes on evenly when somebody sets the machine's.

    What `source` said when this was made, and the time that has passed since by `ticks`, which are
    nanoseconds that nobody sets. What the machine's clock does later comes in by `adopt` alone.
    """

    monotonic: Callable[[], float]

    def __init__(self, source: Clock, ticks: Callable[[], int]) -> None:
        self._source = source
        self._ticks = ticks
        self._base = source.now() * 1_000_000 - ticks()
        self.monotonic = source.monotonic  # as it is: it is asked too often to be asked twice

    def now(self) -> int:
        return (self._base + self._ticks()) // 1_000_000

    def offset(self) -> int:
        """How far the machine's clock is from this one, in milliseconds; positive: it is ahead."""
        return self._source.now() - self.now()

    def adopt(self, ms: int) -> None:
        """Be so much later from now on."""
        self._base += ms * 1_000_000

    async def sleep(self, seconds: float) -> None:
        await self._source.sleep(seconds)


def steady() -> SteadyClock:
    """The machine's clock, made steady. Where the system can tell, time asleep counts too."""
    awake_or_not = getattr(time, "CLOCK_BOOTTIME", None)
    if awake_or_not is None:
        return SteadyClock(SystemClock(), time.monotonic_ns)
    return SteadyClock(SystemClock(), partial(time.clock_gettime_ns, awake_or_not))
