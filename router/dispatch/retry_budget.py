"""When the retries of one target have their turn: so many a second, however many are due."""

from router.dispatch.health import Health

OF_USUAL = 1.8
"""Calls of a target are kept below this times its usual rate where that is ours to decide."""
LEAST = 5.0
"""So many calls a second are never too many."""
_SWEEP_MS = 60_000


def bearable(usual: float) -> float:
    """Calls a second of a target that is used to so many: these, and a few more."""
    return max(OF_USUAL * usual, LEAST)


class RetryBudget:
    """
    Gives each retry the second in which it is due, or the next one in which there is room.

    What a target bears beyond its usual rate is for retries: so its first attempts, which nobody
    holds back, and its retries together stay below twice the usual rate, or `LEAST` a second where
    that is more. A retry that has to wait is written down with a later due time: that spends
    neither an attempt nor a delay of its policy. Times are ledger time; a restart forgets the
    turns, not the due times.
    """

    __slots__ = ("_beyond", "_swept", "_taken")

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}
        self._beyond: dict[int, int] = {}  # of a full second, where to look next
        self._swept = 0

    def turn(self, due_at: int, now: int, health: Health) -> int:
        """The time, `due_at` or later, at which a retry may start; its turn is taken."""
        if abs(now - self._swept) >= _SWEEP_MS:
            self._sweep(now)
        usual = health.usual or 0.0
        most = int(bearable(usual) - usual)
        wanted = due_at // 1000
        second = self._free(wanted, most)
        taken = self._taken.get(second, 0)
        self._taken[second] = taken + 1
        return due_at if second == wanted else second * 1000 + taken * 1000 // most

    def _free(self, second: int, most: int) -> int:
        """The first second from this on that is not full; what was passed points at it."""
        passed = []
        while self._taken.get(second, 0) >= most:
            passed.append(second)
            second = self._beyond.get(second, second + 1)
        self._beyond.update(dict.fromkeys(passed, second))
        return second

    def _sweep(self, now: int) -> None:
        """Forget the seconds that have passed."""
        self._swept, first = now, now // 1000
        self._taken = {second: n for second, n in self._taken.items() if second >= first}
        self._beyond = {second: n for second, n in self._beyond.items() if second >= first}
