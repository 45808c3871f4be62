"""What tells the next process, without a commit, that a job leased ahead had begun."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from router.model.job import Job
from router.store.sqlite.begin_marks import PLACES, BeginMarks
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Recovered, Selector
from tests.clocks import START_MS, ManualClock
from tests.sim.makers import a_job
from tests.store_values import FAR, Maker, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "router.db"


async def ahead(store: SqliteStore, lease: str, count: int) -> list[Job]:
    """Jobs leased ahead, each with the time at which it is to begin."""
    batch = await store.lease({"erp": 0}, lease=lease, now=FAR, ahead={"erp": count})
    return [replace(one.job, started_at=START_MS + 5) for one in batch.jobs]


async def test_another_life_knows_what_had_begun(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "ab"]))
    begun, waited = await ahead(store, "old/1", 2)
    assert store.began(begun)
    await store.close()  # the process ends with both in hand

    store = await open_store(str(path), clock=ManualClock())
    assert await store.recover(nodes={"old"}, now=FAR, on_interrupt_dead=NOBODY) == Recovered(2, 0)
    deaths = {job.id: job.deaths for job in await store.reads.jobs(Selector())}
    assert deaths == {begun.id: 1, waited.id: 0}
    await store.close()


async def test_another_life_that_could_not_recover_leaves_them_to_the_next(
    path: Path, make: Maker
) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance())
    (begun,) = await ahead(store, "old/1", 1)
    assert store.began(begun)
    await store.close()
    for _ in range(2):  # lives that end before they have recovered
        await (await open_store(str(path), clock=ManualClock())).close()

    store = await open_store(str(path), clock=ManualClock())
    await store.recover(nodes={"old"}, now=FAR, on_interrupt_dead=NOBODY)
    assert [job.deaths for job in await store.reads.jobs(Selector())] == [1]
    assert not store._marks
    await store.close()


async def test_marks_outlive_a_lock_file_that_was_removed(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance())
    (begun,) = await ahead(store, "old/1", 1)
    assert store.began(begun)
    path.with_name("router.db.lock").unlink()
    await store.ready()  # a commit, after which the file is put back
    await store.close()

    store = await open_store(str(path), clock=ManualClock())
    await store.recover(nodes={"old"}, now=FAR, on_interrupt_dead=NOBODY)
    assert [job.deaths for job in await store.reads.jobs(Selector())] == [1]
    await store.close()


async def test_a_place_is_free_again_when_the_end_is_durable(path: Path, make: Maker) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.accept(make.acceptance())
    (begun,) = await ahead(store, "b/1", 1)
    assert store.began(begun)
    assert store._marks
    await store.settle(a_settlement(begun))
    assert not store._marks
    await store.close()


def test_without_a_place_nothing_begins() -> None:
    marks = BeginMarks(None, 0)
    assert all(marks.put(a_job(f"job_{number}")) for number in range(PLACES))
    assert not marks.put(a_job("job_late"))
    assert marks.put(a_job("job_7"))  # it has its place
    marks.ended(["job_3"])
    assert marks.put(a_job("job_late"))


def test_a_file_that_cannot_be_written_lets_nothing_begin(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.touch()
    descriptor = os.open(file, os.O_RDONLY)
    marks = BeginMarks(lambda: descriptor, 0)
    assert not marks.put(a_job())
    assert not marks
    os.close(descriptor)


def test_a_name_too_long_for_the_table_lets_nothing_begin() -> None:
    marks = BeginMarks(None, 0)
    assert marks.put(a_job("j" * 40))
    assert not marks.put(a_job("j" * 41))
