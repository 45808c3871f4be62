"""The state of a target: what dispatch knows of it beside its limits."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import msgspec

from router.model.observed import Observed

TargetState = Literal["healthy", "failing", "recovering", "paused"]
"""
healthy     it is called, within its limits
failing     it failed too often: nothing is called until the next probe; or, of what has no
            breaker, only failures of late: it is called all the same, and has no next probe
recovering  one call at a time finds out whether it is back; then more with every good step
paused      nothing is called until somebody resumes it
"""

_OLD_STATES = {"closed": "healthy", "open": "failing", "half-open": "failing"}
"""Words that earlier versions have stored; a probe starts again with every start."""

BY_ROUTER = "router"
"""Who paused a target that failed for too long."""

FACT = "target/"
"""What must outlive a restart is kept under names that begin so: see TargetMemory."""
PAUSED = "paused/"
"""Each paused target has a fact under a name that begins so: see Pause."""


class TargetChange(Observed, frozen=True):
    """
    A target went from one state to another, or, recovering, from probes to more and more calls.
    `at` is wall time, `reason` in words.
    """

    target: str
    old: TargetState
    new: TargetState
    at: int
    reason: str
    by: str = BY_ROUTER


class Pause(msgspec.Struct, frozen=True):
    """Why a target is paused, by whom, and since when (ledger time)."""

    reason: str = ""
    by: str = BY_ROUTER
    at: int = 0

    @classmethod
    def read(cls, stored: Any) -> "Pause":
        """What was stored; of one that a disk has spoilt only that it is there."""
        with suppress(msgspec.ValidationError):
            return msgspec.convert(stored, cls)
        return cls()


def paused_targets(facts: Mapping[str, Any]) -> dict[str, Pause]:
    """The paused targets, as the facts of their names tell."""
    return {name.removeprefix(PAUSED): Pause.read(value) for name, value in facts.items()}


class TargetMemory(msgspec.Struct, omit_defaults=True):
    """
    What must outlive a restart. Times are ledger time. That it is paused is a fact of its own.

    `openings` counts those since it last kept up, `failing_since` is its first failure after its
    last answer, `usual` its calls a second in good days.
    """

    state: TargetState = "healthy"
    since: int = 0
    reason: str = ""
    by: str = BY_ROUTER
    next_probe: int = 0
    openings: int = 0
    failing_since: int | None = None
    usual: float | None = None

    @classmethod
    def read(cls, stored: Any) -> "TargetMemory":
        """What was stored, by earlier versions too. Raises msgspec.ValidationError."""
        state = stored.get("state") if isinstance(stored, dict) else None
        if isinstance(state, str):
            stored = {**stored, "state": _OLD_STATES.get(state, state)}
        if isinstance(stored, dict) and stored.get("recovering") is True:
            stored = {**stored, "state": "recovering"}
        return msgspec.convert(stored, cls)


class TargetNow(msgspec.Struct, frozen=True):
    """
    One target as the running router sees it.

    `next_probe` only while failing. `in_use` are calls under way of `concurrency`, `rate` and
    `pace` calls a second (None: no limit); the pace holds while it recovers. `attempts` are those
    of the last 5 minutes, `success` the part of them that were answered, None: there were none.
    `deferred` are jobs that came while it was not called. `failed_since`: it has no breaker, and
    has only failed since then.
    """

    target: str
    state: TargetState
    since: int | None
    reason: str
    by: str
    next_probe: int | None
    in_use: int
    concurrency: int
    rate: float | None
    pace: float | None
    attempts: int
    success: float | None
    last_error: str | None
    last_error_at: int | None
    deferred: int = 0
    failed_since: int | None = None


class TargetCounts(msgspec.Struct, frozen=True):
    """A target's jobs as the store has them; `oldest_due` of those that could run."""

    available: int = 0
    retryable: int = 0
    waiting: int = 0
    running: int = 0
    dead: int = 0
    oldest_due: int | None = None


class TargetRow(msgspec.Struct, frozen=True):
    """
    A place that work goes to, as a list shows it. Times in Unix milliseconds, rates in calls a
    second.

    `url` None: it is a secret, or the target is none of the file's. `kind` None: nothing of the
    present rules goes there. `in_use` to `last_error` are those of TargetNow, without a running
    server of what was remembered. `due_at` is when its next job is due, None: nothing waits.
    """

    name: str
    named: bool
    kind: str | None
    url: str | None = None
    timeout_s: float | None = None
    state: TargetState = "healthy"
    since: int | None = None
    reason: str = ""
    by: str = BY_ROUTER
    next_probe: int | None = None
    in_use: int = 0
    concurrency: int | None = None
    rate: float | None = None
    pace: float | None = None
    attempts: int = 0
    success: float | None = None
    last_error: str | None = None
    last_error_at: int | None = None
    deferred: int = 0
    available: int = 0
    retryable: int = 0
    waiting: int = 0
    running: int = 0
    dead: int = 0
    due_at: int | None = None

    @property
    def queued(self) -> int:
        """Its jobs that have not ended and do not run."""
        return self.available + self.retryable + self.waiting
