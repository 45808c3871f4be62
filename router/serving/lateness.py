"""How late the event loop gets to what is due."""

from collections.abc import Callable

from router.clock import Clock

INTERVAL_S = 1.0


async def watch_lateness(clock: Clock, late: Callable[[float], object]) -> None:
    """Sleep for a second, for ever, and say by how many seconds each sleep was too long."""
    while True:
        due = clock.monotonic() + INTERVAL_S
        await clock.sleep(INTERVAL_S)
        late(max(0.0, clock.monotonic() - due))
