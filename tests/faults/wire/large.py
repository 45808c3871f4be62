"""
Fifty deliveries of 25 MiB at once, and again with a router that lets each wait its turn.

    python -m tests.faults.wire.large --bodies 50

The first time the rules file says nothing: what finds no room within 2 s is answered 503. The
second time the wait is long, so that all are taken, two after two. Looked at: the most memory the
router ever held, that every answer is 200 or 503, that what was answered 200 is stored byte for
byte, and that the next small delivery is taken.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import memory, pushes
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess
from tests.faults.telling import say, verdict
from tests.faults.wire.vitals import highest, resident

MEMORY_MIB = 400.0
PATIENT = "  limits: {in_flight_wait: 2m, body_total: 5m, body_idle: 2m, answer: 30s}\n"


@dataclass
class Outcome:
    """One round: answers by kind, and what it took."""

    taken: int = 0
    put_off: int = 0
    seconds: float = 0.0
    idle_mib: float = 0.0
    most_mib: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.taken} taken, {self.put_off} put off (503) in {self.seconds:.1f} s; memory "
            f"{self.idle_mib:.0f} MiB idle, {self.most_mib:.0f} MiB at most; "
            f"{len(self.problems)} problems"
        )


def run(folder: Path, bodies: int, *, server: str = "", size: int = memory.LARGEST) -> Outcome:
    """`bodies` at once against a router of its own."""
    rig = Rig(folder / "router", pushes.rules(20), pushes.ENVIRON, server)
    content = memory.bodies_of(size)
    request = pushes.write_request(rig.listen, folder / "large.http", content=content)
    outcome = Outcome()
    with rig.router() as router:
        small(rig.listen, folder, 1)
        outcome.idle_mib = resident(router)
        began = time.monotonic()
        flood = [sys.executable, "-m", "benchmarks.flood", str(rig.listen), str(request)]
        reported = subprocess.run(
            [*flood, str(bodies), str(bodies), "2"], cwd=ROOT, check=True, capture_output=True
        )
        outcome.seconds = time.monotonic() - began
        found = json.loads(reported.stdout)
        outcome.taken, outcome.put_off = found["ok"], found["busy"]
        outcome.problems += [f"{n} answers: {how}" for how, n in found["others"].items()]
        outcome.most_mib = highest(router)
        outcome.problems += judged(rig, router, outcome, ledger.digest(content))
        if small(rig.listen, folder, 3)["not_200"]:
            outcome.problems.append("the next small delivery was not taken")
    return outcome


def small(port: int, folder: Path, number: int) -> dict[str, int]:
    """Fifty small deliveries, one after the other."""
    push = pushes.write_request(port, folder / "push.http")
    pace = [sys.executable, "-m", "benchmarks.pace", str(port), str(push), "100", "50"]
    reported = subprocess.run([*pace, str(number)], cwd=ROOT, check=True, capture_output=True)
    found: dict[str, int] = json.loads(reported.stdout)
    return found


def judged(rig: Rig, router: RouterProcess, outcome: Outcome, digest: str) -> Iterator[str]:
    """What contradicts the promises."""
    if not router.running:
        yield "the router died"
    if outcome.most_mib > MEMORY_MIB:
        yield f"{outcome.most_mib:.0f} MiB, at most {MEMORY_MIB:.0f}"
    if not outcome.taken:
        yield "not one was taken"
    with ledger.connect(rig.store) as db:
        large = [d for d in ledger.stored(db).values() if d == digest]
    if len(large) < outcome.taken:  # more: stored, and the answer came too late
        yield f"{outcome.taken} answers of 200, {len(large)} stored as they were sent"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bodies", type=int, default=50)
    options = parser.parse_args()
    problems = []
    for name, server in (("as it comes", ""), ("all taken in turn", PATIENT)):
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(Path(folder), options.bodies, server=server)
        say(f"{name}: {outcome}")
        problems += [f"{name}: {problem}" for problem in outcome.problems]
    return verdict(problems, f"{options.bodies} bodies of 25 MiB at once, twice")


if __name__ == "__main__":
    sys.exit(main())
