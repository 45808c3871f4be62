"""What stands in the tables, by their rows alone; and how to change it."""

from typing import Any

from router.model.delivery import Delivery
from router.model.job import Job
from router.store.postgres.database import Database
from router.store.postgres.fragments import DELIVERY_COLUMNS, JOB_COLUMNS, JOBS_JOINED
from router.store.postgres.rows import to_delivery, to_job


async def rows(db: Database, sql: str) -> Any:
    return await db.ask_once(lambda tx: tx.all(sql))


async def run(db: Database, sql: str) -> None:
    await db.transact(lambda tx: tx.run(sql))


async def deliveries(db: Database) -> dict[str, Delivery]:
    joined = "deliveries d JOIN generations g ON g.n = d.generation"
    found = await rows(db, f"SELECT {DELIVERY_COLUMNS} FROM {joined}")  # noqa: S608 - our words
    return {one.id: one for one in map(to_delivery, found)}


async def jobs(db: Database) -> list[Job]:
    found = await rows(db, f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} ORDER BY 1")  # noqa: S608 - ours
    return list(map(to_job, found))


async def counted(db: Database) -> tuple[int, ...]:
    """How many deliveries, keys, jobs and places in the queue there are."""
    tables = ("deliveries", "keys", "jobs", "queue")
    counts = [f"(SELECT count(*) FROM {table})" for table in tables]  # noqa: S608 - our words
    return tuple((await rows(db, f"SELECT {', '.join(counts)}"))[0])
