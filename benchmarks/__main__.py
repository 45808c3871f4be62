"""
`python -m benchmarks [NAME...] [--seconds S] [--rounds N] [--json FILE]`

Measures on loopback, prints a table, writes JSON. Names: throughput, latency, idle, dispatch.
"""

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.rows import ROWS, Bench, Row


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n\n")[1]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--seconds", type=int, default=5, help="each measurement takes (5)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (3)")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ROWS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.seconds, options.rounds)
        rows = measured(bench, options.names or list(ROWS))
    print(machine(), *bench.notes, sep="\n")
    if options.json is not None:
        options.json.write_bytes(as_json(bench, rows))
    return 0


def measured(bench: Bench, names: list[str]) -> list[Row]:
    print(f"| {'what':<42} | {'figure':>10} | {'unit':<12} | {'goal':<8} | met |")
    print(f"|{'-' * 44}|{'-' * 11}:|{'-' * 14}|{'-' * 10}|-----|", flush=True)
    rows = []
    for name in names:
        for row in ROWS[name](bench):
            rows.append(row)
            met = {True: "yes", False: "no", None: ""}[row.met]
            figure = f"{row.figure:,}"
            line = f"| {row.name:<42} | {figure:>10} | {row.unit:<12} | {row.goal:<8} | {met:<3} |"
            print(line, flush=True)
    return rows


def machine() -> str:
    """What the figures were taken on."""
    return (
        f"\n{os.cpu_count()} cores, shared with the load generator; "
        f"Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, {platform.system()} {platform.release()}; "
        f"{time.strftime('%Y-%m-%d', time.gmtime())}"
    )


def as_json(bench: Bench, rows: list[Row]) -> bytes:
    content = {"machine": machine().strip(), "seconds": bench.seconds, "rounds": bench.rounds}
    encoded = msgspec.json.encode({**content, "rows": rows, "notes": bench.notes})
    return msgspec.json.format(encoded) + b"\n"


if __name__ == "__main__":
    sys.exit(main())
