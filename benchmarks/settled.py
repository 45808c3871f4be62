"""Waiting until the machine is idle again: one server's round must not pay for another's."""

import time
from pathlib import Path

LOOK_S = 0.3
IDLE = 0.85
PATIENCE_S = 20.0


def settle(patience_s: float = PATIENCE_S) -> bool:
    """
    Wait until the processors are nearly idle; False: they were not in that time.

    adnanh/webhook does not wait for its commands: they go on long after its round is over.
    """
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        before = _ticks()
        time.sleep(LOOK_S)
        idle, total = (after - old for after, old in zip(_ticks(), before, strict=True))
        if idle >= IDLE * total:
            return True
    return False


def _ticks() -> tuple[int, int]:
    """Idle and all ticks of all processors since the machine started."""
    line = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:]
    ticks = [int(number) for number in line]
    return ticks[3] + ticks[4], sum(ticks)
