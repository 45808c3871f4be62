"""The last way out."""

import queue

from router import log
from router.serving.watchdog import Watchdog


def test_a_process_that_does_not_end_is_ended() -> None:
    """With a status that says so."""
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()
    Watchdog(log.get("test"), ended.put).after(0.0)
    assert ended.get(timeout=5) == 1


def test_the_last_word_counts() -> None:
    """A second signal shortens what the first one said."""
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()
    overdue = Watchdog(log.get("test"), ended.put)
    overdue.after(3600.0)
    overdue.after(0.0)
    assert ended.get(timeout=5) == 1
    assert ended.empty()
