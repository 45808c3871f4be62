"""A breaker that has opened, and one whose probe is under way: for tests of breakers."""

import random

from router.dispatch.breaker import Breaker
from router.dispatch.health import BUCKET_MS
from router.model.settings import TargetLimits
from router.model.target import TargetChange

T = 1_750_000_000_000 // BUCKET_MS * BUCKET_MS
OWN = TargetLimits(16, None)
RNG = random.Random(1)


def fail(
    gate: Breaker, now: int, *, connecting: bool = False, job: str = "j"
) -> TargetChange | None:
    return gate.failed(job, now, "HTTP 503", connecting=connecting, rng=RNG)


def opened(now: int = T) -> Breaker:
    gate = Breaker("erp", now)
    for _ in range(5):
        fail(gate, now, connecting=True)
    assert gate.state == "failing"
    return gate


def probed(gate: Breaker) -> int:
    """Recovering at its time, with a probe named p; that time."""
    now = gate.next_probe
    assert gate.tick(now) is not None
    gate.begun("p")
    return now
