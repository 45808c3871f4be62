"""
A day of the big tables goes: what has to stay longer is moved away, then its tables are dropped.

Nothing waits for the search, which may take minutes; the drop itself is short, and gives way.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import asyncpg

from router.model.settings import DAY_MS
from router.store.common.states import DEAD
from router.store.postgres import partitions
from router.store.postgres.database import Database, Tx
from router.store.postgres.finished import BETWEEN, Ages, judged, next_window

LOCK_MS = 50
"""The drop waits that long for others, and meanwhile others wait for it: then it gives up."""
MOVED = 100
MOVED_BYTES = 8 * 1024 * 1024
"""Deliveries that one transaction moves, and about how much of them."""

_MORE = f"""
    , max(octet_length(d.body)) AS bytes
    , count(*) FILTER (WHERE j.state = {DEAD}) AS dead
    , max(j.ended_at) FILTER (WHERE j.state = {DEAD}) AS died_at
    , count(*) FILTER (WHERE j.id >= $8) AS added
    , EXISTS (SELECT FROM runs r WHERE r.delivery = d.id AND r.turn IS NOT NULL) AS halts
"""
_UNSEEN = (
    "xid >= pg_snapshot_xmin($1::text::pg_snapshot) "
    "AND NOT pg_visible_in_snapshot(xid, $1::text::pg_snapshot)"
)
"""Deliveries of transactions that had not committed; of a dump that was restored, all of them."""
_ALL_UNSEEN = (
    f"SELECT count(*) FROM deliveries WHERE NOT kept AND id >= $2 AND id < $3 AND {_UNSEEN}"
)
_NOW_UNSEEN = f"SELECT count(*) FROM deliveries_%d WHERE {_UNSEEN}"
_DEAD = "SELECT count(*), max(ended_at) FROM jobs_%d WHERE state = %d"
_ADDED = "SELECT count(*) FROM jobs_%d WHERE id >= $1"


class Busy(Exception):
    """Others use what was to be locked."""


class DayRemoval:
    """
    One day's way out of the ledger. `deliveries` counts those that go with it, as far as it has
    been looked through; what is known of them tells later whether one of them came to life again.
    """

    def __init__(self, day: int, ages: Ages) -> None:
        self.day, self.ages = day, ages
        self._first, self._end = (partitions.start(n * DAY_MS) for n in (day, day + 1))
        self._snapshot, self._unseen = "", 0
        self.deliveries = self._dead = self._added = 0
        self._died_at: int | None = None

    @property
    def is_through(self) -> bool:
        """Whether the whole day has been looked through."""
        return self._first == self._end

    async def look(self, db: Database) -> bool:
        """Look through the next window, and move those away that stay; whether any was there."""
        end, found = await db.ask(self._window)
        staying = [row for row in found if not row["may_go"] or row["halts"]]
        for ids in _batches(staying):
            await db.transact(partial(move, ids=ids))
        for row in found:
            if row["may_go"] and not row["halts"]:
                self._note(row)
        self._first = end
        return bool(found)

    async def _window(self, tx: Tx) -> tuple[str, Sequence[Any]]:
        if not self._snapshot:
            self._snapshot = await tx.one("SELECT pg_current_snapshot()::text")
            self._unseen = await tx.one(_ALL_UNSEEN, self._snapshot, self._first, self._end)
        end = await next_window(tx, self._first, self._end, kept=False)
        window = (self._first, end, self._end)
        return end, await judged(tx, self.ages, BETWEEN, *window, kept=False, more=_MORE)

    def _note(self, row: Any) -> None:
        self.deliveries += 1
        self._dead += row["dead"]
        self._added += row["added"]
        if row["died_at"] is not None:
            self._died_at = max(self._died_at or 0, row["died_at"])

    async def drop(self, tx: Tx) -> bool:
        """
        Drop the day's tables. False: somebody has changed what was seen, so that it has to be
        looked through anew.

        Raises:
            Busy: others use them.
        """
        parents = ", ".join(f"ONLY {table}_days" for table in partitions.DAYS)
        tables = ", ".join(f"{table}_{self.day}" for table in partitions.DAYS)
        await tx.run(f"SET LOCAL lock_timeout = '{LOCK_MS}ms'")
        await tx.run("SET LOCAL enable_seqscan = off")
        try:
            await tx.run("SELECT pg_advisory_xact_lock($1)", partitions.LOCK)
            if self.day not in await partitions.there(tx):
                return False
            await tx.run(f"LOCK TABLE {parents}, {tables} IN ACCESS EXCLUSIVE MODE")
        except asyncpg.LockNotAvailableError as error:
            raise Busy from error
        if await self._has_changed(tx):
            return False
        await tx.run(f"DROP TABLE {tables}")
        return True

    async def _has_changed(self, tx: Tx) -> bool:
        """
        Whether a delivery has come, a job was added, or a dead one was revived, since they were
        seen: all else had ended for good. By indexes alone, as everybody waits meanwhile.
        """
        return (
            await tx.one(_NOW_UNSEEN % self.day, self._snapshot) > self._unseen
            or await tx.one(_ADDED % self.day, self._end) != self._added
            or tuple(await tx.row(_DEAD % (self.day, DEAD))) != (self._dead, self._died_at)
        )


def _batches(rows: Iterable[Any]) -> Iterator[list[str]]:
    ids: list[str] = []
    size = 0
    for row in rows:
        if ids and (len(ids) == MOVED or size + row["bytes"] > MOVED_BYTES):
            yield ids
            ids, size = [], 0
        ids.append(f"dlv_{row['id']}")
        size += row["bytes"]
    if ids:
        yield ids


async def move(tx: Tx, ids: Sequence[str]) -> None:
    """Deliveries outlive their day, with their jobs and attempts."""
    await tx.run("UPDATE deliveries SET kept = true WHERE NOT kept AND id = ANY ($1)", ids)
    jobs = await tx.all(
        "UPDATE jobs SET kept = true WHERE NOT kept AND delivery = ANY ($1) RETURNING id", ids
    )
    await tx.run(
        "UPDATE attempts SET kept = true WHERE NOT kept AND job = ANY ($1)",
        [f"job_{id_}" for (id_,) in jobs],
    )
