"""
What every measurement needs: a place and a time, and the ledger's word on the figures.

A row that uses the router asks its ledger afterwards whether the figures are true: what was
answered 200 is stored, each stored job succeeded, and each ran once.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import pushes
from benchmarks.figures import Histogram
from benchmarks.wrk import Load
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess

CONNECTIONS = 32
SETTLE_S, STILL_S = 120.0, 0.5


class WrongFigures(Exception):
    """The ledger contradicts what the load generator counted: no figure is worth showing."""


SEED = """
import json, sys
from pathlib import Path
from benchmarks import seed
name, store, *arguments = json.loads(sys.argv[1])
getattr(seed, name)(Path(store), *arguments)
"""
SEED_JOBS = """
import asyncio, json, sys
from pathlib import Path
from types import SimpleNamespace
from benchmarks import backlog
store, count, kind, target = json.loads(sys.argv[1])
rig = SimpleNamespace(store=Path(store))
asyncio.run(backlog.seed(rig, count, kind=kind, target=target))
"""
"""Each checkout fills its own stores, by its own code."""


@dataclass
class Bench:
    """
    Where a run keeps its files, how long and how often it measures, and which checkout: `code` is
    where its `router/` and `benchmarks/` lie, `python` is its environment's.
    """

    folder: Path
    seconds: int = 5
    rounds: int = 3
    code: Path = ROOT
    python: str = sys.executable
    numbers: int = 0
    notes: list[str] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)

    def number(self) -> int:
        """A number that no other load of this run has: it keeps delivery ids apart."""
        self.numbers += 1
        return self.numbers

    @property
    def ours(self) -> bool:
        """Whether this checkout is measured, not an older one."""
        return self.code == ROOT

    def rig(
        self, name: str, rules: str, server: str = "", environ: dict[str, str] | None = None
    ) -> Rig:
        secrets = pushes.ENVIRON if environ is None else environ
        return Rig(self.folder / name, rules, secrets, server, code=self.code, python=self.python)

    def seed(self, name: str, rig: Rig, *arguments: object) -> None:
        """Fill its store by this function of `benchmarks.seed`."""
        self._run(SEED, name, str(rig.store), *arguments)

    def seed_jobs(self, rig: Rig, count: int, kind: str = "http", target: str = "sink") -> None:
        """Deliveries in its store, each with one job that waits."""
        self._run(SEED_JOBS, str(rig.store), count, kind, target)

    def _run(self, program: str, *arguments: object) -> None:
        command = [self.python, "-c", program, json.dumps(arguments)]
        done = subprocess.run(
            command, cwd=self.code, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise WrongFigures(f"the store could not be filled: {done.stderr[-2000:]}")


def answered(loads: list[Load]) -> int:
    """How many got their 200."""
    if any(one.not_2xx or one.broken for one in loads):
        raise WrongFigures(f"the router refused or broke requests: {loads}")
    return sum(one.answers for one in loads)


def agree(
    rig: Rig,
    router: RouterProcess,
    count: int,
    *,
    slack: int = 0,
    extra_jobs: int = 0,
    counts: Callable[[], ledger.Counts] | None = None,
) -> str:
    """
    Compare the ledger with `count` answers of 200, once all jobs have ended and it stands still.

    Every delivery has one job, `extra_jobs` aside. `slack` is how many requests may have been
    stored whose answer the generator did not wait for. `counts` reads a ledger that is not a file.

    Raises:
        WrongFigures: they differ.
    """
    counts = counts or partial(ledger.counts, rig.store)
    found, since = counts(), time.monotonic()

    def ended() -> bool:
        nonlocal found, since
        before, found = found, counts()
        if found != before:  # requests that the generator hung up on are stored a moment later
            since = time.monotonic()
        return found.jobs == found.succeeded and time.monotonic() - since >= STILL_S

    router.until(ended, "all jobs to succeed", seconds=SETTLE_S)
    exact = found.deliveries + extra_jobs == found.jobs == found.succeeded == found.attempts
    if not exact or not count <= found.deliveries <= count + slack:
        raise WrongFigures(f"{count} answers of 200, but the ledger has {found}")
    return f"{rig.folder.name}: {count} answers of 200; ledger: {found}"


def generator(module: str, *arguments: object) -> list[str]:
    """The command that runs a load generator in a process of its own."""
    return [sys.executable, "-m", module, *map(str, arguments)]


def child(module: str, *arguments: object) -> dict[str, Any]:
    """Run a generator in its own process; the JSON it prints."""
    command = generator(module, *arguments)
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, Any] = json.loads(run.stdout)
    return found
