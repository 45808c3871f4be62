"""
`python -m benchmarks [NAME...] [--all] [--seconds S] [--rounds N] [--json FILE]`

Measures on loopback, prints a table, writes JSON. Without a name the short ones: throughput,
latency, idle, dispatch, shell, rules. By name or with --all also: keys, batch, memory, start.
"""

import argparse
import os
import platform
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks import mail, many, memory, rows, start
from benchmarks.bench import Bench, Row

SHORT: dict[str, Callable[[Bench], list[Row]]] = {
    "throughput": rows.throughput,
    "latency": rows.latency,
    "idle": rows.idle,
    "dispatch": rows.dispatch,
    "shell": rows.shell,
    "rules": many.rules,
}
HEAVY: dict[str, Callable[[Bench], list[Row]]] = {
    "keys": many.keys,
    "batch": mail.batch,
    "memory": memory.memory,
    "start": start.start,
}
"""These fill stores with a million rows or the machine's memory; they run when asked for."""
ALL = {**SHORT, **HEAVY}


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


def main() -> int:
    options = arguments()
    facts = machine()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.seconds, options.rounds)
        measured = measure(bench, options.names)
    print("", facts, *bench.notes, sep="\n")
    if options.json is not None:
        options.json.write_bytes(as_json(facts, bench, measured))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n\n")[1]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--all", action="store_true", help="everything, the heavy ones too")
    parser.add_argument("--seconds", type=int, default=5, help="each measurement takes (5)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (3)")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ALL):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if options.seconds < 1 or options.rounds < 1:
        parser.error("seconds and rounds begin at 1")
    options.names = list(ALL) if options.all else options.names or list(SHORT)
    return options


def measure(bench: Bench, names: list[str]) -> list[Row]:
    print(f"| {'what':<42} | {'figure':>10} | {'unit':<12} | {'goal':<8} | met |")
    print(f"|{'-' * 44}|{'-' * 11}:|{'-' * 14}|{'-' * 10}|-----|", flush=True)
    found = []
    for name in names:
        for row in ALL[name](bench):
            found.append(row)
            met = {True: "yes", False: "no", None: ""}[row.met]
            figure = shown(row.figure)
            line = f"| {row.name:<42} | {figure:>10} | {row.unit:<12} | {row.goal:<8} | {met:<3} |"
            print(line, flush=True)
    return found


def shown(figure: float) -> str:
    """A count as it is, anything else to three significant digits."""
    if isinstance(figure, int):
        return f"{figure:,}"
    return f"{figure:#.3g}" if abs(figure) < 100 else f"{float(f'{figure:.3g}'):,.0f}"


def machine() -> Machine:
    found = re.search(r"^model name\s*: (.+)$", read("/proc/cpuinfo"), re.MULTILINE)
    return Machine(
        cores=os.cpu_count() or 0,
        processor=found[1] if found else platform.machine(),
        memory_mib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024**2,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        load=os.getloadavg()[0],
        date=time.strftime("%Y-%m-%d", time.gmtime()),
    )


def read(place: str) -> str:
    try:
        return Path(place).read_text("utf-8")
    except OSError:
        return ""


def as_json(facts: Machine, bench: Bench, found: list[Row]) -> bytes:
    content = {"machine": facts, "seconds": bench.seconds, "rounds": bench.rounds}
    encoded = msgspec.json.encode({**content, "rows": found, "notes": bench.notes})
    return msgspec.json.format(encoded) + b"\n"


if __name__ == "__main__":
    sys.exit(main())
