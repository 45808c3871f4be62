"""
How long the loop is kept by one thing, in processor time of its own thread.

Not by the clock: on a busy machine a turn takes as long as the others let it. What a turn computes
is the same everywhere, within the small factor by which a core is slower while it is shared.
"""

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator

LOOK_S = 0.001
KEPT_MAX_S = 0.2
"""
Four times the promise, which `benchmarks/` measures: a shared core may be taken away in the middle
of a turn, and counts that. What does harm grows with what it is given, and takes longer here.
"""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """
    Nothing in the block keeps the loop for long.

    Raises:
        AssertionError: something did.
    """
    loop, worst, last = asyncio.get_running_loop(), 0.0, time.thread_time()

    def look() -> None:
        nonlocal worst, last, timer
        now = time.thread_time()
        worst, last = max(worst, now - last), now
        timer = loop.call_later(LOOK_S, look)

    gc.disable()  # a test run's heap is not the router's
    timer = loop.call_later(LOOK_S, look)
    try:
        yield
    finally:
        timer.cancel()
        worst = max(worst, time.thread_time() - last)
        gc.enable()
    assert worst < KEPT_MAX_S, f"the loop was kept for {worst * 1000:.0f} ms"
