"""The time of a shared store: every node's clock follows it, whatever its machine's says."""

from collections import deque

from router.clock import SteadyClock

SAMPLES = 8
STEP_MS = 20
"""How much of a difference is made up for with each sample, so that no time jumps."""
SKEW_MS = 2_000
"""A machine whose clock is further off is not to be trusted with what goes by its files' times."""


class StoreTime:
    """
    Keeps a clock by what the store said with the least round trip of late. The first difference is
    made up for at once: nothing is due yet.
    """

    def __init__(self, clock: SteadyClock) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def said(self, now: int, *, asked: float, answered: float) -> None:
        """It was `now` at the store, somewhere between these two moments of monotonic time."""
        first, took = not self._samples, answered - asked
        self._samples.append((took, now + took * 500 - self._clock.now()))
        ahead = round(min(reversed(self._samples), key=lambda sample: sample[0])[1])
        ms = ahead if first else max(-STEP_MS, min(STEP_MS, ahead))
        self._clock.slew(ms)
        moved = [(took, off - ms) for took, off in self._samples]
        self._samples = deque(moved, SAMPLES)

    def skew(self) -> int:
        """By how many milliseconds the machine's clock is ahead of the store's; 0: not known."""
        return self._clock.drift() if self._samples else 0
