"""
`python -m benchmarks [NAME...] [--all] [--seconds S] [--rounds N] [--baseline REF] [--json FILE]`

Measures on loopback, prints a table, writes JSON and a picture. Without a name the short ones run;
by name or with --all also the heavy ones. `--record` runs all and writes what is committed: the
figures, the picture and the page. `--compare FILE` says what is worse than in an earlier run,
`--baseline REF` measures an older commit beside this one, in turns.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import (
    baseline,
    beside,
    comparing,
    dispatching,
    figures,
    fleet,
    machine,
    mail,
    many,
    memory,
    neighbour,
    page,
    picture,
    pressure,
    profiling,
    rates,
    rows,
    sizes,
    slow_sync,
    start,
    stress,
    table,
    traces,
    ways,
)
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Figures, Row
from benchmarks.peers import PeerFailed

SHORT: dict[str, Callable[[Bench], Iterable[Row]]] = {
    "machine": machine.yardsticks,
    "throughput": rows.throughput,
    "latency": rates.latency,
    "idle": rows.idle,
    "dispatch": dispatching.http,
    "shell": dispatching.shell,
    "python": dispatching.python,
    "rules": many.rules,
    "batches": mail.batches,
    "sizes": sizes.sizes,
}
HEAVY: dict[str, Callable[[Bench], Iterable[Row]]] = {
    "peers": beside.beside,
    "keys": many.keys,
    "batch": mail.batch,
    "memory": memory.memory,
    "start": start.start,
    "stress": stress.stress,
    "slow_sync": slow_sync.slow_sync,
    "neighbour": neighbour.neighbour,
}
"""
These fill stores with a million rows or the machine's memory, need other programs, or spoil
something on purpose.
"""
PRESSURE: dict[str, Callable[[Bench], Iterable[Row]]] = {
    "listeners": pressure.listeners,
    "flood": pressure.flood,
    "onset": pressure.onset,
}
"""These are heavy too, and measure this checkout alone."""
ALL = {**SHORT, **HEAVY, **PRESSURE}
NAMED: dict[str, Callable[[Bench], Iterable[Row]]] = {
    "profile": profiling.profile,
    "fleet": fleet.fleet,
    "traces": traces.traces,
    "ways": ways.ways,
    "calls": ways.calls,
}
"""Run by name alone, and are not recorded."""
ALONE = {*PRESSURE, "fleet"}
"""They measure this checkout and no older one beside it."""
KNOWN = {**ALL, **NAMED}
WRITTEN = (page.COMMITTED, page.PICTURE, page.PAGE)


def main() -> int:
    options = arguments()
    before = None if options.compare is None else figures.read(options.compare)
    found = figures.read(options.show) if options.show else run(options)
    if options.show:
        print(*(table.whole(each) for each in found.rows.values()), sep="\n")
    for place, write in ((options.json, figures.write), (options.svg, drawn)):
        if place is not None:
            write(place, found)
    if options.record:
        record(found)
    return 0 if before is None else compared(before, found, options)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What these words ask for, or those of the command line. Ends in words when it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n\n")[1]
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=", ".join(KNOWN))
    add("--all", action="store_true", help="everything, the heavy ones too")
    add("--record", action="store_true", help="everything, and write what is committed")
    add("--show", type=Path, metavar="FILE", help="measure nothing: take an earlier run's JSON")
    add("--baseline", metavar="REF", help="measure this older commit too, in turns with this one")
    add("--seconds", type=int, default=3, help="each load lasts (3)")
    add("--rounds", type=int, default=3, help="interleaved rounds (3)")
    add("--json", type=Path, metavar="FILE", help="write the figures here as well")
    add("--svg", type=Path, metavar="FILE", help="draw them here as well")
    add("--compare", type=Path, metavar="FILE", help="say what is worse than in this run's JSON")
    add("--band", type=float, default=comparing.BAND, help="what counts as noise (0.15)")
    add("--strict", action="store_true", help="exit 1 if anything is worse")
    options = parser.parse_args(words)
    if unknown := set(options.names) - set(KNOWN):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if options.seconds < 1 or options.rounds < 1:
        parser.error("seconds and rounds begin at 1")
    if options.strict and options.compare is None:
        parser.error("--strict needs --compare: worse than what?")
    if options.record and options.names:
        parser.error("--record takes no names: what is committed is one whole run")
    if options.baseline and (alone := set(options.names) & ALONE):
        parser.error(f"--baseline: {', '.join(sorted(alone))} can measure this checkout alone")
    if options.baseline and (options.record or options.show or options.compare):
        parser.error("--baseline goes with names, --all, --seconds, --rounds, --json and --svg")
    if options.show is None and shutil.which("wrk") is None:
        parser.error("wrk, the load generator, is not on the PATH")
    whole = options.all or options.record
    every, usual = (ALL, SHORT) if not options.baseline else (SHORT | HEAVY, baseline.NAMES)
    options.names = list(every if whole else options.names or usual)
    if options.compare is not None and "machine" not in options.names:
        options.names.insert(0, "machine")  # the yardstick
    return options


def run(options: argparse.Namespace) -> Figures:
    """Measure, and print as it comes."""
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.seconds, options.rounds)
        measured = measure(bench, options.names, options.baseline)
    print("", facts, *bench.notes, sep="\n")
    return Figures(
        machine=facts,
        seconds=bench.seconds,
        rounds=bench.rounds,
        rows=measured,
        histograms=tuple(bench.histograms),
        notes=tuple(bench.notes),
    )


def measure(bench: Bench, names: list[str], older: str | None) -> dict[str, tuple[Row, ...]]:
    """Each by its name; beside an older commit if there is one."""
    with ExitStack() as stack:
        measures = {name: partial(KNOWN[name], bench) for name in names}
        if older is not None:
            checkout = stack.enter_context(baseline.checked_out(older, bench.folder / "older"))
            sides = baseline.Sides(bench, checkout)
            measures = {name: partial(sides.rows, KNOWN[name]) for name in names}
        print(table.head(), flush=True)
        found = {name: tuple(told(measured())) for name, measured in measures.items()}
    print("", table.cost_table(row for rows in found.values() for row in rows), sep="\n")
    return found


def told(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each printed when it is there."""
    for row in rows:
        print(table.line(row), flush=True)
        yield row


def drawn(place: Path, found: Figures) -> None:
    place.write_text(picture.draw(found), "utf-8")


def record(found: Figures) -> None:
    """The page is filled from the file, as its test fills it."""
    figures.write(page.COMMITTED, found)
    kept = figures.read(page.COMMITTED)
    drawn(page.PICTURE, kept)
    page.PAGE.write_text(page.filled(page.PAGE.read_text("utf-8"), kept), "utf-8")
    print("", *(f"wrote {p.relative_to(page.ROOT)}" for p in WRITTEN), sep="\n")


def compared(before: Figures, found: Figures, options: argparse.Namespace) -> int:
    print(f"\ncompared with {options.compare} ({before.machine.date}):")
    if (before.seconds, before.rounds) != (found.seconds, found.rounds):
        print(f"other loads: {before.seconds} s x {before.rounds} rounds there")
    comparison = comparing.compare(before, found, options.band)
    print(comparison)
    return 1 if options.strict and comparison.of("worse") else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, too
    try:
        sys.exit(main())
    except (figures.NoFigures, WrongFigures, PeerFailed, baseline.NoBaseline) as error:
        sys.exit(f"python -m benchmarks: {error}")
