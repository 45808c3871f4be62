"""How long it takes until there is an answer: `check`, and `serve` before a full store."""

import os
import socket
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import memory, orders, seed
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row, at_most
from tests import ledger

CHECKS = 7
READY_S = 60.0
HEAVY = ("litestar", "structlog")
"""Packages that `check` must not wait for."""


class Checked(NamedTuple):
    """
    Seconds until it ended, seconds on a processor, MiB at most, and its stderr.

    The system tells no fewer MiB than the process that started it held itself.
    """

    seconds: float
    processor_s: float
    peak_mib: float
    stderr: str


def start(bench: Bench) -> list[Row]:
    return [*example(bench), *generated(bench), *full(bench)]


def check(bench: Bench, rules: Path, environ: dict[str, str], *python: str) -> Checked:
    """
    One `router check`.

    Raises:
        WrongFigures: it found a fault.
    """
    told, errors = bench.folder / "check.out", bench.folder / "check.err"
    command = [bench.python, *python, "-m", "router", "check", str(rules)]
    began = time.perf_counter()
    with (
        told.open("wb") as out,
        errors.open("wb") as err,
        subprocess.Popen(command, cwd=bench.code, env=environ, stdout=out, stderr=err) as one,
    ):
        _, status, used = os.wait4(one.pid, 0)  # it alone tells what this child has used
        one.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - began
    if one.returncode:
        raise WrongFigures(f"check of {rules.name} failed: {told.read_text('utf-8')}")
    cpu = used.ru_utime + used.ru_stime
    return Checked(taken, cpu, used.ru_maxrss / 1024, errors.read_text("utf-8"))


def example(bench: Bench) -> list[Row]:
    """The example file, and whether anything heavy was imported for it."""
    place = bench.code / "rules.example.yaml"
    taken = [check(bench, place, {}).seconds for _ in range(CHECKS)]
    imports = check(bench, place, {}, "-X", "importtime").stderr
    names = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    heavy = len(names & set(HEAVY))
    return [
        at_most("check of rules.example.yaml", median(taken) * 1000, "ms", 120),
        at_most(f"of {', '.join(HEAVY)} imported", heavy, "packages", 0),
    ]


def generated(bench: Bench) -> list[Row]:
    """10,000 rules on 130,000 lines."""
    rig = bench.rig("start-rules", orders.rules(10_000), environ=orders.ENVIRON)
    found = check(bench, rig.path, orders.ENVIRON)
    name = "check of 10,000 rules, 130,000 lines"
    return [
        Row(name, found.seconds, "s"),
        Row(f"{name}: processor time", found.processor_s, "s"),
        at_most(f"{name}: memory", found.peak_mib, "MiB", 150),
    ]


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
    return [at_most("ready with 1,000,000 jobs", median(taken), "s", 1)]
