"""
Power cuts: is every acknowledged delivery there, whatever the disk had not yet been told to keep?

kill -9 cannot show this, for the page cache outlives a process. So the system calls of a real store
are recorded (`workload`, `trace`), the disk is rebuilt as it may be found after a power cut at any
point (`disk` says by which model), and the router's store opens each such image.

    python -m tests.faults.powercut --images 10000
    python -m tests.faults.powercut --images 1000 --synchronous NORMAL     # must find loss

In each image whole deliveries are looked for, every end of a job that the store had confirmed, and
what `order` knows of chains and groups.
"""

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from router.clock import SystemClock
from router.errors import StoreRefused, StoreUnavailable
from router.store.sqlite.schema import VERSION
from router.store.sqlite.store import open_store
from tests import ledger
from tests.faults import disk, order, trace
from tests.faults.telling import say

STORE = "router.db"
JOBS_EACH = 3
EVERY = 5
"""One image in so many is opened by the store as a restart would; all others by plain SQL."""


@dataclass
class Verdict:
    """What the images showed. `examples` are the first few problems in words."""

    images: int = 0
    lossy: int = 0
    corrupt: int = 0
    odd: int = 0
    acked: int = 0
    opened: int = 0
    seconds: float = 0.0
    examples: list[str] = field(default_factory=list)

    def count(self, number: int, acked: int, found: Sequence[str]) -> None:
        self.images += 1
        self.acked += acked
        self.corrupt += any(f.startswith("corrupt") for f in found)
        self.lossy += any(f.startswith(("lost", "other body")) for f in found)
        self.odd += bool(found)
        if found and len(self.examples) < 5:
            self.examples.append(f"image {number}: {'; '.join(found[:3])}")

    def __str__(self) -> str:
        return (
            f"{self.images} images, {self.acked} acknowledgements looked for: "
            f"{self.lossy} images lossy, {self.corrupt} corrupt, {self.odd} wrong in any way; "
            f"{self.opened} also opened by the store; {self.seconds:.1f} s"
        )


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: images are many and live for a millisecond."""
    shared = Path("/dev/shm")  # noqa: S108 (a private folder is made in it)
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def recorded(folder: Path, *, synchronous: str = "FULL", seed: int = 1) -> list[trace.Step]:
    """The steps of one workload run in `folder`."""
    place = folder / "recorded"
    place.mkdir()
    options = ["--synchronous", synchronous, "--seed", str(seed)]
    command = [sys.executable, "-m", "tests.faults.workload", str(place / STORE), *options]
    root = Path(__file__).parents[2]
    trace.record(command, folder / "trace.log", cwd=root)
    return trace.read(folder / "trace.log", place.resolve())


def acknowledged(acks: Sequence[bytes]) -> dict[str, str]:
    """Delivery ids with body digests, job ids with states: the lines that the workload wrote."""
    lines = b"".join(acks).decode().splitlines()
    return dict(line.split(" ", 1) for line in lines)


def look(
    place: Path, image: disk.Image, acked: dict[str, str], *, own: bool, jobs_each: int = JOBS_EACH
) -> list[str]:
    """
    Lay the image out and say what is wrong with it: `acked` has deliveries with their digests, and
    jobs with the state that was confirmed.

    `own`: first let the router's store open it, as a restart after the power cut would.
    """
    deliveries = {id_: text for id_, text in acked.items() if id_.startswith("dlv_")}
    ends = {id_: text for id_, text in acked.items() if id_.startswith("job_")}
    for old in place.iterdir():
        old.unlink()
    for name, content in image.items():
        (place / name).write_bytes(content)
    if own:
        try:
            asyncio.run(reopened(place / STORE))
        except (StoreRefused, StoreUnavailable) as error:
            return [f"corrupt: the store refuses it: {error}"]
    try:
        if empty(place / STORE):
            return [f"lost: {i}" for i in acked]
        found = ledger.problems(place / STORE, deliveries, jobs_each=jobs_each, mend=True)
        return found or order.problems(place / STORE, ends, mend=True)
    except sqlite3.DatabaseError as error:
        return [f"corrupt: {error}"]


def empty(path: Path) -> bool:
    """No store, or not yet whole: right before its tables are made, a loss after that."""
    if not path.exists():
        return True
    with closing(ledger.connect(path, mend=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
    return bool(version < VERSION)


async def reopened(path: Path) -> None:
    """Open, prove that a write commits, close."""
    store = await open_store(str(path), clock=SystemClock())
    await store.ready()
    await store.close()


def judge(
    steps: Sequence[trace.Step],
    images: int,
    *,
    seed: int = 1,
    promised: Callable[[Sequence[bytes]], dict[str, str]] = acknowledged,
    jobs_each: int = JOBS_EACH,
    progress: Callable[[Verdict], None] | None = None,
) -> Verdict:
    """
    Cut the power `images` times at points chosen by `seed`.

    `promised` reads delivery ids and body digests from the acks sent before a cut; each delivery
    has so many jobs.
    """
    verdict, started = Verdict(), time.monotonic()
    choose = random.Random(seed)
    points = sorted(choose.randint(1, len(steps)) for _ in range(images))
    cuts = disk.power_cuts(steps, points, lambda number: random.Random(f"{seed}/{number}"))
    with memory_folder() as place:
        for number, image, acks in cuts:
            acked, own = promised(acks), number % EVERY == 0
            found = look(place, image, acked, own=own, jobs_each=jobs_each)
            verdict.count(number, len(acked), found)
            verdict.opened += own
            verdict.seconds = time.monotonic() - started
            if progress is not None and verdict.images % 500 == 0:
                progress(verdict)
    return verdict


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--synchronous", choices=["FULL", "NORMAL", "OFF"], default="FULL")
    options = parser.parse_args()
    say(f"seed {options.seed}, synchronous={options.synchronous}")
    with tempfile.TemporaryDirectory() as name:
        steps = recorded(Path(name), synchronous=options.synchronous, seed=options.seed)
    say(f"{len(steps)} steps recorded")
    verdict = judge(steps, options.images, seed=options.seed, progress=lambda v: say(str(v)))
    say(f"{verdict}", *verdict.examples)
    if options.synchronous != "FULL":
        return 0 if verdict.lossy * 2 > verdict.images else 1
    return 1 if verdict.odd else 0


if __name__ == "__main__":
    sys.exit(main())
