"""
What a run found, as values: rows, histograms of latencies, the machine. Read and written as JSON.

Nothing here measures. The table, the picture, the page and the comparison are all made from a
`Figures`, so that they can be made again from the file.
"""

import bisect
from pathlib import Path

import msgspec


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    What one of many costs the router's process: microseconds on a processor, its own and the
    system's for it, context switches, commits, system calls. None: nobody counted them.
    """

    user_us: float
    system_us: float
    switches: float
    commits: float | None = None
    calls: float | None = None

    @property
    def processor_us(self) -> float:
        return self.user_us + self.system_us


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    One line of the table.

    `figure` is None where there was nothing to measure; `unit` then says why. `goal` is in words
    and `aim` is its number; `met` is None where there is none to meet. `ours` is False for what
    another program or the machine itself does. `cost` belongs to a rate: that of one of them.
    """

    name: str
    figure: int | float | None
    unit: str
    goal: str = ""
    met: bool | None = None
    aim: float | None = None
    ours: bool = True
    cost: Cost | None = None


def at_least(name: str, figure: float, unit: str, goal: float, cost: Cost | None = None) -> Row:
    return Row(name, figure, unit, f">= {goal:,}", figure >= goal, goal, cost=cost)


def at_most(name: str, figure: float, unit: str, goal: float) -> Row:
    return Row(name, figure, unit, f"<= {goal:,}", figure <= goal, goal)


def absent(name: str) -> Row:
    """A row of a program that is not here."""
    return Row(name, None, "not installed here", ours=False)


STEPS = 10
EDGES_MS = tuple(round(0.1 * 10 ** (n / STEPS), 4) for n in range(5 * STEPS + 1))
"""Where the classes of a histogram end: from 0.1 ms to 10 s, each a quarter above the last."""


class Histogram(msgspec.Struct, frozen=True):
    """
    Latencies at one rate: how many fell into each class, one more than there are edges.

    Class n holds what is above edge n - 1 and at most edge n; the last one all that is longer.
    """

    name: str
    rate: int
    counts: tuple[int, ...]


def classes(milliseconds: list[float]) -> tuple[int, ...]:
    """How many fell into each class."""
    counts = [0] * (len(EDGES_MS) + 1)
    for one in milliseconds:
        counts[bisect.bisect_left(EDGES_MS, one)] += 1
    return tuple(counts)


class Machine(msgspec.Struct, frozen=True):
    """What the figures were taken on. Memory in MiB; `load` is the minute's average before."""

    cores: int
    processor: str
    memory_mib: int
    system: str
    python: str
    sqlite: str
    load: float
    date: str

    def __str__(self) -> str:
        return (
            f"{self.cores} cores ({self.processor}), shared with the load generator; "
            f"{self.memory_mib:,} MiB; Python {self.python}, SQLite {self.sqlite}, {self.system}; "
            f"load before {self.load:.3g}; {self.date}"
        )


class Figures(msgspec.Struct, frozen=True):
    """A whole run: `rows` by the name of the measurement, in the order in which they ran."""

    machine: Machine
    seconds: int
    rounds: int
    rows: dict[str, tuple[Row, ...]]
    histograms: tuple[Histogram, ...] = ()
    notes: tuple[str, ...] = ()

    def figure(self, name: str) -> float | None:
        """The figure of the row of this name; None if there is none."""
        every = (row for rows in self.rows.values() for row in rows)
        return next((row.figure for row in every if row.name == name), None)


class NoFigures(Exception):
    """The file is not there, or holds something else; the text says which."""


def read(place: Path) -> Figures:
    """
    Raises:
        NoFigures: there are none in this file.
    """
    try:
        return msgspec.json.decode(place.read_bytes(), type=Figures)
    except OSError as error:
        raise NoFigures(f"{place}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise NoFigures(f"{place}: {error}") from None


def write(place: Path, found: Figures) -> None:
    place.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
