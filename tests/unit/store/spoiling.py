"""Rows as a disk spoils them, and who is told of what comes of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from router.model.job import Attempt, Job, Predecessor
from router.store.sqlite.store import SqliteStore
from router.store.values import Acceptance, Selector
from tests.store_values import FAR, Maker

NOBODY: frozenset[tuple[str, str]] = frozenset()
LATER = FAR + 5
"""When what was leased at FAR is settled."""


def spoil(path: Path, sql: str, *values: object) -> None:
    """Change a row behind the store's back; the indexes stay in step."""
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(sql, values).rowcount == 1


@contextmanager
def refusing(path: Path, change: str) -> Iterator[None]:
    """Meanwhile this change of the store's rows fails."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TRIGGER no BEFORE {change} BEGIN SELECT RAISE(ABORT, 'not now'); END")
        yield
        db.execute("DROP TRIGGER no")


class Teller:
    """Makes our own event of each job that is dead, as the router does while it runs."""

    def __init__(self, make: Maker) -> None:
        self._make = make
        self.reported: list[tuple[Job, Attempt]] = []
        self.events: list[Acceptance] = []

    def died(self, job: Job, attempt: Attempt) -> Acceptance:
        self.reported.append((job, attempt))
        call = self._make.job(rule="call", target="chat", event="job.dead")
        event = self._make.acceptance(
            job.id.encode(), jobs=[call], endpoint="router", provider="router"
        )
        self.events.append(event)
        return event


async def own(store: SqliteStore) -> list[str]:
    """The deliveries that are our own events."""
    return [one.id for one in await store.reads.deliveries(Selector(endpoint="router"))]


async def begun_run(store: SqliteStore, make: Maker) -> tuple[Job, dict[str, str]]:
    """A chain a, b beside c and d; a is running. And the ids of all, by action."""
    shape = {
        "a": (),
        "b": (Predecessor("a"),),
        "c": (Predecessor("a", "ended"),),
        "d": (Predecessor("c", "dead"),),
    }
    jobs = [make.job(action=action, run="r", after=after) for action, after in shape.items()]
    await store.accept(make.acceptance(jobs=jobs))
    (leased,) = (await store.lease({"erp": 1}, lease="b/1", now=FAR)).jobs
    return leased.job, {job.action: job.id for job in jobs}


async def ends(store: SqliteStore, ids: dict[str, str]) -> dict[str, tuple[str, str | None]]:
    """State and reason of each of these jobs."""
    found = {name: await store.reads.job(id_) for name, id_ in ids.items()}
    return {name: (job.state, job.reason) for name, job in found.items() if job is not None}
