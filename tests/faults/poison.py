"""
A few jobs that crash whatever runs them, among many that do not.

    python -m tests.faults.poison --count 10000 --bad 10      both parts, under a minute
    python -m tests.faults.poison plugin

    plugin   the job's plugin ends its own process: that is one attempt, and the next job gets
             another process
    router   the job's plugin kills the router: whoever looks after it starts it again

Either way the bad ones must be dead after three times each and all others done, at the cost of
three restarts for each bad one at most. A plugin writes down each call, so that its side is known.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import backlog, pushes
from tests import ledger
from tests.acceptance.process import POLL_S, Rig, RouterProcess
from tests.faults.telling import reported, say, verdict
from tests.ledger import STATE

TIMES = 3
PATIENCE_S = 300.0
PROCESSES, JOBS_EACH = 4, 1_000
"""Of plugins: how many run, and how many jobs each does before another takes its place."""
PLUGIN = """\
import os, pathlib, signal

ROUTER = os.getppid()

def router_dies():
    # Only our own parent, and only if it is the router: an orphan's parent is somebody else.
    command = pathlib.Path(f"/proc/{ROUTER}/cmdline").read_bytes().split(b"\\0")
    if os.getppid() == ROUTER and b"router" in command and b"serve" in command:
        os.kill(ROUTER, signal.SIGKILL)
        signal.pause()

with open("started", "a") as file:
    file.write(f"{os.getpid()}\\n")

def work(event, context):
    number = int(event.idempotency_key.rpartition("_")[2])
    bad = number % EVERY == 0
    with open("bad" if bad else "good", "a") as file:
        file.write(f"{number}\\n")
    if bad:
        CRASH
"""
CRASHES = {
    "plugin": "os.kill(os.getpid(), signal.SIGSEGV)",
    "router": "router_dies()",
}
REASONS = "SELECT id, state, reason, attempt FROM jobs WHERE state != ?"


@dataclass
class Tally:
    """
    What one part came to. `restarts` are those of plugins' processes, or of the router; `again` are
    runs of other jobs beyond their first.
    """

    part: str
    count: int
    bad: int
    restarts: int = 0
    crashes: int = 0
    dead: int = 0
    done: int = 0
    again: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.part}: {self.bad} of {self.count} jobs crash: {self.dead} dead, {self.done} "
            f"done, {self.crashes} crashes, {self.restarts} restarts, {self.again} others begun "
            f"again; {self.seconds:.0f} s; {len(self.problems)} problems"
        )


def a_rig(folder: Path, part: str, count: int, bad: int) -> Rig:
    """So many jobs that wait, each a call of the plugin."""
    action = "python: {call: 'poison:work'}, retry: {schedule: [200ms, 400ms], jitter: 0.1}"
    rig = Rig(folder, pushes.rules(1, action=action), pushes.ENVIRON)
    (folder / "plugins").mkdir()
    text = PLUGIN.replace("EVERY", str(count // bad)).replace("CRASH", CRASHES[part])
    (folder / "plugins" / "poison.py").write_text(text, "utf-8")
    asyncio.run(backlog.seed(rig, count, kind="python", target="main/python"))
    return rig


def run(folder: Path, part: str, count: int, bad: int) -> Tally:
    rig, tally = a_rig(folder, part, count, bad), Tally(part, count, bad)
    began = time.monotonic()
    router = rig.router().launch()
    try:
        for share in reported(range(1, 101), f"{part}, hundredths"):
            upto = count * share // 100
            router = kept_up(router, tally, lambda upto=upto: ended(rig) >= upto)  # type: ignore[misc]
        router = kept_up(router, tally, router.ready)
        if router.stop() != 0:
            tally.problems.append("the router did not end well")
    except TimeoutError as error:
        tally.problems.append(str(error))
    finally:
        if router.running:
            router.kill()
    tally.seconds = time.monotonic() - began
    looked_at(rig, tally)
    return tally


def kept_up(router: RouterProcess, tally: Tally, true: Callable[[], bool]) -> RouterProcess:
    """Start the router again whenever it has ended, until it is true; the one that runs."""
    until = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > until:
            raise TimeoutError(f"jobs do not end:\n{router.output()}")
        if router.ended(within=POLL_S) is not None:
            tally.restarts += 1
            if tally.restarts > TIMES * tally.bad:
                raise TimeoutError(f"started again {tally.restarts} times:\n{router.output()}")
            router = router.launch()
    return router


def ended(rig: Rig) -> int:
    """How many jobs are done or dead."""
    with closing(ledger.connect(rig.store)) as db:
        found = db.execute("SELECT count(*) FROM jobs WHERE state > 3").fetchone()
    return int(found[0])


def looked_at(rig: Rig, tally: Tally) -> None:
    """The ledger's and the plugin's word on it."""
    good, bad = (lines(rig.folder / name) for name in ("good", "bad"))
    tally.crashes = bad.total()
    if tally.part == "plugin":  # the pool's first processes, and those that had done their share
        usual = PROCESSES + tally.count // JOBS_EACH
        tally.restarts = max(0, lines(rig.folder / "started").total() - usual)
    with closing(ledger.connect(rig.store, mend=True)) as db:
        rest = db.execute(REASONS, (STATE["succeeded"],)).fetchall()
    dead = {int(name[4:]) for name, state, *_ in rest if state == STATE["dead"]}
    tally.dead, tally.done = len(dead), ledger.counts(rig.store).succeeded
    tally.again = sum(times - 1 for times in good.values())
    tally.problems += wrong(tally, dead, good, bad)


def wrong(tally: Tally, dead: set[int], good: Counter[int], bad: Counter[int]) -> list[str]:
    every = tally.count // tally.bad
    poison = {every * n for n in range(1, tally.bad + 1)}
    most = TIMES * tally.bad
    again = 1 if tally.part == "plugin" else TIMES  # what ran beside one may have to run again
    return [
        *(f"job {n} is dead and did nothing bad" for n in sorted(dead - poison)),
        *(f"job {n} crashes and is not dead" for n in sorted(poison - dead)),
        *(f"job {n} crashed {bad[n]} times" for n in sorted(poison) if bad[n] > TIMES),
        *([] if tally.done == tally.count - tally.bad else [f"only {tally.done} are done"]),
        *([] if tally.restarts <= most else [f"{tally.restarts} restarts, {most} at most"]),
        *(f"job {n} ran {times} times" for n, times in good.items() if times > again),
        *([] if len(good) == tally.count - tally.bad else [f"only {len(good)} others ran"]),
    ]


def lines(place: Path) -> Counter[int]:
    """How often each number stands in a file of the plugin."""
    return Counter(map(int, place.read_text("ascii").split()))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*CRASHES, []], help="all if none is named")
    parser.add_argument("--count", type=int, default=10_000, help="jobs (10000)")
    parser.add_argument("--bad", type=int, default=10, help="of which so many crash (10)")
    options = parser.parse_args(given)
    if not 1 <= options.bad <= options.count:
        parser.error("--bad is 1 at least, and --count at most")
    say("seed 0 (nothing here is drawn)")
    problems: list[str] = []
    for part in options.parts or list(CRASHES):
        with tempfile.TemporaryDirectory() as name:
            tally = run(Path(name), part, options.count, options.bad)
        say(str(tally))
        problems += tally.problems
    return verdict(problems, f"{len(problems)} problems")


if __name__ == "__main__":
    sys.exit(main())
