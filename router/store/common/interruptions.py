"""Jobs whose process ended: what became of their attempts, and whether they are dead of it."""

from router.model.job import Attempt, Job
from router.store.values import MAX_DEATHS

ENDED_WITH_US = "the router ended"
ENDED_BEFORE = "the router ended before it began"


def interrupted(job: Job, at: int) -> Attempt:
    """The attempt that ended with its process, as `recover` records it at this wall time."""
    if (started := job.started_at) is None:
        started, reason = at, ENDED_BEFORE
    else:
        reason = ENDED_WITH_US
    return Attempt(job.id, job.attempt, started, at, "interrupted", reason, {}, job.generation)


def death_of(
    rule: str,
    action: str,
    deaths: int,
    *,
    begun: bool,
    dead_on_interrupt: frozenset[tuple[str, str]],
) -> str | None:
    """
    Why a job that had died so often before is dead now, if it is; one that had not begun has done
    nothing.
    """
    if begun and (rule, action) in dead_on_interrupt:
        return "interrupted"
    return "crash_loop" if deaths + begun >= MAX_DEATHS else None
