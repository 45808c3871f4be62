"""
Ten times as much as the router can take: it goes on taking what it can.

    python -m tests.faults.wire.overload --seconds 10

The rules of this router are costly on purpose, so that a generator can overwhelm it. First its
peak is found, by a few connections that wait for each answer. Then deliveries come at ten times
that rate, whether or not earlier ones were answered, on up to 2,000 connections. Looked at: how
many were answered 200 a second and in time (at least 90 % of the peak), how soon the others were
refused, that nothing is answered but 200 and 503, and that an ordinary pace is served as before.
"""

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import pushes
from tests import ledger
from tests.acceptance.process import Rig
from tests.faults.telling import say, verdict
from tests.faults.wire.vitals import highest, many_files, share
from tests.wire.sending import read_answer

TIMES, CLOSED, MOST = 10, 8, 2000
GOODPUT, REFUSED_S, CALM_S = 0.9, 0.5, 10.0
CALM_MS = 100.0
IN_TIME_S = 5.0
"""Shopify, the least patient of the three, waits so long for an answer."""

COSTLY = 600
"""So many rules look through all commits of each push."""


def rules(count: int = COSTLY) -> str:
    text = pushes.HEAD + "rules:\n"
    for number in range(count):
        text += (
            f"  - id: look-{number}\n    from: code\n    match: length(payload.commits"
            f"[?contains(message, 'no-{number}')]) > 0\n    actions: {{log: no}}\n"
        )
    return text


@dataclass
class Load:
    """What one phase came to. Seconds; `good` are the answers of 200."""

    good: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unanswered: int = 0
    seconds: float = 0.0
    offered: int = 0

    @property
    def rate(self) -> float:
        """Answers of 200 a second that came before a sender would have given up."""
        return sum(took <= IN_TIME_S for took in self.good) / max(self.seconds, 0.001)

    def __str__(self) -> str:
        return (
            f"{self.offered / max(self.seconds, 0.001):,.0f}/s offered, {self.rate:,.0f}/s taken "
            f"in time (p50 {share(self.good, 0.5):.2f} s, p99 {share(self.good, 0.99):.2f} s), "
            f"{len(self.refused)} refused (p50 {share(self.refused, 0.5):.2f} s, "
            f"p95 {share(self.refused, 0.95):.2f} s, p99 {share(self.refused, 0.99):.2f} s), "
            f"{self.unanswered} without answer"
        )


