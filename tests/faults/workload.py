"""
A small life of the real store, for the power-cut harness to record.

`python -m tests.faults.workload STORE [--synchronous NORMAL]` opens the store, accepts deliveries
one by one and several at once, settles some of their jobs, closes (which checkpoints) and begins
again. Each delivery has a job by itself and a chain of two, whose runs take turns by its lane.
After each accept has returned it writes one line `delivery-id sha256` to descriptor 1: the moment
at which a 2xx would leave; and after each settlement `job-id state`.

`--synchronous NORMAL` plants the defect that the harness must find: the store's own table of
writer settings is changed before it opens, and all else is the store's own code; FULL leaves the
table alone, so that a defect in it is found too. In the same way checkpoints are made to come
early, so that a short recording holds several in mid-life.
"""

import argparse
import asyncio
import os
import random
from pathlib import Path

from router.clock import SystemClock
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Attempt, Group, NewJob, Predecessor, Settlement, Turn
from router.store.protocol import Store
from router.store.sqlite import connection, writer
from router.store.sqlite.store import open_store
from router.store.values import Acceptance, node_of
from tests.ledger import digest

LEVELS = {"OFF": 0, "NORMAL": 1, "FULL": 2}
NOW = 1_700_000_000_000
LEASE = "boot.1"
EARLY_PAGES = 150
LANES = 3
SETTLED = 0.9


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
    event = DeliveryEvent(f"evt_{number:026d}", 0, "push", None, {}, keys=keys)
    return Acceptance(delivery, (event,), (job(number), *chain(number)), NOW + 10**9)


def chain(number: int) -> tuple[NewJob, ...]:
    """A run of two jobs, one after the other; runs of a lane take turns."""
    lane = f"l{number % LANES}"
    turn = Turn(f"line\x1f{lane}", lane, Group())
    return tuple(
        NewJob(
            id=f"job_{place}{number:025d}",
            event_index=0,
            event_id=f"evt_{number:026d}",
            event="push",
            rule="line",
            action=action,
            kind="log",
            target="line/log",
            due_at=NOW,
            run="line",
            after=after,
            turn=turn,
        )
        for place, action, after in ((1, "first", ()), (2, "second", (Predecessor("first"),)))
    )


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


def settlement(name: str, lease: str, began: int, ended: int) -> Settlement:
    """A success of the job."""
    attempt = Attempt(name, 1, began, ended, "succeeded", None, {"message": "done"}, "0" * 64)
    return Settlement(name, lease, attempt, "succeeded")


async def ended(store: Store, end: Settlement) -> None:
    """Settle, and say so once the store has."""
    assert await store.settle(end)
    os.write(1, f"{end.job} {end.state}\n".encode())


async def one(store: Store, number: int, rng: random.Random) -> None:
    """Accept, acknowledge, and settle if the job is ours."""
    wanted = acceptance(number, rng)
    await store.accept(wanted)
    os.write(1, f"{wanted.delivery.id} {digest(wanted.delivery.body)}\n".encode())
    if number % 2:
        await ended(store, settlement(f"job_{number:026d}", LEASE, NOW, NOW + 5))


class Line:
    """Runs what the chains have due, a little later each time."""

    def __init__(self, life: int) -> None:
        # Ahead of the store's own clock, which dates what it lets go: then all of that is due.
        self.lease, self.now = f"line{life}", SystemClock().now() + life * 10**6

    async def some(self, store: Store, rng: random.Random) -> int:
        """Lease what is due and settle it, but now and then leave something running."""
        self.now += 100
        batch = await store.lease({"line/log": 5}, lease=f"{self.lease}.{self.now}", now=self.now)
        jobs = [leased.job for leased in batch.jobs if rng.random() < SETTLED]
        ends = [settlement(j.id, j.lease or "", self.now, self.now + 50) for j in jobs]
        await asyncio.gather(*(ended(store, end) for end in ends))
        return len(ends)


async def live(path: Path, rng: random.Random, first: int, count: int) -> None:
    """Open the store, take `count` deliveries in groups of 1 to 6, close it."""
    store = await open_store(str(path), clock=SystemClock())
    line = Line(first)
    await store.recover(
        nodes=await store.reads.lost_nodes(node_of(line.lease)),
        now=line.now,
        on_interrupt_dead=frozenset(),
    )
    number = first
    while number < first + count:
        group = range(number, min(number + rng.choice((1, 1, 2, 6)), first + count))
        await asyncio.gather(*(one(store, n, rng) for n in group), line.some(store, rng))
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
    if options.synchronous != "FULL":
        connection.WRITER["synchronous"] = LEVELS[options.synchronous]
    if writer.CHECKPOINT_MOST <= EARLY_PAGES:
        raise SystemExit("the writer checkpoints as early by itself")
    writer.CHECKPOINT_MOST = EARLY_PAGES
    asyncio.run(lives(options.store, options.seed, options.count))


if __name__ == "__main__":
    main()
