"""
When more comes than can be done: what has waited too long is refused at once, the rest is served.

Without this, everybody waits for everybody who came before, and the router works for senders who
have long given up.
"""

CALM_S, BUSY_S, STAYS_S = 0.75, 0.25, 1.0
HOPELESS_S = 0.8 * BUSY_S
"""Less than `BUSY_S`, because nobody knows beforehand how long a wait will be."""


class LoadShedder:
    """
    How long a whole request may wait for its turn on the loop. Times are the loop's, in seconds.

    A burst may wait `calm_s`. Once somebody had to be refused, and until nobody has been for
    `STAYS_S`, no one waits longer than `BUSY_S`: a queue that does not shrink helps nobody. Who
    would have to is then refused when he comes, before his request has cost anything.
    """

    def __init__(self, calm_s: float = CALM_S) -> None:
        self._calm_s = calm_s
        self._busy_until = 0.0

    def spent(self, since: float, now: float) -> bool:
        """Whether a request that was whole at `since` has waited too long."""
        waited = now - since
        if waited <= BUSY_S or (waited <= self._calm_s and now >= self._busy_until):
            return False
        self._busy_until = now + STAYS_S
        return True

    def busy(self, now: float) -> bool:
        """Whether somebody was refused a short while ago."""
        return now < self._busy_until

    def hopeless(self, expected_s: float, now: float) -> bool:
        """Whether a request that has to expect such a wait is refused at once."""
        if expected_s <= HOPELESS_S or not self.busy(now):
            return False
        self._busy_until = now + STAYS_S
        return True
