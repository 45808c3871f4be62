"""A sender's limit on calls a second, kept on our side."""

from collections import deque
from collections.abc import Iterable

from router.clock import Clock

WINDOW_S = 1.05
"""A little over a second: two calls may reach the sender closer together than they left."""


class Pace:
    """
    At most `most` turns in any second. `before` are the Unix milliseconds of turns that earlier
    runs took.
    """

    def __init__(self, clock: Clock, most: int, *, before: Iterable[int] = ()) -> None:
        self._clock = clock
        ages = sorted(((clock.now() - at) / 1000 for at in before), reverse=True)
        recent = [age for age in ages if 0 <= age < WINDOW_S]
        now = clock.monotonic()
        self._taken: deque[float] = deque((now - age for age in recent), maxlen=most)

    async def turn(self) -> None:
        """Wait until the next call may go, and count it."""
        if len(self._taken) == self._taken.maxlen:
            wait = self._taken[0] + WINDOW_S - self._clock.monotonic()
            if wait > 0:
                await self._clock.sleep(wait)
        self._taken.append(self._clock.monotonic())
