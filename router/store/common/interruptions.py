"""Jobs whose process ended: what became of their attempts, and whether they are dead of it."""

from router.model.job import Attempt, Job
from router.store.values import MAX_DEATHS

ENDED_WITH_US = "the router ended"


def interrupted(job: Job, at: int) -> Attempt:
    """The attempt that ended with its process, as `recover` records it at this wall time."""
    started = at if job.started_at is None else job.started_at
    return Attempt(
        job.id, job.attempt, started, at, "interrupted", ENDED_WITH_US, {}, job.generation
    )


def death_of(
    rule: str, action: str, deaths: int, dead_on_interrupt: frozenset[tuple[str, str]]
) -> str | None:
    """Why a job that had died so often before is dead now, if it is."""
    if (rule, action) in dead_on_interrupt:
        return "interrupted"
    return "crash_loop" if deaths + 1 >= MAX_DEATHS else None
