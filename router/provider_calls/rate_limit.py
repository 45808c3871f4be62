"""A sender's limit on calls a second, kept as the sender counts: by when calls reach it."""

from collections import deque
from collections.abc import Iterable

from router.clock import Clock

WINDOW_S = 1.02
"""A little over a second: no two clocks go alike."""
BEFORE_S = 2 * WINDOW_S
"""Of earlier runs we know when a call was decided on; it reached the sender a while later."""


class Pace:
    """
    At most `most` calls reach the sender in any second. A call reaches it at some moment between
    its `turn` and when it has `ended`, so the next one waits for a second after that.

    `before` are the Unix milliseconds of turns that earlier runs took.
    """

    def __init__(self, clock: Clock, most: int, *, before: Iterable[int] = ()) -> None:
        self._clock = clock
        ages = sorted(((clock.now() - at) / 1000 for at in before), reverse=True)
        recent = [age for age in ages if 0 <= age < BEFORE_S]
        now = clock.monotonic()
        free = (now - age + BEFORE_S for age in recent)
        self._free: deque[float] = deque(free, maxlen=most)
        """When each of the latest calls is a second ago."""

    async def turn(self) -> None:
        """Wait until the next call may go, and count it."""
        if len(self._free) == self._free.maxlen:
            wait = self._free[0] - self._clock.monotonic()
            if wait > 0:
                await self._clock.sleep(wait)
        self._free.append(self._clock.monotonic() + WINDOW_S)

    def ended(self) -> None:
        """The call of the last turn is answered, or given up: it has reached the sender by now."""
        self._free[-1] = self._clock.monotonic() + WINDOW_S
