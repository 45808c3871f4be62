"""Jobs that nobody can read: made dead, so that they hold up no other."""

from collections.abc import Sequence

from router.kinds import NUMBERED
from router.model.job import Attempt, Job
from router.store.common.death_causes import CORRUPT
from router.store.common.states import DEAD
from router.store.postgres import runs
from router.store.postgres.accepting import accept_within
from router.store.postgres.database import Tx
from router.store.postgres.fragments import JOB_COLUMNS, JOBS_JOINED
from router.store.postgres.rows import to_job

UNREADABLE = (ValueError, TypeError, LookupError)
"""What reading a row raises whose values are not those that were stored."""

_READ = (
    f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} "
    "WHERE j.id = ANY($1::uuid[]) AND j.delivery = ANY($2::uuid[]) ORDER BY j.id"
)
# What cannot be read of it is dropped, so that lists show the rest.
_BURY = f"""
    WITH gone AS (DELETE FROM queue WHERE job = ANY($1::uuid[]) RETURNING *)
    UPDATE jobs j SET state = {DEAD}, reason = $2, ended_at = $3, needs = NULL,
        kind = CASE WHEN j.kind = ANY($4::smallint[]) THEN j.kind ELSE 0 END,
        due_at = gone.due_at, attempt = gone.attempt, charged = gone.charged,
        deaths = gone.deaths, started_at = gone.started_at
    FROM gone WHERE j.id = gone.job AND j.delivery = gone.delivery
"""


async def readable(tx: Tx, jobs: Sequence[str], deliveries: Sequence[str]) -> list[Job]:
    """Those of these jobs that can be read, in the order of their ids."""
    found: list[Job] = []
    for row in await tx.all(_READ, jobs, deliveries):
        try:
            found.append(to_job(row))
        except UNREADABLE:
            continue
    return found


async def bury(tx: Tx, jobs: Sequence[str], now: int) -> None:
    """Make these open jobs dead: their runs go on, and the router says so of each."""
    at = tx.db.wall(now)
    of = await tx.all("SELECT delivery, run FROM queue WHERE job = ANY($1::uuid[])", jobs)
    linked = sorted({f"job_{run}" for _, run in of if run is not None})
    async with runs.changing(tx, now, runs=linked) as changes:
        await tx.run(_BURY, jobs, CORRUPT, at, list(NUMBERED))
        for run in linked:
            await changes.follow(run)
    for job in await readable(tx, jobs, [f"dlv_{delivery}" for delivery, _ in of]):
        end = Attempt(job.id, job.attempt, at, at, "dead", CORRUPT, {}, job.generation)
        await accept_of_dead(tx, [(job, end)], now)
    tx.later.append(lambda: tx.db.aside.extend(jobs))


async def accept_of_dead(tx: Tx, ended: Sequence[tuple[Job, Attempt]], now: int) -> None:
    """Accept what the router itself has to say of jobs that have been found dead."""
    owns = [own for job, end in ended if (own := tx.db.died(job, end)) is not None]
    if owns:
        await accept_within(tx, owns, now)
