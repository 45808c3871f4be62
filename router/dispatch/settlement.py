"""What an attempt's end means for its job: pure."""

import random
from collections.abc import Callable
from typing import Any, Final

from router.model.job import (
    Attempt,
    AttemptOutcome,
    Done,
    FailureClass,
    Job,
    JobState,
    Outcome,
    RetryOutcome,
    Settlement,
    Skip,
)
from router.model.retry import AGE_LIMIT_MS, RetryPolicy, next_delay_ms

TOO_OLD: Final = "too_old"
INTERRUPTED: Final = "interrupted"
NOT_HERE: Final = "this router cannot run its rules, see its log"

RetryAt = Callable[[Job, RetryOutcome, int, int], int]


def too_old(job: Job, now: int) -> bool:
    """
    Whether a leased job could have run for so long that it must not any more.

    Time in which it was made to wait (a paused rule or target, a turn) does not count: whoever
    lets it go makes it due again. `now` is ledger time, as is `due_at`.
    """
    return job.started_at is not None and now - job.due_at > AGE_LIMIT_MS


class Settler:
    """
    Turns outcomes into settlements; `dry` marks every success as one that ran nothing. `retry_at`
    may make a job's next attempt later: it gets what failed, its due time by the policy, and now.
    """

    def __init__(
        self,
        rng: random.Random,
        *,
        dry: bool,
        retry_at: RetryAt = lambda _job, _outcome, due_at, _now: due_at,
    ) -> None:
        self._rng, self._retry_at = rng, retry_at
        self._success: AttemptOutcome = "dry" if dry else "succeeded"

    def settlement(
        self,
        job: Job,
        outcome: Outcome | Skip,
        policy: RetryPolicy,
        generation: str,
        now: int,
        ledger: int,
    ) -> Settlement:
        """The settlement of a finished attempt; its end in wall time and in ledger time."""
        match outcome:
            case Done(result):
                attempt = _attempt(job, self._success, None, result, generation, now)
                return _settle(job, attempt, "succeeded")
            case Skip(reason):
                attempt = _attempt(job, "skipped", reason, {}, generation, now)
                return _settle(job, attempt, "cancelled", charged=False)
            case RetryOutcome(failure=failure, after_s=after_s):
                tried = job.charged + 1
                delay = next_delay_ms(policy, tried, failure, after_s, self._rng)
                if delay is not None and sum(policy.schedule_ms[:tried]) <= AGE_LIMIT_MS:
                    attempt = _attempt(
                        job, "failed", outcome.reason, outcome.result, generation, now
                    )
                    due_at = self._retry_at(job, outcome, ledger + delay, ledger)
                    return _settle(job, attempt, "retryable", due_at=due_at, failure=failure)
        attempt = _attempt(job, "dead", outcome.reason, outcome.result, generation, now)
        failed = outcome.failure if isinstance(outcome, RetryOutcome) else None
        return _settle(job, attempt, "dead", failure=failed)


def interrupted(
    job: Job, generation: str, now: int, ledger: int, *, dead: bool, reason: str = INTERRUPTED
) -> Settlement:
    """The settlement of an attempt that we broke off ourselves: not the job's fault, uncharged."""
    attempt = _attempt(job, INTERRUPTED, reason, {}, generation, now)
    if dead:
        return _settle(job, attempt, "dead", charged=False)
    return _settle(job, attempt, "available", due_at=ledger, charged=False)


def _attempt(
    job: Job,
    outcome: AttemptOutcome,
    reason: str | None,
    result: dict[str, Any],
    generation: str,
    now: int,
) -> Attempt:
    return Attempt(
        job=job.id,
        number=job.attempt,
        started_at=now if job.started_at is None else job.started_at,
        ended_at=now,
        outcome=outcome,
        reason=reason,
        result=result,
        generation=generation,
    )


def _settle(
    job: Job,
    attempt: Attempt,
    state: JobState,
    *,
    due_at: int | None = None,
    charged: bool = True,
    failure: FailureClass | None = None,
) -> Settlement:
    return Settlement(
        job=job.id,
        lease=job.lease or "",
        attempt=attempt,
        state=state,
        due_at=due_at,
        reason=attempt.reason if state in ("dead", "cancelled") else None,
        charged=charged,
        failure=failure,
    )
