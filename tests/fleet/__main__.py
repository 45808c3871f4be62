"""
Four routers on one PostgreSQL, under load, while everything befalls them that may.

    python -m tests.fleet                                               a minute
    python -m tests.fleet --stops 300 --kills 200 --freezes 100 --cuts 50 --holes 25 --long-holes 25

PostgreSQL (fsync and synchronous_commit on) is stopped as a crash leaves it; routers are killed, or
stopped (SIGSTOP) until the others take over and then go on as if nothing had been; their links to
the database are cut, or hold up what is sent. Meanwhile senders send each delivery, to any router
and some to two at once, until it is acknowledged. The target that is called keeps who called when.

In the end: nothing acknowledged is lost, nothing is stored twice, every job has ended and none has
completed twice, no attempt was called twice or without its record, a target's limit was kept over
all routers, runs of a lane kept their order, no router was declared gone that nothing had befallen.
Calls of a router that was taken for gone may overlap those of the router that took over: they are
counted apart.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.telling import say, verdict
from tests.fleet import campaign
from tests.fleet.faults import Kind
from tests.postgres.binaries import MISSING, installed

SHORT: dict[Kind, int] = {
    "stop": 2,
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
        tally = campaign.run(Path(name), binaries, counts, options.seed, options.nodes)
    return verdict(tally.problems, f"{tally}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
