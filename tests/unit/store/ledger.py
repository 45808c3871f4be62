"""A book in memory: what a verb does within its transaction, without a thread or a file."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from router.model.job import Job, JobState, NewJob
from router.store.sqlite import accepting, leasing, reading, schema, settling
from router.store.sqlite.writer_state import Book
from router.store.values import Acceptance, LeaseBatch, Recovered, Settled
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()


def ending(job: Job, state: JobState = "succeeded", **given: Any) -> settling.Ending:
    """The end of this running job's attempt, as the writer's thread gets it."""
    return (a_settlement(job, state, **given), None), START_MS


class Ledger:
    """Each verb is committed at once."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        schema.make(self.db)
        self.book, self.make = Book(self.db, Path(), ManualClock()), Maker()
        self.leases = 0

    def accept(self, *jobs: NewJob, **given: Any) -> str:
        """A delivery with these jobs; its id."""
        acceptance = self.make.acceptance(jobs=jobs, **given)
        self.write(acceptance)
        self.book.committed()
        return acceptance.delivery.id

    def write(self, acceptance: Acceptance) -> None:
        """Accept it within a transaction that is not committed yet."""
        accepting.accept_all(self.book, [(acceptance, START_MS)])

    def lease(
        self,
        slots: Mapping[str, int],
        now: int = FAR,
        *,
        lease: str = "",
        fresh: Mapping[str, Sequence[str]] = {},
    ) -> LeaseBatch:
        batch = self.lease_within(slots, now, lease=lease, fresh=fresh)
        self.book.committed()
        return batch

    def lease_within(
        self,
        slots: Mapping[str, int],
        now: int = FAR,
        *,
        lease: str = "",
        fresh: Mapping[str, Sequence[str]] = {},
    ) -> LeaseBatch:
        """Lease within a transaction that is not committed yet."""
        self.leases += 1
        token = lease or f"b/{self.leases}"
        return leasing.lease(self.book, slots, lease=token, now=now, fresh=fresh)

    def one(self, now: int = FAR, *, lease: str = "") -> Job:
        """The job that is due first, leased."""
        (leased,) = self.lease({"erp": 1}, now, lease=lease).jobs
        return leased.job

    def settle(self, job: Job, state: JobState = "succeeded", **given: Any) -> Settled:
        (settled,) = settling.settle_all(self.book, [ending(job, state, **given)])
        self.book.committed()
        return settled

    def recover(
        self, now: int = FAR, *, alive: str = "new", dead: frozenset[tuple[str, str]] = NOBODY
    ) -> Recovered:
        nodes = {node for _, node in reading.holders(self.db)} - {alive}
        recovered = leasing.recover(self.book, nodes, now, dead, lambda _job, _attempt: None)
        self.book.committed()
        return recovered

    def rows(self, columns: str, table: str = "jobs", order: str = "n") -> list[tuple[Any, ...]]:
        found = self.db.execute(f"SELECT {columns} FROM {table} ORDER BY {order}")  # noqa: S608
        return found.fetchall()

    def of(self, job: Job | NewJob, columns: str) -> tuple[Any, ...]:
        """Of one job's row."""
        sql = f"SELECT {columns} FROM jobs WHERE id = ?"  # noqa: S608
        row: tuple[Any, ...] = self.db.execute(sql, (job.id,)).fetchone()
        return row
