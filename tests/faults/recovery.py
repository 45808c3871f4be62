"""
After a kill with thousands of jobs running, and with a million waiting: how soon work goes on.

    python -m tests.faults.recovery                    both, two minutes
    python -m tests.faults.recovery --waiting 0        only the kill
    python -m tests.faults.recovery --running 0        only the leases

A process leases 10,000 jobs from a real store and is killed. A router is started on it: the first
must be claimed within 2 s, each must be done once more, and its attempts are counted: one that
ended with its process, one that succeeded.

Then a store in which 1,000,000 jobs wait for one target, and its own lease call beside settlements,
each with its commit: 99 of 100 leases must return within 10 ms.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import peers, pushes, seed
from benchmarks.store import a_settlement
from router.clock import SystemClock
from router.model.job import Work
from router.store.sqlite.store import SqliteStore, open_store
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterDied, TookTooLong
from tests.faults.telling import reported, say, verdict
from tests.ledger import OUTCOME, STATE

HELD_S = 120.0
DONE_S = 300.0
BATCHES = (1, 16, 64)
"""Jobs asked for at once: one slot, a target's usual sixteen, a fast one's."""
FIRST_GOAL_S = 2.0
LEASE_GOAL_MS = 10.0
WRONG = f"""
    SELECT j.id, j.state, j.attempt, count(a.number),
        sum(a.number = 1 AND a.outcome = {OUTCOME["interrupted"]}),
        sum(a.number = 2 AND a.outcome = {OUTCOME["succeeded"]}) FROM jobs j
    LEFT JOIN attempts a ON a.job = j.n GROUP BY j.n
    HAVING j.state != {STATE["succeeded"]} OR j.attempt != 2 OR count(a.number) != 2
    OR sum(a.number = 1 AND a.outcome = {OUTCOME["interrupted"]}) != 1
    OR sum(a.number = 2 AND a.outcome = {OUTCOME["succeeded"]}) != 1
