"""Runs added and their jobs ended, each in a transaction of its own."""

from collections.abc import Sequence

from router.model.job import NewJob
from router.store.common.run_changes import NewRun
from router.store.common.states import SUCCEEDED
from router.store.postgres import runs
from router.store.postgres.database import Database, Tx
from router.store.postgres.job_rows import job_row
from tests.clocks import START_MS
from tests.store_values import GENERATION, Maker
from tests.unit.store.postgres.ledger import add_delivery
from tests.unit.store.postgres.looking import jobs as stored

Outcome = tuple[tuple[tuple[str, int], ...], tuple[str, ...]]


async def add_runs(db: Database, make: Maker, *runs_of: Sequence[NewJob]) -> list[Outcome]:
    """Runs of one delivery, of these jobs each; what came of each."""
    delivery = make.delivery().id

    async def add(tx: Tx) -> list[Outcome]:
        await add_delivery(tx, delivery)
        number = await tx.generation(GENERATION)
        return await add_within(tx, delivery, number, runs_of)

    return await db.transact(add)


async def add_within(
    tx: Tx, delivery: str, generation: int, runs_of: Sequence[Sequence[NewJob]]
) -> list[Outcome]:
    """The same within a transaction that is not committed yet."""
    new = [
        NewRun(jobs, [job_row(job, delivery, generation, START_MS) for job in jobs], jobs[0].turn)
        for jobs in runs_of
    ]
    outcomes = []
    async with runs.changing(tx, START_MS, new=new) as changes:
        for one in new:
            await changes.add(one)
            outcomes.append(changes.outcome())
    return outcomes


async def end(db: Database, run: Sequence[NewJob], job: NewJob, state: int = SUCCEEDED) -> Outcome:
    """A job of this run ends so; what came of it."""

    async def settle(tx: Tx) -> Outcome:
        async with runs.changing(tx, START_MS, runs=[run[0].id]) as changes:
            await end_within(tx, job, state)
            await changes.follow(run[0].id)
        return changes.outcome()

    return await db.transact(settle)


async def end_within(tx: Tx, job: NewJob, state: int = SUCCEEDED) -> None:
    """Its rows alone."""
    await tx.run("DELETE FROM queue WHERE job = $1", job.id)
    await tx.run("UPDATE jobs SET state = $2, ended_at = 1 WHERE id = $1", job.id, state)


async def states(db: Database, *jobs: NewJob) -> list[str]:
    """Of these jobs, with their reasons."""
    found = {job.id: f"{job.state} {job.reason or ''}".strip() for job in await stored(db)}
    return [found[job.id] for job in jobs]
