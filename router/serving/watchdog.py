"""The last way out: a process that is to end does, whatever still holds it."""

import os
import threading
import time
from collections.abc import Callable

from router.log import Log


class Watchdog:
    """
    Ends the process by force when it has not ended by itself in time: a disk that does not come
    back must not hold it until somebody else's patience ends. For the ledger that is as a kill.

    It waits in a thread of its own, so that nothing that the event loop waits for can hold it; and
    in one that is there from the beginning, for an end may come because nothing more can be had.
    """

    def __init__(self, log: Log, end: Callable[[int], object] = os._exit) -> None:
        self._log = log
        self._end = end
        self._at: float | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._wait, name="overdue", daemon=True).start()

    def after(self, seconds: float) -> None:
        """End it so long from now, instead of what was said before."""
        with self._changed:
            self._at = time.monotonic() + seconds
            self._changed.notify()

    def _wait(self) -> None:
        with self._changed:
            while self._at is None or self._at > time.monotonic():
                self._changed.wait(None if self._at is None else self._at - time.monotonic())
        try:
            self._log.error("ending by force", reason="something did not end in time")
        finally:
            self._end(1)
