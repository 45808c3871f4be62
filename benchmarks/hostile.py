"""
How much later a neighbour is answered for one target, command or plugin that means harm.

    python -m benchmarks.hostile [NAME…] [--seconds 3]     none: each, 15 minutes

Deliveries come to one endpoint at 200 a second (open loop). Beside them one comes to another
endpoint every quarter of a second, and each does its harm. A row for each: the p99 of the first
above what it was with nothing else going on, just before. Exits with 1 unless each is within 50 ms
and all were answered 200. A program of its own: what burns a core is no part of a recorded run.
"""

import argparse
import socket
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import memory, pushes, table
from benchmarks.bench import Bench, WrongFigures, child
from benchmarks.figures import Row, at_most
from benchmarks.meanwhile import meanwhile
from benchmarks.pace import connect, read_answer
from tests.acceptance.process import Rig
from tests.hostile import site

RATE = 200
LATER_MS = 50
EVERY_S = 0.25


def paced(bench: Bench, rig: Rig) -> dict[str, Any]:
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    count = RATE * bench.seconds
    return child("benchmarks.pace", rig.listen, request, RATE, count, bench.number())


def harm(rig: Rig, link: socket.socket, name: str) -> str:
    """One delivery that starts it; the status of its answer."""
    link.sendall(site.order(rig, name))
    status = read_answer(link)[9:12].decode("ascii")
    time.sleep(EVERY_S)
    return status


def beside(bench: Bench, name: str, action: dict[str, Any]) -> list[Row]:
    """A router of its own: the neighbour alone, then beside this one."""
    rig = site.a_rig(bench.folder / str(bench.number()), {name: action})
    with rig.router() as router, closing(connect(rig.listen)) as link:
        calm = paced(bench, rig)
        with meanwhile(lambda _: harm(rig, link, name)) as sent:
            found = paced(bench, rig)
        most = memory.held(router, "VmHWM")
        router.stop()  # and not killed: it ends what it has started
    if not site.started(rig):
        raise WrongFigures(f"{name} was sent {len(sent)} times and never ran")
    later = round(max(0.0, found["p99_ms"] - calm["p99_ms"]), 2)
    refused = found["not_200"] + len(sent) - sent.count("200")
    return [
        at_most(f"{name}, p99 later by", later, "ms", LATER_MS),
        at_most(f"{name}, not 200", refused, "deliveries", 0),
        Row(f"{name}, memory, the most it held", most, "MiB"),
    ]


def run(bench: Bench, names: list[str]) -> list[Row]:
    rows = []
    with site.targets() as urls:
        every = site.actions(urls)
        if unknown := set(names) - set(every):
            raise SystemExit(f"no such thing: {', '.join(sorted(unknown))}; {', '.join(every)}")
        for name in names or every:
            found = beside(bench, name, every[name])
            print(*map(table.line, found), sep="\n", flush=True)
            rows += found
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=int, default=3, help="each load lasts (3)")
    given = parser.parse_args()
    print(table.head(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = run(Bench(Path(folder), given.seconds), given.names)
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
