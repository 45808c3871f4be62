"""
This run beside an earlier one, by ratios: machines differ, and so do their absolute figures.

A row in `x` is a ratio of one run already. A rate or a time on the processor becomes one through
the yardstick, a fixed piece of Python work that each run times first. Memory is compared as it is.
What passes within milliseconds (latencies, p99s) is not compared: it depends on the disk and on
who else is there.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from benchmarks.figures import Figures, Row
from benchmarks.table import shown

BAND = 0.15
YARDSTICK = "yardstick: a push in plain Python"
RATES = frozenset({"deliveries/s", "events/s", "jobs/s", "MB/s"})
TIMES = frozenset({"us each", "us/event", "us/delivery", "s"})
SIZES = frozenset({"MiB", "bytes/job", "bytes/delivery", "bytes/connection"})

Verdict = Literal["worse", "better", "same"]


class Change(msgspec.Struct, frozen=True):
    """One row then and now. `times` above 1 is better; `by` says what the ratio is taken to."""

    name: str
    before: float
    now: float
    unit: str
    times: float
    by: Literal["itself", "the yardstick"]

    def verdict(self, band: float) -> Verdict:
        """Within the band nothing can be said."""
        if self.times < 1 - band:
            return "worse"
        return "better" if self.times > 1 / (1 - band) else "same"

    def __str__(self) -> str:
        moved = f"{abs(self.times - 1):.0%} {'worse' if self.times < 1 else 'better'}"
        by = "" if self.by == "itself" else f" by {self.by}"
        return f"{self.name}: {shown(self.now)} {self.unit}, was {shown(self.before)}: {moved}{by}"


class Comparison(msgspec.Struct, frozen=True):
    """`gone`: rows of measurements that ran this time as well, but that are no longer there."""

    changes: tuple[Change, ...]
    gone: tuple[str, ...]
    band: float

    def of(self, verdict: Verdict) -> list[Change]:
        """Those of one verdict, the farthest from 1 first."""
        found = [c for c in self.changes if c.verdict(self.band) == verdict]
        return sorted(found, key=lambda c: c.times, reverse=verdict == "better")

    def __str__(self) -> str:
        lines = [f"worse: {one}" for one in self.of("worse")]
        lines += [f"better: {one}" for one in self.of("better")]
        lines += [f"gone: {name}" for name in self.gone]
        total = (
            f"{len(self.changes)} ratios compared, band {self.band:.0%}: "
            f"{len(self.of('worse'))} worse, {len(self.of('better'))} better"
        )
        return "\n".join([*lines, total])


def compare(before: Figures, now: Figures, band: float = BAND) -> Comparison:
    """What ran both times, row by row."""
    changes, gone = [], []
    for name in before.rows.keys() & now.rows.keys():
        fresh = {row.name: row for row in with_costs(now.rows[name])}
        for row in with_costs(before.rows[name]):
            if row.name not in fresh:
                gone.append(row.name)
            elif (change := changed(row, fresh[row.name], quicker(before, now))) is not None:
                changes.append(change)
    return Comparison(tuple(sorted(changes, key=lambda c: c.name)), tuple(sorted(gone)), band)


def with_costs(rows: tuple[Row, ...]) -> Iterator[Row]:
    """The rows; after each rate the processor time of one, where it was measured, as a row."""
    for row in rows:
        yield row
        if row.cost is not None:
            yield Row(f"{row.name}: processor time of one", row.cost.processor_us, "us each")


def quicker(before: Figures, now: Figures) -> float | None:
    """How many times as quick this machine is; None if one of the runs has no yardstick."""
    then, today = before.figure(YARDSTICK), now.figure(YARDSTICK)
    return then / today if then and today else None


def changed(before: Row, now: Row, speed: float | None) -> Change | None:
    """None: the row is not one to compare."""
    if not before.ours or before.unit != now.unit or not before.figure or not now.figure:
        return None
    ratio = now.figure / before.figure
    kept = (before.name, before.figure, now.figure, now.unit)
    if before.unit == "x":
        return Change(*kept, ratio, "itself")
    if before.unit in SIZES:
        return Change(*kept, 1 / ratio, "itself")
    if speed is None:
        return None
    if before.unit in RATES:
        return Change(*kept, ratio / speed, "the yardstick")
    times = 1 / (ratio * speed)
    return Change(*kept, times, "the yardstick") if before.unit in TIMES else None
