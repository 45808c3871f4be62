"""
Time as a parameter: wall time for records, ledger time for what is due, monotonic time for waits.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

LONG_MS = 86_400_000
"""A start so long after the last sign of life makes the clock doubtful."""


class Doubt(NamedTuple):
    """
    The clock may be wrong: the ledger was last `seen` long before. `seen` is wall time; `until` is
    the ledger time at which the clock is believed all the same.
    """

    seen: int
    until: int


class Clock(Protocol):
    """
    Where every package gets its time.

    `now` is wall time, Unix milliseconds (UTC), and goes into records: it is what people see.
    `ledger` is what `now` would say had nobody ever set the clock: due times, ends of keys and
    ages go by it, so that no job waits longer or shorter when somebody does. `offset` is how far
    wall time is ahead of it, in milliseconds. `monotonic` is in seconds and measures waits;
    `sleep` ends early only by cancellation.
    """

    offset: int = 0
    doubt: Doubt | None = None

    def now(self) -> int:
        """Wall time."""

    def ledger(self) -> int:
        """Ledger time."""
        return self.now() - self.offset

    def resume(self, offset: int) -> None:
        """Ledger time is so far behind wall time from here on: what a store remembers of it."""
        self.offset = offset

    def doubted(self) -> Doubt | None:
        """The doubt, while nothing may end for its age; None: there is none, or no more."""
        doubt = self.doubt
        if doubt is None or self.ledger() >= doubt.until or self.now() - doubt.seen <= LONG_MS:
            return None
        return doubt

    def monotonic(self) -> float:
        """Seconds since some moment."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock(Clock):
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock(Clock):
    """
    A clock that goes on evenly when somebody sets the machine's.

    What `source` said when this was made, and the time that has passed since by `ticks`, which are
    nanoseconds that nobody sets. What the machine's clock does later comes in by `slew` and `step`
    alone.
    """

    monotonic: Callable[[], float]

    def __init__(self, source: Clock, ticks: Callable[[], int]) -> None:
        self._source = source
        self._ticks = ticks
        self._base = source.now() * 1_000_000 - ticks()
        self.monotonic = source.monotonic  # as it is: it is read too often to be wrapped

    def now(self) -> int:
        return (self._base + self._ticks()) // 1_000_000 + self.offset

    def now_ns(self) -> int:
        """Wall time in nanoseconds, for who measures what takes less than a millisecond."""
        return self._base + self._ticks() + self.offset * 1_000_000

    def ledger(self) -> int:
        return (self._base + self._ticks()) // 1_000_000

    def resume(self, offset: int) -> None:
        self._base -= (offset - self.offset) * 1_000_000
        self.offset = offset

    def drift(self) -> int:
        """How far the machine's clock is from this one, in milliseconds; positive: it is ahead."""
        return self._source.now() - self.now()

    def slew(self, ms: int) -> None:
        """Be so much later from now on, ledger time too: the machine's clock went a little off."""
        self._base += ms * 1_000_000

    def step(self, ms: int) -> None:
        """Wall time is so much later from now on, ledger time is not: somebody set the clock."""
        self.offset += ms

    async def sleep(self, seconds: float) -> None:
        await self._source.sleep(seconds)


def steady() -> SteadyClock:
    """The machine's clock, made steady. Where the system can tell, time asleep counts too."""
    if (awake_or_not := getattr(time, "CLOCK_BOOTTIME", None)) is None:
        return SteadyClock(SystemClock(), time.monotonic_ns)
    return SteadyClock(SystemClock(), partial(time.clock_gettime_ns, awake_or_not))
