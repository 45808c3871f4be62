"""How long it takes until there is an answer: `check`, and `serve` before a full store."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks import memory, orders, seed
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row, at_most
from tests import ledger
from tests.acceptance.process import ROOT, Rig

CHECKS = 7
READY_S = 60.0
HEAVY = ("litestar", "aiohttp", "structlog")
"""Packages that `check` must not wait for."""


def start(bench: Bench) -> list[Row]:
    return [*example(), *generated(bench), *full(bench)]


def check(rules: Path, environ: dict[str, str], *python: str) -> tuple[float, str]:
    """
    Seconds that a `router check` takes, and what it wrote to stderr.

    Raises:
        WrongFigures: it found a fault.
    """
    command = [sys.executable, *python, "-m", "router", "check", str(rules)]
    began = time.perf_counter()
    run = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120
    )
    taken = time.perf_counter() - began
    if run.returncode:
        raise WrongFigures(f"check of {rules.name} ended with {run.returncode}: {run.stdout}")
    return taken, run.stderr


def example() -> list[Row]:
    """The example file, and whether anything heavy was imported for it."""
    place = ROOT / "rules.example.yaml"
    taken = [check(place, {})[0] for _ in range(CHECKS)]
    _, imports = check(place, {}, "-X", "importtime")
    names = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    heavy = len(names & set(HEAVY))
    return [
        at_most("check of rules.example.yaml", median(taken) * 1000, "ms", 150),
        at_most(f"of {', '.join(HEAVY)} imported", heavy, "packages", 0),
    ]


def generated(bench: Bench) -> list[Row]:
    """10,000 rules on 130,000 lines."""
    rig = Rig(bench.folder / "start-rules", orders.rules(10_000), orders.ENVIRON)
    taken, _ = check(rig.path, orders.ENVIRON)
    return [at_most("check of 10,000 rules, 130,000 lines", taken, "s", 8)]


def full(bench: Bench) -> list[Row]:
    """From the process's start to the first 200 of /readyz, a million jobs in the store."""
    taken = []
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        rig = memory.backlog_rig(bench, silent.getsockname()[1])
        before = ledger.counts(rig.store).deliveries - seed.MILLION
        for _ in range(bench.rounds):
            began = time.monotonic()
            router = rig.router().launch()
            try:
                router.until(router.ready, "ready", seconds=READY_S)
                taken.append(time.monotonic() - began)
            finally:
                memory.ended(router)
    bench.notes.append(memory.still_there(rig, before))
    return [at_most("ready with 1,000,000 jobs", median(taken), "s", 3)]
