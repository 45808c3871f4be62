"""
An older commit beside this one, in the same run: `python -m benchmarks --baseline REF [NAME...]`.

The older one gets a folder and an environment of its own and is driven by what has not changed: its
command line, HTTP, and its ledger's SQL; its stores are filled by its own code. Both run the same
measurements in turns, and each figure is told as so many times the older one's.
"""

import io
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.bench import Bench
from benchmarks.comparing import RATES, SIZES, TIMES, with_costs
from benchmarks.figures import Cost, Row, at_least, at_most
from benchmarks.settled import settle
from tests.acceptance.process import ROOT

NAMES = ("throughput", "dispatch", "shell", "python", "batch")
"""Those whose goals are told by the older commit, but `start`, which takes long."""
AT_MOST = {
    "durable accept and run: processor time of one": 0.333,
    "batch of 1,000, 1,000,000 keys": 0.5,
    "check of 10,000 rules, 130,000 lines: processor time": 0.5,
    "processor time, usual push": 1.03,
    "processor time, chunked push": 0.75,
    "processor time, push of 100 kB": 1.0,
    "processor time, push, a connection each": 0.9,
    "processor time, POST to no endpoint": 0.7,
    "memory of an idle connection": 0.65,
    "processor time, http job": 1.03,
    "processor time, https job": 0.75,
    "processor time, https job, a connection each": 0.8,
}
AT_LEAST = {
    "HTTP dispatch from backlog": 2.2,
    "shell from backlog, /bin/true": 1.6,
    "python from backlog, a plugin of nothing": 1.6,
}
COMPARED = RATES | TIMES | SIZES | {"ms", "us/job"}
LIMIT_S = 600.0

Measure = Callable[[Bench], Iterable[Row]]


class NoBaseline(Exception):
    """The older commit is not there, or its environment cannot be made; the text says why."""


class Checkout(NamedTuple):
    """A commit as its short name, where its code lies, and the Python of its environment."""

    name: str
    code: Path
    python: str


@contextmanager
def checked_out(ref: str, folder: Path) -> Iterator[Checkout]:
    """
    The files of a commit in a folder, with an environment of its own beside it.

    Raises:
        NoBaseline: there is no such commit, or it cannot be installed.
    """
    code, environment = folder / "code", folder / "environment"
    python = environment / "bin" / "python"
    name = archived(ref, code)
    run([sys.executable, "-m", "venv", str(environment)], code)
    run([str(python), "-m", "pip", "install", "-qq", "--editable", ".[test]"], code)
    yield Checkout(name, code, str(python))


def archived(ref: str, folder: Path) -> str:
    """
    The files of a commit in this folder; its short name.

    Raises:
        NoBaseline: there is no such commit.
    """
    found = run(["git", "rev-parse", "--short", "--verify", f"{ref}^{{commit}}"], ROOT)
    name = found.decode().strip()
    files = run(["git", "archive", "--format=tar", name], ROOT)
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(folder, filter="data")
    return name


def run(command: list[str], folder: Path) -> bytes:
    """
    What it printed.

    Raises:
        NoBaseline: it failed, or took too long.
    """
    told = " ".join(Path(word).name for word in command[:4])
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, check=False, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoBaseline(f"{told}: {error}") from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise NoBaseline(f"{told}: {' '.join(last)}")
    return done.stdout


@dataclass
class Sides:
    """This checkout and an older one, measured in turns."""

    bench: Bench
    older: Checkout
    turns: int = 0
    found: dict[bool, list[list[Row]]] = field(default_factory=dict)

    def rows(self, measure: Measure) -> list[Row]:
        """The medians of both, and each figure as so many times the older one's."""
        self.found = {True: [], False: []}
        for number in range(self.bench.rounds):
            for ours in (False, True) if number % 2 == 0 else (True, False):
                self.found[ours].append(self.turn(measure, ours))
        return beside(self.older.name, self.found[False], self.found[True])

    def turn(self, measure: Measure, ours: bool) -> list[Row]:
        """One round of one side, on an idle machine."""
        self.turns += 1
        side = "this" if ours else self.older.name
        folder = self.bench.folder / f"turn-{self.turns}"
        folder.mkdir()
        bench = Bench(folder, self.bench.seconds, 1)
        if not ours:
            bench.code, bench.python = self.older.code, self.older.python
        if not settle(4.0 * self.bench.seconds):
            self.bench.notes.append(f"{side}: the machine was busy before turn {self.turns}")
        found = list(measure(bench))
        self.bench.notes += [f"{side}, turn {self.turns}: {note}" for note in bench.notes]
        return found


# -- what was found, side by side ------------------------------------------------------------------


def beside(name: str, older: list[list[Row]], ours: list[list[Row]]) -> list[Row]:
    """Both sides' medians, then the ratios; `older` and `ours` hold a list of rows a round."""
    before = [replace(row, name=f"{row.name}, {name}", ours=False) for row in medians(older)]
    return [*medians(ours), *before, *ratios(name, older, ours)]


def medians(rounds: list[list[Row]]) -> Iterator[Row]:
    """Each row of the first round with the median of its figures in all."""
    for row in rounds[0]:
        same = [one for rows in rounds for one in rows if one.name == row.name]
        figures = [one.figure for one in same if one.figure is not None]
        if not figures:
            yield row
            continue
        figure = median(figures)
        kept = replace(row, figure=figure, cost=median_cost([one.cost for one in same]))
        yield kept if row.aim is None else judged(kept, figure)


def judged(row: Row, figure: float) -> Row:
    make = at_least if row.goal.startswith(">=") else at_most
    return replace(make(row.name, figure, row.unit, row.aim or 0), cost=row.cost, ours=row.ours)


def median_cost(costs: list[Cost | None]) -> Cost | None:
    known = [one for one in costs if one is not None]
    if not known:
        return None
    parts = {}
    for part in Cost.__struct_fields__:
        values = [value for one in known if (value := getattr(one, part)) is not None]
        parts[part] = median(values) if values else None
    return Cost(**parts)


def ratios(name: str, older: list[list[Row]], ours: list[list[Row]]) -> Iterator[Row]:
    """The medians of the rounds' own ratios."""
    pairs: dict[str, list[float]] = {}
    for then, now in zip(older, ours, strict=True):
        before = {row.name: row for row in with_costs(tuple(then))}
        for row in with_costs(tuple(now)):
            past = before.get(row.name)
            if past is not None and row.ours and row.unit in COMPARED and past.figure:
                pairs.setdefault(row.name, []).append((row.figure or 0) / past.figure)
    for told, found in pairs.items():
        yield ratio(told, name, median(found))


def ratio(told: str, name: str, times: float) -> Row:
    label = f"{told}, of {name}"
    if told in AT_MOST:
        return at_most(label, times, "x", AT_MOST[told])
    if told in AT_LEAST:
        return at_least(label, times, "x", AT_LEAST[told])
    return Row(label, times, "x")
