"""
One target's circuit breaker: when it is called, when it is left alone, how it comes back.

    healthy ──fails too often──▶ failing ──time──▶ recovering: one probe at a time
                                    ▲                  │            │ answered
                                    └──────fails───────┘            ▼
    healthy ◀──nothing due waits any more── recovering: more calls with every good step
    any ──only failures for days, or by hand──▶ paused ──by hand──▶ recovering

Pure: times are arguments, in ledger time. What changed is returned.
"""

import random

import msgspec

from router.dispatch.health import Health
from router.dispatch.retry_budget import LEAST, RetryBudget, bearable
from router.model.settings import TargetLimits
from router.model.target import BY_ROUTER, Pause, TargetChange, TargetMemory, TargetState

RATIO, ATTEMPTS = 0.7, 10
"""So many of at least so many attempts in the window failed: it is failing."""
REFUSALS = 5
"""So many failures to connect in a row count as much."""
FIRST_WAIT_MS, LONGEST_WAIT_MS = 30_000, 600_000
JITTER = 0.2
GIVE_UP_MS = 120 * 3_600_000
"""Only failures for so long: it is paused."""

STEP_MS = 5_000
FIRST_SLOTS, FIRST_PACE = 2, LEAST
"""Where a recovery begins: calls at once, calls a second. Both double with every good step."""

SAVE_MS = 600_000
"""What is no change of state is written down at most this often."""
_DRIFT = 0.1


