"""
A log that nobody can write to.

    python -m tests.faults.logs                all of it, a few seconds
    python -m tests.faults.logs stalled gone   some of it

    stalled   whoever reads the log stops reading (journald hangs, a pager waits), and later goes on
    gone      the pipe's reader has ended
    full      the log's disk is full
    stopped   the terminal is stopped (Ctrl-S), and later goes on

Each time: deliveries are answered as ever, their jobs run, /livez answers, and SIGTERM ends the
router in time. Where lines were lost the log says how many, as soon as it can be written again.
"""

import os
import pty
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterDied, RouterProcess, TookTooLong
from tests.acceptance.senders import environ
from tests.faults.life import PLAIN_RULES, Life, wait_for
from tests.faults.slow import probe
from tests.faults.telling import by_parts, reported

DELIVERIES = 1_500
"""Two lines of the log each: more than a pipe holds, and than the router keeps for one."""
AT_ONCE = 8
SLOW_S = 2.5
"""Who waits for the log waits for ever; this is what an answer may take on any machine."""
LOST = re.compile(rb'lines(?:":|=)(\d+)')
END_S, RUN_S = 10.0, 20.0


class Reader:
    """The reading end of a log."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.text = b""

    def until(self, wanted: Callable[[bytes], object], seconds: float = 10.0) -> bool:
        """Read on until what came is as wanted."""
        deadline = time.monotonic() + seconds
        while not wanted(self.text) and (left := deadline - time.monotonic()) > 0:
            if select.select([self.end], [], [], left)[0]:
                self.text += os.read(self.end, 65_536)
        return bool(wanted(self.text))


@contextmanager
def piped() -> Iterator[tuple[int, Reader]]:
    """A pipe: its writing end, and its reader."""
    read, write = os.pipe()
    reader = Reader(read)
    try:
        yield write, reader
    finally:
        os.close(write)
        if reader.end >= 0:
            os.close(read)


def taken(life: Life, router: RouterProcess, at: str, count: int = DELIVERIES) -> str:
    """Deliveries: each 200 and soon, each job run, and the loop goes on."""
    first, life.number = life.number + 1, life.number + count
    with ThreadPoolExecutor(AT_ONCE) as senders:
        answers = list(senders.map(life.send, range(first, life.number + 1)))
    bad = [a for a in answers if a.status != 200 or a.seconds > SLOW_S]
    slowest = max(a.seconds for a in answers)
    if bad:
        life.problems.append(f"{at}: {len(bad)} of {count}, as {bad[0]}")
    if not wait_for(lambda: ran(life) == len(life.acked), RUN_S):
        life.problems.append(f"{at}: {ran(life)} of {len(life.acked)} jobs have run")
    status, took = probe(router, "/livez", 2.0)
    if status != 200:
        life.problems.append(f"{at}: /livez says {status or 'nothing'} after {took:.1f} s")
    return f"{count} taken, slowest {slowest * 1000:.0f} ms"


def ran(life: Life) -> int:
    return ledger.counts(life.rig.store).succeeded


def ends(life: Life, router: RouterProcess, at: str) -> None:
    began = time.monotonic()
    if (code := router.stop(within=END_S)) != 0:
        life.problems.append(f"{at}: SIGTERM: {code} after {time.monotonic() - began:.1f} s")


def told_of(life: Life, reader: Reader, at: str) -> str:
    """The line that says how many are missing, once the log can be written again."""
    if not reader.until(LOST.search):
        life.problems.append(f"{at}: nothing says that lines were lost")
        return ", unsaid"
    found = LOST.search(reader.text)
    assert found is not None
    return f", {int(found[1])} lines lost and told"


def stalled(life: Life) -> str:
    with piped() as (end, reader), router_on(life, end) as router:
        line = taken(life, router, "stalled")
        line += told_of(life, reader, "stalled")
        ends(life, router, "stalled, read again")
    with piped() as (end, _), router_on(life, end) as router:
        taken(life, router, "stalled")
        ends(life, router, "stalled, at the end")
    return line


def gone(life: Life) -> str:
    with piped() as (end, reader), router_on(life, end) as router:
        os.close(reader.end)
        reader.end = -1
        line = taken(life, router, "gone", 50)
        ends(life, router, "gone")
    return line


def full(life: Life) -> str:
    end = os.open("/dev/full", os.O_WRONLY)
    try:
        with router_on(life, end) as router:
            line = taken(life, router, "full", 50)
            ends(life, router, "full")
    finally:
        os.close(end)
    return line


def stopped(life: Life) -> str:
    master, slave = pty.openpty()
    tty.setraw(slave)
    try:
        with router_on(life, slave) as router:
            termios.tcflow(slave, termios.TCOOFF)
            line = taken(life, router, "stopped")
            termios.tcflow(slave, termios.TCOON)
            line += told_of(life, Reader(master), "stopped")
            ends(life, router, "stopped")
    finally:
        os.close(master)
        os.close(slave)
    return line


@contextmanager
def router_on(life: Life, out: int) -> Iterator[RouterProcess]:
    """A router that prints to this descriptor, and is ready."""
    router = life.rig.router()
    router.out = out
    with router:
        yield router


PARTS: dict[str, Callable[[Life], str]] = {
    "stalled": stalled,
    "gone": gone,
    "full": full,
    "stopped": stopped,
}


def campaign(folder: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Each on a store of its own; problems, and a line each."""
    problems, lines = [], []
    for name in reported(names, "parts"):
        life = Life(Rig(folder / name, PLAIN_RULES, environ()))
        try:
            lines.append(f"{name}: {PARTS[name](life)}")
        except (RouterDied, TookTooLong) as error:
            life.problems.append(f"{name}: {error}")
        problems += life.problems
        problems += [f"{name}: {p}" for p in ledger.problems(life.rig.store, life.acked)]
    return problems, lines


def main() -> int:
    return by_parts(__doc__, list(PARTS), campaign)


if __name__ == "__main__":
    sys.exit(main())
