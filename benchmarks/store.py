"""
Measures the store alone: accept + settle, with and without a million keys, batches, backlog.

    python benchmarks/store.py [--pairs 30000] [--keys 1000000] [--folder /var/tmp]

One event loop with 32 producers, 2 kB bodies, one job to a delivery, every answer awaited.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from router.clock import SystemClock
from router.model.delivery import Delivery, DeliveryEvent
from router.model.ids import Ids
from router.model.job import Attempt, NewJob, Settlement
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Acceptance

PRODUCERS = 32
BODY = os.urandom(1024).hex().encode()
HEADERS = tuple((f"x-header-{i}", "some-value-of-a-header") for i in range(12))
CLOCK = SystemClock()
IDS = Ids(random.Random(1))  # noqa: S311 - ids of a benchmark
KEPT = 7 * 86_400_000


def an_acceptance(events: int = 1, *, running: bool = True, target: str = "erp") -> Acceptance:
    """A delivery of `events` events, each with a key of its own and one job."""
    now = CLOCK.now()
    entries = tuple(
        DeliveryEvent(
            IDS.new("evt", now), i, "orders/paid", None, {}, keys=(b"shop\0" + os.urandom(18),)
        )
        for i in range(events)
    )
    delivery = Delivery(
        IDS.new("dlv", now), "shop", "shopify", now, "POST", "/wh_8c1f0e7a5b6d4c3e", "", HEADERS,
        BODY, "shop", "routed", events, "f" * 64,
    )  # fmt: skip
    state, lease = ("running", "boot01.1") if running else ("available", None)
    jobs = tuple(
        NewJob(
            IDS.new("job", now), e.index, e.id, e.name, "paid-orders", "erp", "log", target, now,
            state, lease,  # type: ignore[arg-type]
        )
        for e in entries
    )  # fmt: skip
    return Acceptance(delivery, entries, jobs, now + KEPT)


def a_settlement(job: str, lease: str) -> Settlement:
    now = CLOCK.now()
    attempt = Attempt(job, 1, now, now, "succeeded", None, {"message": "hello"}, "f" * 64)
    return Settlement(job, lease, attempt, "succeeded")


async def pairs(store: SqliteStore, count: int) -> float:
    """Accept + settle pairs a second."""
    work = iter([an_acceptance() for _ in range(count)])

    async def produce(mine: Iterator[Acceptance]) -> None:
        for acceptance in mine:
            await store.accept(acceptance)
            job = acceptance.jobs[0]
            assert await store.settle(a_settlement(job.id, "boot01.1"))  # noqa: S101

    began = time.perf_counter()
    await asyncio.gather(*[produce(work) for _ in range(PRODUCERS)])
    return count / (time.perf_counter() - began)


async def fill_keys(store: SqliteStore, count: int) -> None:
    """Put this many keys in place."""
    for _ in range(count // 1000):
        acceptance = an_acceptance(1000)
        await store.accept(msgspec.structs.replace(acceptance, jobs=()))


async def big_batch(store: SqliteStore) -> tuple[float, float]:
    """Milliseconds a batch of 1,000 events takes: median and worst of 20."""
    took: list[float] = []
    for _ in range(20):
        acceptance = an_acceptance(1000, running=False, target="later")
        began = time.perf_counter()
        await store.accept(acceptance)
        took.append((time.perf_counter() - began) * 1000)
    return sorted(took)[10], max(took)


async def backlog(store: SqliteStore, count: int) -> float:
    """Jobs leased in 64s and settled a second, from a backlog of `count`."""
    for _ in range(count // 1000):
        await asyncio.gather(
            *[store.accept(an_acceptance(1, running=False, target="slow")) for _ in range(1000)]
        )
    began = time.perf_counter()
    done = 0
    while batch := (await store.lease({"slow": 64}, lease="b.2", now=CLOCK.now() + 1)).jobs:
        await asyncio.gather(*[store.settle(a_settlement(one.job.id, "b.2")) for one in batch])
        done += len(batch)
    return done / (time.perf_counter() - began)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=30_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--folder", default="/var/tmp")  # noqa: S108 - a real disk, not tmpfs
    parser.add_argument("--switch", type=float, default=0.005, help="sys.setswitchinterval")
    given = parser.parse_args()
    sys.setswitchinterval(given.switch)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        store = await open_store(str(Path(folder) / "bench.db"), clock=CLOCK)
        for _ in range(3):
            print(
                f"accept + settle, no keys        {await pairs(store, given.pairs):10,.0f} pairs/s"
            )
        print(f"lease 64 + settle, from backlog {await backlog(store, 10_000):10,.0f} jobs/s")
        if given.keys:
            await fill_keys(store, given.keys)
            rate = await pairs(store, given.pairs)
            print(f"accept + settle, {given.keys:9,} keys {rate:10,.0f} pairs/s")
            median, worst = await big_batch(store)
            print(f"batch of 1,000 events           {median:10.1f} ms median, {worst:.1f} ms worst")
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())
