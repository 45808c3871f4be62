"""
Acknowledgements with and without something beside them, on a machine that others use as well.

Each round has two halves, alone and beside. Which comes first changes from round to round, so that
a machine that gets slower is no word against either; a round in which other programs used the
processors does not count and is made again, for a while. What is compared are the medians of the
rounds.
"""

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks import pushes
from benchmarks.settled import settle
from tests.acceptance.process import ROOT, Rig, RouterProcess

TRIES = 4
"""Rounds that are made at most for each that is wanted."""
OTHERS_MAX = 0.1
"""Of all processors together: what other programs may use in a half that counts."""

Half = Callable[[RouterProcess], Awaitable[dict[str, float]]]


@dataclass
class Figures:
    """Latencies of the halves that count, in milliseconds."""

    alone: list[dict[str, float]] = field(default_factory=list)
    beside: list[dict[str, float]] = field(default_factory=list)

    def ratio(self, name: str) -> float:
        """Of the medians: beside to alone."""
        return _median(self.beside, name) / _median(self.alone, name)

    def reported(self, what: str) -> list[str]:
        """Lines for a person; `what` is what was beside."""
        return [
            f"{name[:-3]}: {_median(self.alone, name):.2f} ms alone, "
            f"{_median(self.beside, name):.2f} ms with {what}: {self.ratio(name):.3f} x"
            for name in ("p50_ms", "p99_ms")
            if self.alone
        ]

    def judged(self, rounds: int, bound: int) -> list[str]:
        """What is wrong, if p99 may be `bound` per cent worse; 0: any."""
        if len(self.alone) < rounds:
            return [f"only {len(self.alone)} rounds count: other programs use the processors"]
        worse = 100 * (self.ratio("p99_ms") - 1)
        return [f"p99 is {worse:.1f} % worse"] if 0 < bound < worse else []


def _median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


class Busy:
    """How much of the processors is used from now on by other programs than the router and us."""

    def __init__(self, router: RouterProcess) -> None:
        self._router = router
        self._before = self._now()

    def others(self) -> float:
        """Their share of all processors together."""
        total, idle, ours = (now - old for now, old in zip(self._now(), self._before, strict=True))
        return max(0.0, total - idle - ours) / total if total else 0.0

    def _now(self) -> tuple[float, float, float]:
        """Ticks since the machine started: all, idle ones, and ours."""
        assert self._router.process is not None
        line = Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]
        ticks = [int(number) for number in line]
        stat = Path(f"/proc/{self._router.process.pid}/stat").read_text("ascii")
        theirs = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
        mine = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        return sum(ticks), ticks[3] + ticks[4], theirs + mine


async def compare(
    router: RouterProcess,
    alone: Half,
    beside: Half,
    *,
    rounds: int,
    picky: bool,
    reported: Callable[[str], None],
) -> Figures:
    """So many rounds; `picky`: those count in which the machine was ours."""
    figures = Figures()
    for number in range(rounds * TRIES if picky else rounds):
        if picky:
            settle()
        found, others = {}, 0.0
        for half in (alone, beside) if number % 2 == 0 else (beside, alone):
            busy = Busy(router)
            found[half] = await half(router)
            others = max(others, busy.others())
        counts = not picky or others <= OTHERS_MAX
        if counts:
            figures.alone.append(found[alone])
            figures.beside.append(found[beside])
        reported(
            f"p99 {found[alone]['p99_ms']:.2f} ms alone, {found[beside]['p99_ms']:.2f} ms beside"
            f"{'' if counts else f' (does not count: others used {others:.0%})'}"
        )
        if len(figures.alone) == rounds:
            break
    return figures


class Pushes:
    """Really signed deliveries at a fixed pace, to the router of a rig; `problems` gathers."""

    def __init__(self, rig: Rig, request: Path, rate: int) -> None:
        pushes.write_request(rig.listen, request)
        self._command = [sys.executable, "-m", "benchmarks.pace", str(rig.listen), str(request)]
        self._rate = rate
        self._number = 0
        self.problems: list[str] = []

    async def send(self, seconds: float, *, rate: int | None = None) -> dict[str, float]:
        """One run of the generator, in its own process; its figures."""
        self._number += 1
        rate = rate or self._rate
        count = int(rate * seconds)
        process = await asyncio.create_subprocess_exec(
            *(*self._command, str(rate), str(count), str(self._number)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        found: dict[str, float] = json.loads(out)
        if found["answers"] != count:
            self.problems.append(f"of {count} deliveries {found['answers']} were accepted")
        return found


class Measure(Protocol):
    """How long a half is, how many rounds count, and by how many per cent p99 may be worse."""

    seconds: int
    rounds: int
    bound: int


async def measured(
    router: RouterProcess,
    pushes: Pushes,
    load: Measure,
    beside: Half,
    reported: Callable[[str], None],
) -> tuple[Figures, list[str]]:
    """Deliveries alone and with something beside them: the figures, and what is wrong with them."""

    async def alone(_: RouterProcess) -> dict[str, float]:
        return await pushes.send(load.seconds)

    picky = load.bound > 0
    figures = await compare(
        router, alone, beside, rounds=load.rounds, picky=picky, reported=reported
    )
    return figures, [*pushes.problems, *figures.judged(load.rounds, load.bound)]
