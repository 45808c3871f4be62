"""How many jobs are dead, as every page says it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from router.clock import Clock
from router.errors import StoreUnavailable

KEPT_S = 2.0


class DeadLetterCount:
    """The number, asked for at most every KEPT_S: an index has to be counted for it."""

    def __init__(self, ask: Callable[[], Awaitable[int]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._ends_at = 0.0
        self.known = 0
        """As it was when it was asked for the last time."""

    async def renew(self) -> None:
        """Ask again, if that was long ago; without a store it stays as it was."""
        now = self._clock.monotonic()
        if now < self._ends_at:
            return
        self._ends_at = now + KEPT_S
        with suppress(StoreUnavailable):
            self.known = await self._ask()
