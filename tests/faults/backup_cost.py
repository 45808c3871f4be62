"""
Backups beside a router that is busy: what they do to acknowledgements, and what is in them.

    python -m tests.faults.backup_cost --rounds 8 --fill 20000

The store is filled first. Then really signed deliveries come at a fixed pace: alone, and while
`router store backup` copies the store again and again. The ack latencies of both are printed with
their ratio (`halves` says how that is made fair); p99 may be `--bound` per cent worse (0: any). The
last backup of each round is restored beside: its ledger must be sound and hold every delivery that
was there before the backup was asked for.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import pushes
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess
from tests.faults.halves import Figures, Pushes, measured

FILL_RATE = 1_000


@dataclass
class Load:
    """How much. `rate` is deliveries a second, `bound` per cent of p99, `fill` deliveries."""

    rate: int = 200
    seconds: int = 4
    rounds: int = 8
    fill: int = 10_000
    bound: int = 0


@dataclass
class Tally:
    """What came of it. `size` is the last copy's, in bytes."""

    figures: Figures = field(default_factory=Figures)
    backups: int = 0
    restored: int = 0
    size: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        last = (
            f"{self.backups} backups of up to {self.size / 1e6:.1f} MB, "
            f"{self.restored} of them restored and compared"
        )
        return "\n".join([*self.figures.reported("backups"), last])


class Campaign:
    """A router in `folder`, and one backup after the other."""

    def __init__(
        self, folder: Path, load: Load, reported: Callable[[str], None] = lambda line: None
    ) -> None:
        self.rig = Rig(folder / "router", pushes.rules(20), dict(pushes.ENVIRON))
        self.folder = folder
        self.pushes = Pushes(self.rig, folder / "push.http", load.rate)
        self.load = load
        self.reported = reported
        self.tally = Tally()

    async def run(self) -> Tally:
        with self.rig.router() as router:
            await self.pushes.send(self.load.fill / FILL_RATE, rate=FILL_RATE)
            figures, problems = await measured(
                router, self.pushes, self.load, self._beside, self.reported
            )
        self.tally.figures = figures
        self.tally.problems += problems
        return self.tally

    async def _beside(self, _: RouterProcess) -> dict[str, float]:
        async with self._backing_up():
            found = await self.pushes.send(self.load.seconds)
        await self._restored()
        return found

    @contextlib.asynccontextmanager
    async def _backing_up(self) -> AsyncIterator[None]:
        ending = asyncio.Event()

        async def again() -> None:
            while not ending.is_set():
                self._before = self._stored(self.rig.store)
                await self._command("backup", "--force", str(self._copy))
                self.tally.backups += 1
                self.tally.size = self._copy.stat().st_size

        going = asyncio.create_task(again())
        try:
            yield
        finally:
            ending.set()
            await going

    async def _restored(self) -> None:
        """The last copy, put in the place of a store of its own."""
        other = self.folder / "other" / "router.db"
        other.parent.mkdir(exist_ok=True)
        await self._command("restore", str(self._copy), store=other)
        with contextlib.closing(ledger.connect(other)) as db:
            faults = ledger.corruption(db)
        missing = self._before - self._stored(other)
        if faults or missing:
            self.tally.problems.append(f"a copy lacks {len(missing)} deliveries; {faults}")
        self.tally.restored += 1
        for left in other.parent.iterdir():
            left.unlink()

    @property
    def _copy(self) -> Path:
        return self.folder / "copy.db"

    def _stored(self, store: Path) -> set[str]:
        """The ids of the deliveries of a store."""
        with contextlib.closing(ledger.connect(store)) as db:
            return {id_ for (id_,) in db.execute("SELECT id FROM deliveries")}

    async def _command(self, verb: str, *options: str, store: Path | None = None) -> None:
        place = ("--store", str(store or self.rig.store), "-f", str(self.rig.path))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "router", "store", verb, *options, *place),
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", **self.rig.environ},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()
        if process.returncode:
            self.tally.problems.append(f"store {verb}: {said.decode()[:300]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in vars(Load()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    load = Load(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name), load, lambda line: print(line, flush=True))  # noqa: T201
        tally = asyncio.run(campaign.run())
    sys.stdout.write(f"{tally}\n")
    for problem in tally.problems[:20]:
        sys.stdout.write(f"PROBLEM {problem}\n")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
