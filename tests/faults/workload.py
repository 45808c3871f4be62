"""
A small life of the real store, for the power-cut harness to record.

`python -m tests.faults.workload STORE [--synchronous NORMAL]` opens the store, accepts deliveries
one by one and several at once, settles some of their jobs, closes (which checkpoints) and begins
again. After each accept has returned it writes one line `delivery-id sha256` to descriptor 1: the
moment at which a 2xx would leave.

`--synchronous NORMAL` plants the defect that the harness must find: the store's own table of
writer settings is changed before it opens, and all else is the store's own code. In the same way
checkpoints are made to come early, so that a short recording holds several in mid-life.
"""

import argparse
import asyncio
import os
import random
from pathlib import Path

from router.clock import SystemClock
from router.model.delivery import Delivery
from router.model.job import Attempt, NewJob, Settlement
from router.store import connection, writer
from router.store.protocol import Acceptance, EventEntry, Store
from router.store.sqlite import open_store
from tests.ledger import digest

LEVELS = {"OFF": 0, "NORMAL": 1, "FULL": 2}
NOW = 1_700_000_000_000
LEASE = "boot.1"
EARLY_PAGES = 150


def acceptance(number: int, rng: random.Random) -> Acceptance:
    """Delivery `number`, one event, one key, one job; its body differs from all others."""
    body = b"%d:" % number + rng.randbytes(rng.choice((40, 900, 2_000, 9_000)))
    delivery = Delivery(
        id=f"dlv_{number:026d}",
        endpoint="code",
        provider="code-host",
        received_at=NOW + number,
        method="POST",
        path="/wh_code",
        query="",
        headers=(("content-type", "application/json"),),
        body=body,
        verified_by="code",
        state="routed",
        event_count=1,
        generation="0" * 64,
    )
    keys = (b"code:%d" % number,)
    event = EventEntry(0, f"evt_{number:026d}", "push", keys=keys, keys_until=NOW + 10**9)
    return Acceptance(delivery, (event,), (job(number),))


def job(number: int) -> NewJob:
    return NewJob(
        id=f"job_{number:026d}",
        event_index=0,
        event_id=f"evt_{number:026d}",
        event="push",
        rule="main",
        action="log",
        kind="log",
        target="main/log",
        due_at=NOW,
        state="running" if number % 2 else "available",
        lease=LEASE if number % 2 else None,
    )


def settlement(number: int) -> Settlement:
    """A success of the job, which was handed over already leased."""
    name = f"job_{number:026d}"
    attempt = Attempt(name, 1, NOW, NOW + 5, "succeeded", None, {"message": "done"}, "0" * 64)
    return Settlement(name, LEASE, attempt, "succeeded")


async def one(store: Store, number: int, rng: random.Random) -> None:
    """Accept, acknowledge, and settle if the job is ours."""
    wanted = acceptance(number, rng)
    await store.accept(wanted)
    os.write(1, f"{wanted.delivery.id} {digest(wanted.delivery.body)}\n".encode())
    if number % 2:
        await store.settle(settlement(number))


async def live(path: Path, rng: random.Random, first: int, count: int) -> None:
    """Open the store, take `count` deliveries in groups of 1 to 6, close it."""
    store = await open_store(str(path), clock=SystemClock())
    number = first
    while number < first + count:
        group = range(number, min(number + rng.choice((1, 1, 2, 6)), first + count))
        await asyncio.gather(*(one(store, n, rng) for n in group))
        number = group.stop
    await store.close()


async def lives(path: Path, seed: int, count: int) -> None:
    rng = random.Random(seed)
    for turn in range(3):
        await live(path, rng, 1 + turn * count, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--synchronous", choices=LEVELS, default="FULL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30, help="deliveries in each of three lives")
    options = parser.parse_args()
    connection.WRITER["synchronous"] = LEVELS[options.synchronous]
    writer.CHECKPOINT_IDLE = writer.CHECKPOINT_BUSY = EARLY_PAGES
    asyncio.run(lives(options.store, options.seed, options.count))


if __name__ == "__main__":
    main()
