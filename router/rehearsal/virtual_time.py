"""Virtual time: an event loop that jumps to its next timer as soon as everything waits."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

from router.clock import Clock

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: the time of a test that sets no `clock`, so that it stays the same."""
_ROUNDING = 1e-3
"""Of a millisecond: a timer due at its end must not be found a hair before it."""


class Stuck(AssertionError):
    """Everything waits and no timer will ever end it."""


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for I/O, time passes, up to `until`; there `idle` is called."""

    elapsed = 0.0
    until: float | None = None
    idle: Callable[[], None]

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.until is not None and (timeout is None or self.elapsed + timeout > self.until):
            self.idle()
        elif timeout is None:
            raise Stuck("nothing is ready and nothing is timed")
        else:
            self.elapsed += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """No I/O, no threads, no real time: the same work runs the same way each time."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        self._jumping.idle = self.stop
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.elapsed

    def run_until(self, time: float) -> None:
        """Run whatever is due until then, and be there."""
        self._jumping.until = time
        try:
            self.run_forever()
        finally:
            self._jumping.until = None
        self._jumping.elapsed = max(self._jumping.elapsed, time)


class VirtualClock(Clock):
    """A clock on a virtual loop."""

    monotonic: Callable[[], float]

    def __init__(self, time: Callable[[], float], start_ms: int = START_MS) -> None:
        self._start = start_ms
        self.monotonic = time

    def now(self) -> int:
        """Unix milliseconds."""
        return self._start + int(self.monotonic() * 1_000 + _ROUNDING)

    async def sleep(self, seconds: float) -> None:
        """Wait until that much time has passed."""
        await asyncio.sleep(seconds)