class Breaker:
    """A target's state, and what it is judged by."""

    def __init__(
        self,
        target: str,
        now: int,
        memory: TargetMemory | None = None,
        pause: Pause | None = None,
    ) -> None:
        kept = memory or TargetMemory()
        self.target = target
        self.health = Health(now)
        self.health.usual, self.health.failing_since = kept.usual, kept.failing_since
        self.retries = RetryBudget()
        self.state: TargetState = kept.state
        self.since, self.reason, self.by = kept.since, kept.reason, kept.by
        if pause is not None:
            self.state, self.since = "paused", pause.at
            self.reason, self.by = pause.reason, pause.by
        self.pause_kept = pause is not None
        self.next_probe, self.openings = kept.next_probe, kept.openings
        self.probing = False
        self.probe: str | None = None
        self.deferred = 0
        self._kept, self._kept_at = memory, now
        self._slots, self._pace = FIRST_SLOTS, FIRST_PACE
        self._step_at, self._bad = now, 0
        self.health.learns = self.healthy

    @property
    def healthy(self) -> bool:
        """The target's own limits hold, and nothing else."""
        return self.state == "healthy"

    @property
    def blocked(self) -> bool:
        """Whether nothing at all may start."""
        return self.state in ("failing", "paused")

    @property
    def ramping(self) -> bool:
        """Whether it was reached again and is called more with every good step."""
        return self.state == "recovering" and not self.probing

    # -- what it lets through --------------------------------------------------------------------

    def tick(self, now: int) -> TargetChange | None:
        """Failing long enough? Then one call may find out. A clock set far back delays nothing."""
        if self.state != "failing" or 0 < self.next_probe - now <= LONGEST_WAIT_MS * (1 + JITTER):
            return None
        change = self._turn("recovering", now, "one call finds out whether it is back")
        self.probing = True
        return change

    def narrowed(self, limits: TargetLimits) -> TargetLimits:
        """What is left of its limits now."""
        if self.healthy:
            return limits
        if self.ramping:
            slots = min(limits.concurrency, self._slots)
            return TargetLimits(slots, self._paced(limits.rate), limits.breaker)
        return TargetLimits(0 if self.blocked else 1, limits.rate, limits.breaker)

    def pace(self, rate: float | None) -> float | None:
        """Calls a second while more are made step by step; None: no pace holds."""
        return self._paced(rate) if self.ramping else None

    def _paced(self, rate: float | None) -> float:
        """A rate that its owner wrote down is what it bears; else it is what it is used to."""
        if rate is None:
            usual = self.health.usual
            rate = self._pace if usual is None else bearable(usual)
        return min(self._pace, rate)

    # -- results of calls ------------------------------------------------------------------------

    def begun(self, job: str) -> None:
        """A call begins: it is the probe, if one is wanted."""
        if self.probing and self.probe is None:
            self.probe = job

    def defer(self) -> None:
        """A job came; counted while the target is not called, or one call at a time."""
        self.deferred += not self.ramping

    def answered(self, job: str, now: int) -> TargetChange | None:
        """An attempt was answered."""
        self.health.answered(now)
        if self.probing and job == self.probe:
            return self._recover(now, "the probe was answered", BY_ROUTER)
        self._step(now)
        return None

    def failed(
        self, job: str, now: int, reason: str, *, connecting: bool, rng: random.Random
    ) -> TargetChange | None:
        """An attempt failed by the target's fault. `connecting`: it was not even reached."""
        self.health.failed(now, reason, connecting=connecting)
        self._bad += 1
        failing = self.health.failing_since
        if self.state != "paused" and failing is not None and now - failing >= GIVE_UP_MS:
            hours = GIVE_UP_MS // 3_600_000
            return self.pause(now, f"nothing but failures for {hours} hours: {reason}", BY_ROUTER)
        if self.probing and job == self.probe:
            return self._fail(now, f"the probe failed: {reason}", rng)
        if self.blocked or self.probing:
            return None  # begun before
        self._step(now)
        words = self._too_often(now)
        return self._fail(now, f"{words}: {reason}", rng) if words else None

    def landed(self, job: str) -> None:
        """A job's attempt is over, however: the next one may be the probe."""
        if job == self.probe:
            self.probe = None

    def pause(self, now: int, reason: str, by: str) -> TargetChange | None:
        """Call it no more; None: it is paused already."""
        return None if self.state == "paused" else self._turn("paused", now, reason, by)

    def resume(self, now: int, reason: str, by: str) -> TargetChange | None:
        """Call it again, gently; None: nothing keeps it from being called."""
        if self.healthy or self.ramping:
            return None
        self.health.failing_since = None
        return self._recover(now, reason, by)

    def drained(self, now: int) -> TargetChange | None:
        """Nothing that is due waits for it any more."""
        if not self.ramping:
            return None
        self.openings = 0
        return self._turn("healthy", now, "nothing that is due waits any more")

    # -- from one state to another ---------------------------------------------------------------

    def _too_often(self, now: int) -> str | None:
        if self.health.refused >= REFUSALS:
            return f"{self.health.refused} failures to connect in a row"
        answered, failed = self.health.window(now)
        if answered + failed >= ATTEMPTS and failed >= RATIO * (answered + failed):
            return f"{failed} of {answered + failed} attempts in 5 minutes failed"
        return None

    def _fail(self, now: int, reason: str, rng: random.Random) -> TargetChange:
        wait = min(FIRST_WAIT_MS * 2 ** min(self.openings, 10), LONGEST_WAIT_MS)
        self.next_probe = now + round(wait * (1 + JITTER * rng.uniform(-1, 1)))
        self.openings += 1
        return self._turn("failing", now, reason)

    def _recover(self, now: int, reason: str, by: str) -> TargetChange:
        change = self._turn("recovering", now, reason, by)
        self.health.clear()
        self._slots, self._pace = FIRST_SLOTS, FIRST_PACE
        self._step_at, self._bad = now, 0
        return change

    def _turn(self, state: TargetState, now: int, reason: str, by: str = BY_ROUTER) -> TargetChange:
        change = TargetChange(self.target, self.state, state, now, reason, by)
        self.pause_kept = False
        self.state, self.since, self.reason, self.by = state, now, reason, by
        self.probe, self.probing, self.health.learns = None, False, self.healthy
        return change

    def _step(self, now: int) -> None:
        """Twice as much after a step without a failure, half as much after one with."""
        if not self.ramping or abs(now - self._step_at) < STEP_MS:
            return
        if self._bad:
            self._slots = max(FIRST_SLOTS, self._slots // 2)
            self._pace = max(FIRST_PACE, self._pace / 2)
        else:
            self._slots, self._pace = min(self._slots * 2, 1024), min(self._pace * 2, 1e6)
        self._step_at, self._bad = now, 0

    # -- over a restart --------------------------------------------------------------------------

    def memory(self) -> TargetMemory:
        """
        What must outlive a restart; a probe starts again then, at once. That it is paused the store
        knows otherwise; whoever ends that, it is called gently then.
        """
        if self.state == "paused":
            usual = self.health.usual
            return TargetMemory("recovering", reason="resumed", openings=self.openings, usual=usual)
        ordinary = self.healthy and not self.openings
        return TargetMemory(
            state="failing" if self.probing else self.state,
            since=0 if ordinary else self.since,
            reason="" if ordinary else self.reason,
            by=self.by,
            next_probe=self.next_probe if self.state == "failing" else 0,
            openings=self.openings,
            failing_since=self.health.failing_since,
            usual=self.health.usual,
        )

    def unkept(self, now: int) -> TargetMemory | None:
        """What is worth writing down now, if anything."""
        memory, kept = self.memory(), self._kept or TargetMemory()
        blank = msgspec.structs.replace
        drifts = {"failing_since": None, "usual": None, "by": BY_ROUTER}
        changed = blank(memory, **drifts) != blank(kept, **drifts)
        due = now - self._kept_at >= SAVE_MS
        drifted = memory.failing_since != kept.failing_since or _moved(kept.usual, memory.usual)
        return memory if changed or (due and drifted) else None

    def keep(self, memory: TargetMemory, now: int) -> None:
        """It has been written down."""
        self._kept, self._kept_at = memory, now


def _moved(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > _DRIFT * max(before, after)
