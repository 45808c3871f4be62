"""Time as a parameter: wall clock for records, monotonic for waits."""

import asyncio
import time
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
