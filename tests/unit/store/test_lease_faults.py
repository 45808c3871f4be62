"""A statement that fails is no fault of the jobs it is about: they stay as they are."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.store_values import FAR, Maker

ALL = Selector()
NOBODY: frozenset[tuple[str, str]] = frozenset()
FAULTS = pytest.mark.parametrize(
    "fault", ["INSERT INTO nowhere VALUES (1)", "SELECT RAISE(ABORT, 'not to be changed')"]
)


def refuse(path: Path, change: str, fault: str) -> None:
    """Have this change of the store's rows fail."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TRIGGER refuse BEFORE {change} BEGIN {fault}; END")


@FAULTS
async def test_jobs_that_can_be_read_are_not_put_aside_when_a_lease_fails(
    store: SqliteStore, path: Path, make: Maker, fault: str
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    refuse(path, "UPDATE ON jobs", fault)
    with pytest.raises(StoreUnavailable, match="cannot be stored"):
        await store.lease({"erp": 9}, lease="b/1", now=FAR)
    assert [job.state for job in await store.reads.jobs(ALL)] == ["available"] * 2


@FAULTS
async def test_jobs_that_can_be_read_are_not_put_aside_when_a_start_fails(
    store: SqliteStore, path: Path, make: Maker, fault: str
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    refuse(path, "INSERT ON attempts", fault)
    with pytest.raises(StoreUnavailable, match="cannot be stored"):
        await store.recover(
            nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=NOBODY
        )
    assert [job.state for job in await store.reads.jobs(ALL)] == ["running"] * 2
