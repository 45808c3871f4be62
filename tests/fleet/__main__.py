"""
Four routers on one PostgreSQL, under load, while everything befalls them that may.

    python -m tests.fleet                                               a minute
    python -m tests.fleet --beside REV                                  half of another commit
    python -m tests.fleet --stops 300 --kills 200 --freezes 100 \\
        --cuts 50 --holes 25 --long-holes 25 --promotions 20

PostgreSQL (fsync and synchronous_commit on) is stopped as a crash leaves it, and started again or,
where promotions are asked for, its synchronous standby takes its place; routers are killed, or
stopped (SIGSTOP) until the others take over and then go on as if nothing had been; their links to
the database are cut, or hold up what is sent. Meanwhile senders send each delivery, to any router
and some to two at once, until it is acknowledged. The target that is called keeps who called when.

In the end: nothing acknowledged is lost, nothing is stored twice, every job has ended and none has
completed twice, no attempt was called twice or without its record, a target's limit was kept over
all routers, runs of a lane kept their order, no router was declared gone that nothing had befallen.
Calls of a router that was taken for gone may overlap those of the router that took over: they are
counted apart.

`--beside REV`: every other router runs the program of that commit, with what is installed here: a
version and the one before it on one database. The older one makes the tables.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.baseline import NoBaseline
from tests.acceptance.process import ROOT
from tests.faults.telling import say, verdict
from tests.fleet import campaign
from tests.fleet.beside import program_of
from tests.fleet.faults import Kind
from tests.postgres.binaries import MISSING, installed

SHORT: dict[Kind, int] = {
    "stop": 2,
    "promotion": 1,
    "kill": 2,
    "freeze": 1,
    "cut": 1,
    "hole": 1,
    "long_hole": 1,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fleet",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    for kind, count in SHORT.items():
        name = f"--{kind.replace('_', '-')}s"
        parser.add_argument(name, dest=kind, type=int, default=count, metavar="N")
    parser.add_argument("--beside", metavar="REV", help="every other router runs this commit")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    binaries = next(installed(), None)
    if binaries is None:
        say(f"SKIPPED: {MISSING}")
        return 0
    say(f"seed {options.seed}")
    began = time.monotonic()
    counts = {kind: getattr(options, kind) for kind in SHORT}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            programs = _programs(options.beside, folder / "beside")
        except NoBaseline as error:
            say(str(error))
            return 1
        tally = campaign.run(folder, binaries, counts, options.seed, options.nodes, programs)
    return verdict(tally.problems, f"{tally}; {time.monotonic() - began:.0f} s")


def _programs(ref: str | None, folder: Path) -> tuple[Path, ...]:
    """Those that take turns: the other one begins, and so makes the tables. Raises NoBaseline."""
    if ref is None:
        return (ROOT,)
    say(f"every other router is of {program_of(ref, folder)}")
    return (folder, ROOT)


if __name__ == "__main__":
    sys.exit(main())
