"""How a target did in the last five minutes, and what it is used to: numbers, no decisions."""

BUCKET_MS = 30_000
BUCKETS = 10
"""Ten of these are the five minutes that are judged."""

_LEARNS = 0.05
"""How much one bucket moves the usual rate: it follows within some ten minutes."""


class Health:
    """
    Attempts by half minutes, failures in a row, and the usual rate.

    `usual` are attempts a second, None until a whole bucket has been seen; it stands still while
    `learns` is false, and in a bucket where most failed: what is tried again then is not usual.
    Times are ledger time.
    """

    __slots__ = (
        "_answered",
        "_at",
        "_failed",
        "_whole",
        "failing_since",
        "last_error",
        "last_error_at",
        "learns",
        "refused",
        "usual",
    )

    def __init__(self, now: int) -> None:
        self._at = now // BUCKET_MS
        self._answered = [0] * BUCKETS
        self._failed = [0] * BUCKETS
        self._whole = False  # the first bucket began before we looked
        self.learns = True
        self.usual: float | None = None
        self.refused = 0  # failures to connect, one after another
        self.failing_since: int | None = None
        self.last_error: str | None = None
        self.last_error_at: int | None = None

    def answered(self, now: int) -> None:
        """It answered, whatever it said."""
        self._roll(now)
        self._answered[self._at % BUCKETS] += 1
        self.refused = 0
        self.failing_since = None

    def failed(self, now: int, reason: str, *, connecting: bool) -> None:
        """It did not answer, or said that it cannot."""
        self._roll(now)
        self._failed[self._at % BUCKETS] += 1
        self.refused = self.refused + 1 if connecting else 0
        self.last_error, self.last_error_at = reason, now
        if self.failing_since is None:
            self.failing_since = now

    def window(self, now: int) -> tuple[int, int]:
        """Attempts of the last five minutes: answered, failed."""
        self._roll(now)
        return sum(self._answered), sum(self._failed)

    def clear(self) -> None:
        """Judge anew from here on."""
        self._answered = [0] * BUCKETS
        self._failed = [0] * BUCKETS
        self.refused = 0
        self._whole = False

    def _roll(self, now: int) -> None:
        passed = now // BUCKET_MS - self._at
        if passed <= 0:
            return
        place = self._at % BUCKETS
        self._learn(self._answered[place], self._failed[place], passed)
        for step in range(1, min(passed, BUCKETS) + 1):
            place = (self._at + step) % BUCKETS
            self._answered[place] = self._failed[place] = 0
        self._at += passed

    def _learn(self, answered: int, failed: int, passed: int) -> None:
        rate = self.usual if failed > answered else (answered + failed) * 1000 / BUCKET_MS
        if self.learns and self._whole and rate is not None:
            before = rate if self.usual is None else self.usual
            self.usual = (before + (rate - before) * _LEARNS) * (1 - _LEARNS) ** (passed - 1)
        self._whole = True
