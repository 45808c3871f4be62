"""Taking back jobs whose holder is gone."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from router.model.job import Job, Settlement
from router.store.common.interruptions import death_of, interrupted
from router.store.postgres import ends, runs
from router.store.postgres.abandoned import end_abandoned
from router.store.postgres.accepting import accept_within
from router.store.postgres.database import Database, Tx
from router.store.postgres.fragments import JOB_COLUMNS, JOBS_JOINED
from router.store.postgres.rows import to_job
from router.store.values import APART_MS, MAX_DEATHS, Died, Recovered, untold

STEP = 500
"""Jobs in one transaction."""

_NODE = "split_part(lease, '/', 1) = ANY($1::text[]) AND lease IS NOT NULL"
_HELD = f"SELECT job, delivery, run FROM queue WHERE {_NODE} AND job > $2 ORDER BY job LIMIT {STEP}"
_READ = (
    f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} "
    "WHERE j.id = ANY($1::uuid[]) AND j.delivery = ANY($2::uuid[]) ORDER BY j.id"
)
_FIRST = "job_" + "0" * 26
_LOCK = f"SELECT job FROM queue WHERE {_NODE} AND job = ANY($2::uuid[]) ORDER BY job FOR UPDATE"


async def recover(
    db: Database,
    nodes: Collection[str],
    now: int,
    dead_on_interrupt: frozenset[tuple[str, str]],
    died: Died = untold,
) -> Recovered:
    """
    Reclaim the running jobs of these nodes, step by step. What another router reclaims at the same
    time is passed over. Sessions that a router has left in the
    middle of something are ended before: they may hold what is to be changed.
    """
    await end_abandoned(db)
    total, after, apart = Recovered(0, 0), _FIRST, 0
    while True:
        step = partial(
            _step,
            nodes=list(nodes),
            now=now,
            after=after,
            apart=apart,
            dead=dead_on_interrupt,
            died=died,
        )
        reached, reclaimed, dead, suspects = await db.transact(step, db.dispatch)
        total = Recovered(total.reclaimed + reclaimed, total.dead + dead)
        if reached is None:
            return total
        after, apart = reached, apart + suspects


async def _step(
    tx: Tx,
    *,
    nodes: Sequence[str],
    now: int,
    after: str,
    apart: int,
    dead: frozenset[tuple[str, str]],
    died: Died,
) -> tuple[str | None, int, int, int]:
    """
    The last job it looked at (None: no more), how many it made available and dead, and how many of
    those are due one by one.
    """
    held = {
        f"job_{job}": (f"dlv_{delivery}", run and f"job_{run}")
        for job, delivery, run in await tx.all(_HELD, nodes, after)
    }
    linked = sorted({run for _, run in held.values() if run is not None})
    async with runs.changing(tx, now, runs=linked) as changes:
        locked = {f"job_{job}" for (job,) in await tx.all(_LOCK, nodes, list(held))}
        deliveries = list({held[job][0] for job in locked})
        jobs = [to_job(row) for row in await tx.all(_READ, list(locked), deliveries)]
        reclaims = _reclaims(jobs, now, tx.db.wall(now), apart, dead)
        await _write(tx, reclaims)
        for run in linked:
            await changes.follow(run)
    ended = [(one.job_dead(), one.end.attempt) for one in reclaims if one.end.state == "dead"]
    owns = [own for job, end in ended if (own := died(job, end)) is not None]
    if owns:
        await accept_within(tx, owns, now)
    suspects = sum([one.end.due_at is not None for one in reclaims])
    return max(held, default=None), len(locked) - len(ended), len(ended), suspects


class _Reclaim(NamedTuple):
    """A job, and the end of its attempt."""

    job: Job
    end: Settlement

    def job_dead(self) -> Job:
        """The job as it is then."""
        job, end = self
        return replace(
            job,
            state="dead",
            reason=end.reason,
            deaths=job.deaths + 1,
            lease=None,
            ended_at=end.attempt.ended_at,
        )


def _reclaims(
    jobs: Sequence[Job], now: int, at: int, apart: int, dead: frozenset[tuple[str, str]]
) -> list[_Reclaim]:
    reclaims = []
    for job in jobs:
        due_at = None
        reason = death_of(job.rule, job.action, job.deaths, dead)
        if not reason and job.deaths + 2 == MAX_DEATHS:
            due_at, apart = now + apart * APART_MS, apart + 1
        end = Settlement(
            job.id,
            job.lease or "",
            interrupted(job, at),
            "dead" if reason else "available",
            due_at,
            reason or job.reason,
            charged=False,
        )
        reclaims.append(_Reclaim(job, end))
    return reclaims


async def _write(tx: Tx, reclaims: Sequence[_Reclaim]) -> None:
    numbers = {id_: await tx.generation(id_) for id_ in {one.job.generation for one in reclaims}}
    await ends.write(tx, [(one.job.delivery, one.end) for one in reclaims], numbers, died=1)
