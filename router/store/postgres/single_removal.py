"""Single deliveries go, with all that came of them: what outlived its day, or may go before it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from router.store.common.run_changes import RunChanges
from router.store.postgres import partitions, runs
from router.store.postgres.database import Database, Tx
from router.store.postgres.finished import (
    AMONG,
    BETWEEN,
    MAY_BE_OLD,
    WINDOWS,
    Ages,
    judged,
    next_window,
)

ALWAYS = 2**48 - 1
"""The last millisecond of which there are ids."""

_LOCKS = (
    "SELECT id FROM deliveries WHERE id = ANY ($1) ORDER BY id FOR UPDATE",
    "SELECT id FROM jobs WHERE delivery = ANY ($1) ORDER BY delivery, id FOR UPDATE",
)


class Sweep:
    """A search for single deliveries, `kept` or not: each step goes on where the last stopped."""

    def __init__(self, db: Database, *, kept: bool) -> None:
        self._db, self._kept = db, kept
        self._first = ""

    @property
    def is_amid(self) -> bool:
        """Whether a round of it has begun and not ended."""
        return bool(self._first)

    async def step(self, ages: Ages, between: tuple[int, int], limit: int, now: int) -> int:
        """Remove up to `limit` of those that came between these times, the oldest first."""
        start, end = map(partitions.start, between)
        first, removed = max(self._first, start), 0
        for _ in range(WINDOWS):
            if first >= end:
                first = ""
                break
            window = partial(may_go, ages, first, end, kept=self._kept)
            following, going = await self._db.ask(window)
            room = limit - removed
            if going:
                work = partial(remove, ages=ages, ids=going[:room], kept=self._kept, now=now)
                removed += await self._db.transact(work)
            if len(going) > room:
                break  # the rest of this window is found by the next step
            first = following
        self._first = first if first < end else ""
        return removed


async def may_go(ages: Ages, first: str, end: str, tx: Tx, *, kept: bool) -> tuple[str, list[str]]:
    """Where the window ends that begins at an id, and those in it that may go."""
    following = await next_window(tx, first, end, kept=kept)
    rows = await judged(tx, ages, BETWEEN, first, following, kept=kept, only=MAY_BE_OLD)
    return following, [f"dlv_{row['id']}" for row in rows if row["may_go"]]


async def remove(tx: Tx, *, ages: Ages, ids: Sequence[str], kept: bool, now: int) -> int:
    """Remove those of these deliveries that still may go, with all that came of them."""
    async with locked(tx, ids, now) as changes:
        rows = await judged(tx, ages, AMONG, ids, kept=kept)
        gone = [f"dlv_{row['id']}" for row in rows if row["may_go"]]
        await take_out(tx, changes, gone)
    return len(gone)


@asynccontextmanager
async def locked(tx: Tx, ids: Sequence[str], now: int) -> AsyncIterator[RunChanges]:
    """In here nobody adds a job to these deliveries, or opens one again; see `runs.changing`."""
    of = "SELECT id FROM runs WHERE delivery = ANY ($1)"
    linked = [f"job_{id_}" for (id_,) in await tx.all(of, ids)]
    async with runs.changing(tx, now, runs=linked) as changes:
        for lock in _LOCKS:
            await tx.run(lock, ids)
        yield changes


async def take_out(tx: Tx, changes: RunChanges, gone: Sequence[str]) -> int:
    """Remove these deliveries, which are locked, and all that came of them; how many jobs."""
    if await tx.one("SELECT EXISTS (SELECT FROM runs WHERE delivery = ANY ($1))", gone):
        await changes.forget("r.delivery = ANY ($1)", [gone])
    jobs = await tx.all("DELETE FROM jobs WHERE delivery = ANY ($1) RETURNING id", gone)
    made = [f"job_{id_}" for (id_,) in jobs]
    await tx.run("DELETE FROM attempts WHERE job = ANY ($1)", made)
    await tx.run("DELETE FROM copies WHERE delivery = ANY ($1)", gone)
    await tx.run("DELETE FROM deliveries WHERE id = ANY ($1)", gone)
    return len(made)
