"""
A router under mixed load for hours: nothing is lost or done twice, and nothing grows.

    python -m tests.soak                                two hours, SQLite
    python -m tests.soak --minutes 2                    the short form
    python -m tests.soak --hours 8 --database postgres --json soak.json

Senders deliver orders, pushes and batches, large, forged and repeated ones, at a bounded rate.
Their jobs call a target that fails and stalls at times, run commands and plugins, in chains too. In
the first quarter of each hour the router is killed and restarted again and again; then one process
lives to the end of the hour. All the time rules files come, right and wrong ones, retention removes
what has ended, backups are made, operators look and listen.

Memory, descriptors, threads, journal, store, open jobs, lag and the times of answers are sampled
every five seconds. Of each process that lives long none of these may grow (a robust slope against a
bound), nor from one hour to the next. Everything acknowledged must be done, once but for what a
death interrupted; any refusal of a genuine delivery but 503, and any error in the log, is a fault.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.faults.telling import say, verdict
from tests.fleet.target import Target
from tests.postgres.binaries import MISSING, installed
from tests.postgres.sharing import private_server
from tests.soak.campaign import Behaviour, Result, Soak
from tests.soak.rules import MIB, lay_out
from tests.soak.samples import of_files

HOUR_S = 3600.0
KEPT = 0.1
"""The part of a stretch for which what has ended is kept."""
SAFE = {"fsync": "on", "synchronous_commit": "on"}

Stored = Callable[[], Mapping[str, float]]


@contextmanager
def a_store(database: str, folder: Path) -> Iterator[tuple[dict[str, str], Stored]]:
    """The router's environment, and what its store takes."""
    if database == "sqlite":
        yield {}, lambda: of_files(folder / "router.db")
        return
    with private_server(next(installed()), SAFE) as server:
        size = "SELECT pg_database_size('router')"
        # Not held to a bound: it lets go of whole days.
        held = {"ROUTER_STORE": server.address()}
        yield held, lambda: {"database": int(server.execute(size)) / MIB}


async def soaked(seconds: float, rate: float, database: str, folder: Path) -> Result:
    stretches = [HOUR_S] * int(seconds // HOUR_S) or [seconds]
    behaviour = Behaviour(random.Random(1), time.monotonic)
    target = Target(random.Random(2), behaviour.answer, behaviour.delay)
    with a_store(database, folder) as (environment, stored):
        async with target.listening():
            sink = f"http://127.0.0.1:{target.port}"
            rig = lay_out(folder, sink, max(10, int(stretches[0] * KEPT)), environment)
            return await Soak(rig, target, rate, stored).run(stretches)


def table(result: Result) -> Table:
    """Each measure of each life."""
    shown = Table("of", "measure", "first", "last", "growth", "allowed", "")
    for of, one in result.trends:
        numbers = (f"{value:.4g}" for value in one[1:])
        shown.add_row(of, one.measure, *numbers, "TOO MUCH" if one.too_much else "")
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=float, default=2.0)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--rate", type=float, default=20.0, help="deliveries a second")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples and trends")
    options = parser.parse_args()
    if options.database == "postgres" and next(installed(), None) is None:
        say(f"SKIPPED: {MISSING}")
        return 0
    seconds = options.hours * HOUR_S if options.minutes is None else options.minutes * 60
    with tempfile.TemporaryDirectory() as name:
        result = asyncio.run(soaked(seconds, options.rate, options.database, Path(name) / "router"))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(result)))
    Console().print(table(result))
    return verdict(result.problems, json.dumps(result.counts, indent=1))


if __name__ == "__main__":
    sys.exit(main())
