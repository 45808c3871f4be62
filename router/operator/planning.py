"""What an operator's verb would do, counted before anything is done."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from router.model.operations import ActionJobs, Planned, Replay
from router.operator.replay_source import ReplayBatch, ReplaySource

LOOKED_AT = 10_000
"""Deliveries that a plan looks at; of a larger selection it says `at least`."""


async def plan(finder: ReplaySource, replay: Replay, rate: float | None) -> Planned:
    """Count what would be made."""
    parts: Counter[tuple[str, str, str]] = Counter()
    times: list[int] = []
    total, redacted = ReplayBatch(replay.reached), 0
    while not total.last and len(times) + total.passed < LOOKED_AT:
        batch = await finder.batch(replay)
        replay = msgspec.structs.replace(replay, reached=batch.reached)
        for stored, jobs in batch.work:
            times.append(stored.delivery.received_at)
            redacted += stored.delivery.redacted is not None
            parts.update((job.rule, job.action, job.target) for job in jobs)
        total.skipped += batch.skipped
        total.passed += batch.passed
        total.earlier = max(total.earlier, batch.earlier)
        total.last = batch.last
    return Planned(
        len(times),
        parts.total(),
        total.skipped,
        tuple([ActionJobs(*key, count) for key, count in parts.most_common()]),
        min(times, default=None),
        max(times, default=None),
        _seconds(parts, rate),
        total.last,
        total.passed,
        total.earlier or None,
        redacted,
    )


def joined(plans: Sequence[Planned]) -> Planned:
    """One plan of several, each of other jobs; a delivery in two of them counts twice."""
    if len(plans) == 1:
        return plans[0]
    parts: Counter[tuple[str, str, str]] = Counter()
    for one in plans:
        parts.update({(p.rule, p.action, p.target): p.jobs for p in one.parts})
    times = [at for one in plans for at in (one.first_at, one.last_at) if at is not None]
    return Planned(
        sum(one.deliveries for one in plans),
        parts.total(),
        parts=tuple([ActionJobs(*key, count) for key, count in parts.most_common()]),
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        passed=sum(one.passed for one in plans),
        redacted=sum(one.redacted for one in plans),
        earlier=max((one.earlier for one in plans if one.earlier is not None), default=None),
    )


def _seconds(parts: Counter[tuple[str, str, str]], rate: float | None) -> float:
    by_target: Counter[str] = Counter()
    for (_, _, target), count in parts.items():
        by_target[target] += count
    return (max(by_target.values()) - 1) / rate if rate and by_target else 0.0