"""  # noqa: S608 - numbers of our own


@dataclass
class Killed:
    """Seconds from the next start."""

    jobs: int
    ready: float = 0.0
    first: float = 0.0
    done: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def late(self) -> list[str]:
        goal = FIRST_GOAL_S
        return [f"the first claim came after {self.first:.2f} s"] if self.first > goal else []

    def __str__(self) -> str:
        return (
            f"killed with {self.jobs:,} jobs running: ready after {self.ready:.2f} s, the first "
            f"claim after {self.first:.2f} s, all done after {self.done:.1f} s"
        )


@dataclass
class Leases:
    """
    Milliseconds that each lease took, by how many it asked for; 0 stands for a commit of one page,
    which shows what the disk and the machine take for themselves.
    """

    waiting: int
    took: dict[int, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def at(self, size: int, share: float) -> float:
        every = sorted(self.took[size])
        return every[min(len(every) - 1, int(len(every) * share))]

    def note(self, size: int, began: float) -> None:
        self.took.setdefault(size, []).append((time.perf_counter() - began) * 1000)

    @property
    def late(self) -> list[str]:
        slow = [n for n in self.took if n and self.at(n, 0.99) > LEASE_GOAL_MS]
        return [f"leases of {n}: p99 {self.at(n, 0.99):.1f} ms" for n in slow]

    def __str__(self) -> str:
        each = [
            f"{f'of {n}' if n else 'a bare commit'}: p50 {self.at(n, 0.5):.1f} ms, p99 "
            f"{self.at(n, 0.99):.1f} ms, worst {self.at(n, 1):.1f} ms"
            for n in sorted(self.took)
        ]
        return f"leases from {self.waiting:,} waiting jobs, " + "; ".join(each)


async def hold(path: Path, count: int) -> None:
    """Lease so many jobs, say so, and wait for the end."""
    store, held = await open_store(str(path), clock=SystemClock()), 0
    while held < count:
        batch = await store.lease({"sink": 256}, lease="gone.1", now=SystemClock().now())
        held += len(batch.jobs)
    os.write(1, b"held\n")
    await asyncio.sleep(HELD_S)


def held_and_killed(path: Path, count: int) -> None:
    command = [sys.executable, "-m", "tests.faults.recovery", "--hold", str(path), str(count)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)


def killed(folder: Path, count: int) -> Killed:
    """Kill who runs them, start a router, wait until all are done."""
    found = Killed(count)
    folder.mkdir()
    with peers.sink(folder) as port:
        target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', concurrency: 64}}}}\n"
        rules = target + pushes.rules(1, action="http: {target: sink, path: /in}")
        rig = Rig(folder, rules, pushes.ENVIRON)
        seed.jobs(rig.store, count)
        held_and_killed(rig.store, count)
        try:
            timed(rig, found)
        except (RouterDied, TookTooLong) as error:
            found.problems.append(str(error))
        if (calls := peers.calls(port)) != count:
            found.problems.append(f"{calls} calls for {count} jobs")
    return found


def timed(rig: Rig, found: Killed) -> None:
    """The next start, and what the ledger says of it in the end."""
    began, at = time.monotonic(), time.time()
    with rig.router() as router:
        found.ready = time.monotonic() - began
        router.until(
            lambda: ledger.counts(rig.store).succeeded == found.jobs, "all to end", seconds=DONE_S
        )
        found.done = time.monotonic() - began
        with closing(ledger.connect(rig.store)) as db:
            asked = "SELECT min(started_at) FROM attempts WHERE number = 2"
            found.first = db.execute(asked).fetchone()[0] / 1000 - at
            found.problems += [f"job {row}" for row in db.execute(WRONG).fetchmany(5)]
            found.problems += ledger.corruption(db)


async def leased(path: Path, waiting: int, claims: int, rng: random.Random) -> Leases:
    """Leases of all sizes in turn; what each brought is settled beside the next one."""
    seed.jobs(path, waiting)
    found = Leases(waiting)
    store = await open_store(str(path), clock=SystemClock())
    sizes = [size for size in BATCHES for _ in range(claims // len(BATCHES))]
    rng.shuffle(sizes)
    settling: list[asyncio.Task[None]] = []
    for number, size in enumerate(reported(sizes, "leases")):
        began = time.perf_counter()
        batch = await store.lease({"sink": size}, lease=f"boot.{number}", now=SystemClock().now())
        found.note(size, began)
        if len(batch.jobs) != size:
            found.problems.append(f"asked for {size}, got {len(batch.jobs)}")
        await asyncio.gather(*settling)
        began = time.perf_counter()
        await store.ready()
        found.note(0, began)
        settling = [asyncio.create_task(settled(store, one, found)) for one in batch.jobs]
        await asyncio.sleep(0)  # they are asked for before the next lease is
    await asyncio.gather(*settling)
    done = (await store.reads.counts())["main"].get("succeeded", 0)
    if done != sum(sizes):
        found.problems.append(f"{done} settled of {sum(sizes)}")
    await store.close()
    return found


async def settled(store: SqliteStore, one: Work, found: Leases) -> None:
    if not await store.settle(a_settlement(one.job.id, one.job.lease or "")):
        found.problems.append(f"{one.job.id} could not be settled")


def campaign(folder: Path, options: argparse.Namespace) -> Sequence[Killed | Leases]:
    figures: list[Killed | Leases] = []
    if options.running:
        figures.append(killed(folder / "killed", options.running))
        say(str(figures[-1]))
    if options.waiting:
        rng = random.Random(options.seed)
        work = leased(folder / "waiting.db", options.waiting, options.claims, rng)
        figures.append(asyncio.run(work))
        say(str(figures[-1]))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--running", type=int, default=10_000, help="jobs that run at the kill")
    parser.add_argument("--waiting", type=int, default=1_000_000, help="jobs that wait")
    parser.add_argument("--claims", type=int, default=3_000, help="leases to time")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--hold", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hold:
        asyncio.run(hold(Path(options.hold[0]), int(options.hold[1])))
        return 0
    say(f"seed {options.seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        figures = campaign(Path(name), options)
    problems = [words for one in figures for words in [*one.problems, *one.late]]
    return verdict(problems, f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
