"""Time that jumps."""

START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: the time of a test that sets no `clock`, so that it stays the same."""


class VirtualClock:
    """A clock that stands still until it is moved; `sleep` moves it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._start = self._now = now_ms

    def now(self) -> int:
        """Unix milliseconds."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the start."""
        return (self._now - self._start) / 1_000

    async def sleep(self, seconds: float) -> None:
        """Let that much time have passed."""
        self.jump(self._now + round(seconds * 1_000))

    def jump(self, to_ms: int) -> None:
        """Be at that time; never back."""
        self._now = max(self._now, to_ms)
