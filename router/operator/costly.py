"""An answer that many may ask for, and that takes its time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from router.clock import Clock

T = TypeVar("T")

FRESH_S = 1.0
TIMES = 20
"""An answer stays for so many times as long as it took to find."""


class CostlyAnswer(Generic[T]):
    """
    Asks at most once a second, and the less often the longer that takes; who asks meanwhile gets
    the same answer. A failure is raised, and kept for nobody.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._kept: tuple[T, float] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def get(self) -> T:
        """The answer, not much older than that."""
        async with self._one_at_a_time:
            began = self._clock.monotonic()
            if self._kept is None or began >= self._kept[1]:
                answer = await self._ask()
                now = self._clock.monotonic()
                self._kept = answer, now + max(FRESH_S, TIMES * (now - began))
            return self._kept[0]