class Crowd:
    """Senders of one kind of delivery; `number` keeps this phase's ids apart."""

    def __init__(self, port: int, number: int) -> None:
        self.port = port
        self.number = number
        self.load = Load()
        self.head, self.tail = pushes.request(port).split(pushes.SLOT, 1)

    def request(self) -> bytes:
        self.load.offered += 1
        name = b"%08x-0000-4000-8000-%012x" % (self.number, self.load.offered)
        return self.head + name + self.tail

    async def closed(self, connections: int, seconds: float) -> Load:
        """Each connection sends the next when it has its answer."""
        end = time.monotonic() + seconds
        began = time.monotonic()
        await asyncio.gather(*(self._keep(end) for _ in range(connections)))
        self.load.seconds = time.monotonic() - began
        return self.load

    async def _keep(self, end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while time.monotonic() < end:
            if not await self._ask(reader, writer):
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.close()

    async def open(self, rate: float, seconds: float) -> Load:
        """One more every 1 / `rate` seconds, as long as there is a connection for it."""
        free: deque[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = deque()
        tasks: set[asyncio.Task[None]] = set()
        began, sent = time.monotonic(), 0
        while (now := time.monotonic()) < began + seconds:
            due = int((now - began) * rate) - sent
            for _ in range(min(due, MOST - len(tasks))):
                task = asyncio.create_task(self._once(free))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            sent += due
            await asyncio.sleep(0.002)
        self.load.seconds = time.monotonic() - began
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=5)
            self.load.unanswered += len(left)
            for task in left:
                task.cancel()
        return self.load

    async def _once(self, free: deque[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
        try:
            pair = free.popleft() if free else await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            self.load.others.append(repr(error))
            return
        if await self._ask(*pair):
            free.append(pair)
        else:
            pair[1].close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One delivery; whether the connection can take another."""
        began = time.monotonic()
        try:
            writer.write(self.request())
            answer = await read_answer(reader)
        except (ConnectionError, ValueError) as error:
            self.load.others.append(repr(error))
            return False
        took = time.monotonic() - began
        if answer is None:
            self.load.others.append("closed")
        elif answer.status == 200:
            self.load.good.append(took)
        elif answer.status == 503:
            self.load.refused.append(took)
        else:
            self.load.others.append(str(answer.status))
        return answer is not None and not answer.closed


@dataclass
class Outcome:
    """`wrong`: of the `problems`, those that no busy machine explains."""

    peak: Load
    flood: Load
    calm: Load
    memory_mib: float
    wrong: list[str]
    problems: list[str] = field(default_factory=list)

    @property
    def goodput(self) -> float:
        """What was taken in time of the flood, to the peak."""
        return self.flood.rate / max(self.peak.rate, 0.001)

    def __str__(self) -> str:
        return (
            f"peak: {self.peak}\nflood: {self.flood}\nafter: {self.calm}\n"
            f"goodput {100 * self.goodput:.0f} % of the peak; {self.memory_mib:.0f} MiB at most; "
            f"{len(self.problems)} problems"
        )


def phase(kind: str, port: int, number: int, amount: float, seconds: float) -> Load:
    """Run one phase in a process of its own, so that it shares no loop with what watches."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: Load = pool.apply(_phase, (kind, port, number, amount, seconds))
    return found


def _phase(kind: str, port: int, number: int, amount: float, seconds: float) -> Load:
    crowd = Crowd(port, number)
    if kind == "closed":
        return asyncio.run(crowd.closed(int(amount), seconds))
    return asyncio.run(crowd.open(amount, seconds))


def run(folder: Path, seconds: float) -> Outcome:
    """Peak, flood, calm, against one router."""
    rig = Rig(folder / "router", rules(), pushes.ENVIRON)
    with many_files(), rig.router() as router:
        phase("closed", rig.listen, 1, CLOSED, 1.0)
        peak = phase("closed", rig.listen, 2, CLOSED, max(2.0, seconds / 3))
        flood = phase("open", rig.listen, 3, TIMES * peak.rate, seconds)
        calm = phase("open", rig.listen, 4, peak.rate / 4, max(2.0, seconds / 3))
        outcome = Outcome(peak, flood, calm, highest(router), [])
        if router.stop() != 0:
            outcome.wrong.append("the router did not end well")
    outcome.wrong += contradictions(outcome, rig)
    outcome.problems += outcome.wrong + late(outcome)
    return outcome


def late(outcome: Outcome) -> list[str]:
    """What did not come in time."""
    found = []
    peak, flood, calm = outcome.peak, outcome.flood, outcome.calm
    if outcome.goodput < GOODPUT:
        found.append(f"goodput {flood.rate:.0f}/s, peak {peak.rate:.0f}/s")
    if share(flood.refused, 0.95) > REFUSED_S:  # the first wave is taken for a burst, and waits
        found.append(f"refusals took {share(flood.refused, 0.95):.1f} s")
    if calm.refused or share(calm.good, 0.99) * 1000 > CALM_MS:
        found.append(f"after the flood: {calm}")
    return found


def contradictions(outcome: Outcome, rig: Rig) -> list[str]:
    """Answers that must not be, and what the ledger says of them."""
    found = []
    peak, flood, calm = outcome.peak, outcome.flood, outcome.calm
    others = {*peak.others, *flood.others, *calm.others}
    if others or flood.unanswered:
        found.append(f"neither 200 nor 503: {sorted(others)[:5]}, {flood.unanswered} unanswered")
    stored = ledger.counts(rig.store).deliveries
    acked = sum(len(load.good) for load in (peak, flood, calm))
    if stored < acked:
        found.append(f"{acked} answered 200, {stored} stored")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    say(f"about {3 * options.seconds:.0f} s")
    with tempfile.TemporaryDirectory() as name:
        outcome = run(Path(name), options.seconds)
    return verdict(outcome.problems, str(outcome))


if __name__ == "__main__":
    sys.exit(main())
