"""What a replay would do, counted before anything is made."""

from collections import Counter

import msgspec

from router.model.operating import Replay
from router.replay.finding import Finder

LOOKED_AT = 10_000
"""Deliveries that a plan looks at; of a larger selection it says `at least`."""


class Part(msgspec.Struct, frozen=True):
    """The jobs of one action."""

    rule: str
    action: str
    target: str
    jobs: int


class Planned(msgspec.Struct, frozen=True):
    """
    The plan of a replay. `first_at` and `last_at` are when its deliveries came, Unix
    milliseconds; `seconds` is how long its pace will take; `whole` is false when there is more
    than was looked at. `passed` and `earlier` as of a replay.
    """

    deliveries: int = 0
    jobs: int = 0
    skipped: int = 0
    parts: tuple[Part, ...] = ()
    first_at: int | None = None
    last_at: int | None = None
    seconds: float = 0.0
    whole: bool = True
    passed: int = 0
    earlier: str | None = None


async def plan(finder: Finder, replay: Replay, rate: float | None) -> Planned:
    """Count what would be made."""
    parts: Counter[tuple[str, str, str]] = Counter()
    times: list[int] = []
    deliveries = skipped = passed = 0
    earlier = ""
    last = False
    while not last and deliveries + passed < LOOKED_AT:
        batch = await finder.batch(replay)
        replay = msgspec.structs.replace(replay, reached=batch.reached)
        for stored, jobs in batch.work:
            deliveries += 1
            times = [*times, stored.delivery.received_at]
            times = [min(times), max(times)]
            parts.update((job.rule, job.action, job.target) for job in jobs)
        skipped += batch.skipped
        passed += batch.passed
        earlier = max(earlier, batch.earlier)
        last = batch.last
    return Planned(
        deliveries,
        parts.total(),
        skipped,
        tuple([Part(*key, count) for key, count in parts.most_common()]),
        min(times, default=None),
        max(times, default=None),
        _seconds(parts, rate),
        last,
        passed,
        earlier or None,
    )


def _seconds(parts: Counter[tuple[str, str, str]], rate: float | None) -> float:
    if rate is None:
        return 0.0
    by_target: Counter[str] = Counter()
    for (_, _, target), count in parts.items():
        by_target[target] += count
    return max((count - 1) / rate for count in by_target.values()) if by_target else 0.0
