"""Two routers at the same database: one holds its transaction open, the other comes meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from router.store.postgres.database import Database, Tx
from tests.unit.store.postgres.looking import rows

T = TypeVar("T")
Pause = Callable[[], Awaitable[None]]

PATIENT = "SET LOCAL idle_in_transaction_session_timeout = 0"
"""Who holds a transaction open waits for the others, however long they take on a busy machine."""

_BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@asynccontextmanager
async def uncommitted(db: Database, work: Callable[[Tx], Awaitable[T]]) -> AsyncIterator[None]:
    """`work` is done within the block, and commits at its end."""

    async def held(tx: Tx, pause: Pause) -> None:
        await work(tx)
        await pause()

    async with paused(db, held):
        yield


@asynccontextmanager
async def paused(
    db: Database, work: Callable[[Tx, Pause], Awaitable[T]]
) -> "AsyncIterator[asyncio.Task[T]]":
    """`work` stands within the block where it pauses, and goes on, and commits, at its end."""
    done, go = asyncio.Event(), asyncio.Event()

    async def pause() -> None:
        done.set()
        await go.wait()

    async def patient(tx: Tx) -> T:
        await tx.run(PATIENT)
        return await work(tx, pause)

    task = asyncio.create_task(db.transact(patient))
    reached = asyncio.create_task(done.wait())
    await asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield task
    finally:
        go.set()
        reached.cancel()
        await asyncio.wait([task])
    await task


async def meanwhile(
    db: Database, work: Coroutine[Any, Any, T], *, blocked: int = 1
) -> "asyncio.Task[T]":
    """It has been begun, and has come to its end, or waits for a lock: so many do then."""
    task = asyncio.create_task(work)
    while not task.done() and (await rows(db, _BLOCKED))[0][0] < blocked:
        pass
    return task
