"""Who may start: slots by target and kind, and each target's rate."""

from collections.abc import Callable, Mapping

import msgspec

from router.clock import Clock
from router.kinds import KINDS
from router.model.job import ActionKind, Job
from router.model.settings import TargetLimits
from router.model.share import NO_SHARE, Given, TargetShare

SMALL = 64 * 1024
"""Bodies up to this many bytes are not counted: all slots full of them are a few MiB."""

MOST = 128 * 1024 * 1024
"""Bytes of larger ones above which no more is begun."""


class BodyBudget:
    """
    Who may begin another job although large bodies are held.

    While any are, no target holds more than half of what others leave free, so the large bodies of
    a target that hangs do not stop the rest. What begins is counted after the fact, so `most` is
    passed by what was begun or leased at one time.
    """

    __slots__ = ("_by_target", "_most", "_sizes", "held")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sizes: dict[str, int] = {}
        self._by_target: dict[str, int] = {}
        self.held = 0

    def take(self, job: Job, size: int) -> None:
        """A job's body is held from here on; the caller has seen that it is not small."""
        self.give(job)  # one that was lost and taken back counts once
        self._sizes[job.id] = size
        self._by_target[job.target] = self._by_target.get(job.target, 0) + size
        self.held += size

    def give(self, job: Job) -> bool:
        """A job has ended; True: a body of its was counted."""
        size = self._sizes.pop(job.id, 0)
        if not size:
            return False
        self.held -= size
        mine = self._by_target.pop(job.target) - size
        if mine:
            self._by_target[job.target] = mine
        return True

    def room(self, target: str) -> bool:
        """Whether a job of the target may begin, however large its body is."""
        mine = self._by_target.get(target, 0)
        if not mine:
            return self.held < self._most
        return mine < (self._most - self.held + mine) // 2


TOTALS: Mapping[ActionKind, int] = {name: kind.slots for name, kind in KINDS.items()}
"""Jobs of a kind at once, over all targets."""

BURST_S = 0.1
"""A rate may be spent this many seconds ahead, so that fast rates need not start one by one."""

Limits = Callable[[str, ActionKind], TargetLimits]


class _Bucket(msgspec.Struct):
    """A token bucket on the monotonic clock."""

    at: float
    tokens: float = 1.0


def _usable(share: TargetShare) -> bool:
    return share.concurrency > 0 and share.most > 0


class Slots:
    """
    Counts what is held. No target holds more than half of what others leave free of its kind
    (rounded up), so a few hanging targets cannot stop the rest. `bodies` counts large bodies.

    `shared`: other nodes run jobs of the same targets, and of their limits only what is `given`
    holds here. What reaches nothing outside has none to share.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock,
        totals: Mapping[ActionKind, int] = TOTALS,
        *,
        body_bytes: int = MOST,
        shared: bool = False,
    ) -> None:
        self.bodies = BodyBudget(body_bytes)
        self.given: Given = {}
        self._shared, self._undivided = shared, limits
        self._limits = self._divided if shared else limits
        self._clock = clock
        self._totals = totals
        self._held: dict[ActionKind, int] = dict.fromkeys(totals, 0)
        self._held_by: dict[tuple[str, ActionKind], int] = {}
        self._buckets: dict[tuple[str, ActionKind], _Bucket] = {}

    def left(self, kind: ActionKind) -> int:
        """Free slots of a kind."""
        return self._totals[kind] - self._held[kind]

    def room(self, target: str, kind: ActionKind) -> int:
        """How many jobs of a target may start now."""
        if self.bodies.held and not self.bodies.room(target):
            return 0
        limits = self._limits(target, kind)
        mine = self._held_by.get((target, kind), 0)
        left = self._totals[kind] - self._held[kind]
        room = min(left, limits.concurrency - mine, (left + mine + 1) // 2 - mine)
        if room > 0 and limits.rate is not None:
            room = min(room, int(self._tokens(target, kind, limits.rate)))
        return max(0, room)

    def rate_wait(self, target: str, kind: ActionKind) -> float:
        """Seconds until the target's rate allows a start; 0 when rate is not what holds it."""
        rate = self._limits(target, kind).rate
        return 0.0 if rate is None else max(0.0, (1.0 - self._tokens(target, kind, rate)) / rate)

    def rated(self, target: str, kind: ActionKind) -> bool:
        """Whether the target has a rate."""
        return self._limits(target, kind).rate is not None

    def take(self, target: str, kind: ActionKind, count: int = 1) -> None:
        """Hold slots; the caller has checked `room`."""
        key = (target, kind)
        self._held[kind] += count
        self._held_by[key] = self._held_by.get(key, 0) + count
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.tokens -= count

    def give(self, target: str, kind: ActionKind, count: int = 1, *, unused: bool = False) -> None:
        """Give slots back; `unused` ones give their share of the rate back too."""
        key = (target, kind)
        self._held[kind] -= count
        mine = self._held_by[key] - count
        if mine:
            self._held_by[key] = mine
        else:
            del self._held_by[key]
        if unused and key in self._buckets:
            self._buckets[key].tokens += count

    def held_by(self, target: str, kind: ActionKind) -> int:
        """Slots that a target holds."""
        return self._held_by.get((target, kind), 0)

    def holders(self) -> frozenset[str]:
        """Targets that hold slots."""
        return frozenset([target for target, _ in self._held_by])

    def held(self) -> Mapping[str, int]:
        """The same of every target that has limits to share."""
        found: dict[str, int] = {}
        for (target, kind), count in self._held_by.items():
            if not KINDS[kind].local:
                found[target] = found.get(target, 0) + count
        return found

    def withheld(self, target: str, kind: ActionKind | None) -> bool:
        """Whether a target's jobs must not start here for want of a share."""
        if not self._shared or (kind is not None and KINDS[kind].local):
            return False
        return not _usable(self.given.get(target, NO_SHARE))

    def _divided(self, target: str, kind: ActionKind) -> TargetLimits:
        whole, share = self._undivided(target, kind), self.given.get(target, NO_SHARE)
        if KINDS[kind].local:
            return whole
        if not _usable(share):
            return TargetLimits(0, None, whole.breaker)
        slower = whole.rate if whole.rate is not None and whole.rate < share.most else share.rate
        return TargetLimits(min(whole.concurrency, share.concurrency), slower, whole.breaker)

    def forget_full_buckets(self) -> None:
        """Drop the rate's memory of targets that have been idle long enough not to need it."""
        now = self._clock.monotonic()
        for key in [k for k, b in self._buckets.items() if b.tokens >= 1 and now - b.at > 60]:
            del self._buckets[key]

    def _tokens(self, target: str, kind: ActionKind, rate: float) -> float:
        now = self._clock.monotonic()
        key = (target, kind)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(now)
        bucket.tokens = min(1.0 + rate * BURST_S, bucket.tokens + max(0.0, now - bucket.at) * rate)
        bucket.at = now
        return bucket.tokens
