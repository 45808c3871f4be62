"""A job whose row a disk has spoilt is dead alone; what else its target has goes on."""

from pathlib import Path

import pytest

from router.model.job import Predecessor
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Recovered, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement
from tests.unit.store.spoiling import NOBODY, spoil

ALL = Selector()


@pytest.mark.parametrize(
    "change",
    [
        "rule = CAST(x'70ff6964' AS TEXT)",
        "event_id = CAST(x'c328' AS TEXT)",
        "id = CAST(x'6a6f625fff' AS TEXT)",
        "event = x'ff'",
        "event = x'6f'",
        "kind = 77",
        "needs = '[[\"a'",
        "covers = CAST(x'5bff5d' AS TEXT)",
        "due_at = 'soon'",
    ],
)
async def test_only_the_spoilt_job_of_a_target_is_dead(
    store: SqliteStore, path: Path, make: Maker, change: str
) -> None:
    jobs = [make.job() for _ in range(5)]
    await store.accept(make.acceptance(jobs=jobs))
    spoil(path, f"UPDATE jobs SET {change} WHERE id = ?", jobs[2].id)  # noqa: S608
    batch = await store.lease({"erp": 9}, lease="b/1", now=FAR)
    good = [job.id for i, job in enumerate(jobs) if i != 2]
    assert [one.job.id for one in batch.jobs] == good
    assert len(batch.corrupt) == 1
    assert batch.next_due == {"erp": None}
    (dead,) = await store.reads.jobs(Selector(state="dead"))
    assert (dead.id, dead.reason, dead.ended_at, dead.lease) == (
        batch.corrupt[0],
        "corrupt",
        FAR,
        None,
    )
    assert type(dead.event) is str
    assert len(await store.reads.jobs(ALL)) == 5, "lists show it with the others"
    assert (await store.lease({"erp": 9}, lease="b/2", now=FAR)).corrupt == ()


async def test_a_byte_on_the_disk(path: Path, clock: ManualClock, make: Maker) -> None:
    store = await open_store(str(path), clock=clock)
    mark = "evt_" + "Q" * 26
    jobs = [make.job(), make.job(event_id=mark), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    await store.close()
    data = path.read_bytes()
    assert data.count(mark.encode()) == 1
    path.write_bytes(data.replace(mark.encode(), b"evt_\xff" + b"Q" * 25))
    store = await open_store(str(path), clock=clock)
    batch = await store.lease({"erp": 9}, lease="b/1", now=FAR)
    assert [one.job.id for one in batch.jobs] == [jobs[0].id, jobs[2].id]
    assert batch.corrupt == (jobs[1].id,)
    await store.close()


async def test_all_the_jobs_of_a_spoilt_delivery_are_dead(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    later = make.job(target="other", due_at=FAR)
    spoilt, good = make.acceptance(jobs=[make.job(), later]), make.acceptance()
    await store.accept(spoilt)
    await store.accept(good)
    change = "UPDATE deliveries SET endpoint = CAST(x'ff' AS TEXT) WHERE id = ?"
    spoil(path, change, spoilt.delivery.id)
    batch = await store.lease({"erp": 9}, lease="b/1", now=FAR)
    assert [one.job.id for one in batch.jobs] == [good.jobs[0].id]
    assert sorted(batch.corrupt) == sorted(job.id for job in spoilt.jobs)
    assert len(await store.reads.deliveries(ALL)) == 2
    record = await store.reads.delivery(spoilt.delivery.id)
    assert record is not None
    assert record.delivery.damaged, "legible again, but not what was accepted"


async def test_a_target_that_nobody_can_read_hides_no_other(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(target=name) for name in ("crm", "mid", "wiki")]
    await store.accept(make.acceptance(jobs=jobs))
    spoil(path, "UPDATE jobs SET target = CAST(x'6dff' AS TEXT) WHERE id = ?", jobs[1].id)
    assert {"crm", "wiki"} < set(await store.reads.targets())


async def test_one_behind_another_and_those_named_are_found(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """A lease of one slot looks at two: the next spoilt one is found in the same lease."""
    jobs = [make.job(due_at=START_MS + i) for i in range(6)]
    await store.accept(make.acceptance(jobs=jobs))
    for spoilt in (jobs[0], jobs[1], jobs[2], jobs[5]):
        spoil(path, "UPDATE jobs SET rule = CAST(x'ff' AS TEXT) WHERE id = ?", spoilt.id)
    batch = await store.lease({"erp": 1}, lease="b/1", now=FAR, fresh={"erp": [jobs[5].id]})
    assert [one.job.id for one in batch.jobs] == [jobs[3].id]
    assert sorted(batch.corrupt) == sorted(jobs[i].id for i in (0, 1, 2, 5))


async def test_what_comes_after_a_spoilt_job_is_cancelled(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    first = make.job(action="a", run="r")
    then = make.job(action="b", run="r", after=(Predecessor("a"),))
    await store.accept(make.acceptance(jobs=[first, then]))
    spoil(path, "UPDATE jobs SET event = CAST(x'ff' AS TEXT) WHERE id = ?", first.id)
    assert (await store.lease({"erp": 9}, lease="b/1", now=FAR)).corrupt == (first.id,)
    ended = await store.reads.job(then.id)
    assert ended is not None
    assert (ended.state, ended.reason) == ("cancelled", "predecessor_dead: a")


async def test_a_running_job_that_nobody_can_read_holds_up_no_start(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    spoil(path, "UPDATE jobs SET rule = CAST(x'ff' AS TEXT) WHERE id = ?", jobs[0].id)
    mended = await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=NOBODY
    )
    assert mended == Recovered(1, 1)
    (dead,) = await store.reads.jobs(Selector(state="dead"))
    assert (dead.id, dead.reason) == (jobs[0].id, "corrupt")


async def test_a_spoilt_job_stays_dead_as_it_would_run_with_other_words(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    spoil(path, "UPDATE jobs SET event = CAST(x'ff' AS TEXT) WHERE id = ?", jobs[0].id)
    (leased,) = (await store.lease({"erp": 9}, lease="b/1", now=FAR)).jobs
    await store.settle(a_settlement(leased.job, "dead", reason="no"))
    assert await store.revive(Selector(state="dead"), now=FAR) == 1
    assert await store.revive(Selector(ids=(jobs[0].id,)), now=FAR) == 0
    assert (await store.reads.counts())["paid"] == {"dead": 1, "available": 1}
