"""What only the store in a file promises."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from router.store.removal import Retain
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Duplicate, Generation, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement

ALL = Selector()
EVERYTHING = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=FAR)


def copies(path: Path) -> list[tuple[int, int]]:
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return db.execute("SELECT count, last_seen_at FROM copies").fetchall()
    finally:
        db.close()


async def test_copies_are_counted_a_second_later(
    store: SqliteStore, path: Path, make: Maker, clock: ManualClock
) -> None:
    await store.accept(make.acceptance(b"k"))
    seen = [make.acceptance(b"k") for _ in range(3)]
    for acceptance in seen:
        await store.accept(acceptance)
    await clock.advance(0.9)
    await store.ready()
    assert copies(path) == []
    await clock.advance(0.2)
    await store.ready()
    assert copies(path) == [(3, seen[-1].delivery.received_at)]


async def test_copies_are_counted_at_close(path: Path, make: Maker, clock: ManualClock) -> None:
    store = await open_store(str(path), clock=clock)
    for _ in range(3):
        await store.accept(make.acceptance(b"k"))
    await store.close()
    assert [count for count, _ in copies(path)] == [2]
    store = await open_store(str(path), clock=clock)
    await store.accept(make.acceptance(b"k"))
    (summary,) = await store.reads.deliveries(ALL)
    assert summary.duplicates == 3
    await store.close()


async def test_everything_is_there_after_opening_again(
    path: Path, make: Maker, clock: ManualClock
) -> None:
    store = await open_store(str(path), clock=clock)
    first = make.acceptance(b"k", jobs=[make.job(state="running", lease="old.1"), make.job()])
    await store.accept(first)
    record = await store.reads.delivery(first.delivery.id)
    await store.close()
    store = await open_store(str(path), clock=clock)
    assert await store.reads.delivery(first.delivery.id) == record
    assert await store.accept(make.acceptance(b"k")) == Duplicate(first.delivery.id)
    second = make.acceptance(b"l")
    await store.accept(second)
    recovered = await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=frozenset()
    )
    assert recovered.reclaimed == 1
    batch = await store.lease({"erp": 9}, lease="new.1", now=FAR)
    assert len(batch.jobs) == 3
    await store.close()


async def test_a_job_of_an_earlier_process_is_settled_by_its_lease(
    path: Path, make: Maker, clock: ManualClock
) -> None:
    store = await open_store(str(path), clock=clock)
    await store.accept(make.acceptance(jobs=[make.job(state="running", lease="b.1")]))
    (job,) = await store.reads.jobs(ALL)
    await store.close()
    store = await open_store(str(path), clock=clock)
    assert await store.settle(a_settlement(job))
    await store.close()


async def test_a_generation_goes_with_the_last_delivery_that_names_it(
    store: SqliteStore, make: Maker, clock: ManualClock, path: Path
) -> None:
    for name in ("g1", "g2", "g3"):
        await store.keep_generation(Generation(name, "version: 1", {}, START_MS))
        await store.accept(make.acceptance(generation=name, jobs=()))
    await store.close()
    store = await open_store(str(path), clock=clock)
    await store.keep_generation(Generation("g2", "version: 1", {}, START_MS))
    newest = (await store.reads.deliveries(Selector(limit=1)))[0].received_at
    keep_last = Retain(succeeded_before=0, unmatched_before=newest, dead_before=0)
    assert (await store.prune(keep_last, now=START_MS)).generations == 1
    assert await store.reads.generation("g1") is None
    assert await store.reads.generation("g2") is not None, "it is live, though nothing names it now"
    assert await store.reads.generation("g3") is not None
    await store.close()


async def test_the_generation_in_force_is_there_though_nothing_names_it(
    store: SqliteStore, clock: ManualClock, path: Path
) -> None:
    for name in ("g1", "g2"):
        await store.keep_generation(Generation(name, "version: 1", {}, START_MS))
        await store.put_in_force(name, by="another", at=START_MS)
    await store.close()
    store = await open_store(str(path), clock=clock)
    assert (await store.prune(EVERYTHING, now=START_MS)).generations == 1
    assert [one.id for one in await store.reads.generations(9)] == ["g2"]
    await store.close()


async def test_replay_with_a_new_generation_keeps_it(
    store: SqliteStore, make: Maker, clock: ManualClock, path: Path
) -> None:
    old = make.acceptance(generation="g1")
    await store.accept(old)
    await store.keep_generation(Generation("g2", "version: 1", {}, START_MS))
    await store.add(old.delivery.id, [make.job(generation="g2")])
    await store.close()
    store = await open_store(str(path), clock=clock)
    await store.keep_generation(Generation("g3", "version: 1", {}, START_MS))
    assert (await store.prune(EVERYTHING, now=START_MS)).generations == 0
    assert await store.reads.generation("g2") is not None
    await store.close()


@pytest.mark.long
async def test_bodies_handed_out_at_once_are_bounded(store: SqliteStore, make: Maker) -> None:
    for _ in range(4):
        await store.accept(make.acceptance(body=b"x" * 20_000_000))
    batch = await store.lease({"erp": 4}, lease="b.1", now=FAR)
    assert len(batch.jobs) == 2
    assert batch.next_due == {"erp": START_MS}
    assert len((await store.lease({"erp": 4}, lease="b.2", now=FAR)).jobs) == 2


async def test_pruning_frees_what_size_counts(store: SqliteStore, make: Maker) -> None:
    for _ in range(5):
        await store.accept(make.acceptance(body=b"x" * 1_000_000, jobs=()))
    before = await store.reads.size()
    assert (await store.prune(EVERYTHING, now=START_MS)).deliveries == 5
    assert await store.reads.size() < before - 4_000_000


async def test_many_targets_are_leased_in_one_go(store: SqliteStore, make: Maker) -> None:
    names = [f"t{i:02}" for i in range(40)]
    await store.accept(make.acceptance(jobs=[make.job(target=name) for name in names]))
    assert await store.reads.targets() == dict.fromkeys(names, START_MS)
    batch = await store.lease(dict.fromkeys(names, 1), lease="b.1", now=FAR)
    assert sorted(one.job.target for one in batch.jobs) == names


async def test_a_verb_over_many_jobs_goes_in_steps(store: SqliteStore, make: Maker) -> None:
    for _ in range(5):
        await store.accept(make.acceptance(jobs=[make.job() for _ in range(1000)]))
    assert await store.cancel(ALL, reason="x", now=FAR) == 5000
    assert await store.reads.counts() == {"paid": {"cancelled": 5000}}


async def test_every_transaction_is_reported_with_its_writes(tmp_path: Path, make: Maker) -> None:
    received: list[int] = []

    def committed(writes: int, seconds: float) -> None:
        received.append(writes if seconds >= 0 else -1)

    path = str(tmp_path / "another.db")
    store = await open_store(path, clock=ManualClock(), on_commit=committed)
    await asyncio.gather(*(store.accept(make.acceptance()) for _ in range(5)))
    await store.close()
    assert sum(received) == 5
