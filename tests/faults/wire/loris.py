"""
Slow loris: sockets that say nothing, half of a head, or a byte now and then.

    python -m tests.faults.wire.loris --sockets 2000 --seconds 30

A socket that the router ends is opened again at once, until the time is over. Meanwhile a good
sender goes on at a fixed pace, from a process of its own. Looked at: the good sender's p99, how
soon after the end every bad socket is gone, what memory they cost.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import pushes
from tests.acceptance.process import ROOT, Rig
from tests.faults.telling import say, verdict
from tests.faults.wire.vitals import highest, many_files, resident

P99_MS, REAPED_S, MEMORY_MIB = 100.0, 15.0, 50.0
BUSY_MACHINE = 1.5
"""Where the good sender alone needs longer than that, so many times as long is allowed."""

RATE = 100
HALF = b"POST /wh_x HTTP/1.1\r\nHost: h\r\nX-A: "
OPENING = 200
"""So many connections are being made at once."""


@dataclass
class Load:
    """How many sockets, for how long; `server` is more YAML for the router's settings."""

    sockets: int = 2000
    seconds: float = 30.0
    server: str = ""


@dataclass
class Outcome:
    calm_ms: float = 0.0
    p99_ms: float = 0.0
    worst_ms: float = 0.0
    not_200: int = 0
    held: int = 0
    ended: int = 0
    reaped_s: float = 0.0
    grown_mib: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.held} sockets at once, {self.ended} ended by the router; good sender: p99 "
            f"{self.p99_ms:.1f} ms ({self.calm_ms:.1f} ms before), worst {self.worst_ms:.1f} ms, "
            f"{self.not_200} not 200; "
            f"all gone after {self.reaped_s:.1f} s; memory +{self.grown_mib:.0f} MiB; "
            f"{len(self.problems)} problems"
        )


class Loris:
    """Holds the bad sockets open against one port."""

    def __init__(self, port: int, load: Load) -> None:
        self.port = port
        self.load = load
        self.open = 0
        self.most = 0
        self.ended = 0
        self.over = False
        self._gate = asyncio.Semaphore(OPENING)

    async def run(self) -> float:
        """Until the time is over and all are gone; how long the going took, in seconds."""
        tasks = [asyncio.create_task(self._one(n % 3)) for n in range(self.load.sockets)]
        await asyncio.sleep(self.load.seconds)
        self.over, began = True, time.monotonic()
        _, left = await asyncio.wait(tasks, timeout=4 * REAPED_S)
        for task in left:
            task.cancel()
        return time.monotonic() - began

    async def _one(self, kind: int) -> None:
        """One place among the sockets: opened anew when the router ends it."""
        while not self.over:
            try:
                async with self._gate:
                    reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
                continue
            self.open += 1
            self.most = max(self.most, self.open)
            try:
                await self._hold(kind, reader, writer)
            finally:
                self.open -= 1
                self.ended += 1
                writer.transport.abort()

    async def _hold(
        self, kind: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Silent, half a head, or dripping; until the router closes."""
        if kind:
            writer.write(HALF)
        if kind == 2:
            dripping = asyncio.create_task(_drip(writer))
        try:
            while await reader.read(4096):
                pass
        except ConnectionError:
            return
        finally:
            if kind == 2:
                dripping.cancel()


async def _drip(writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        writer.write(b"a")
        await asyncio.sleep(0.9)


def run(folder: Path, load: Load) -> Outcome:
    """One campaign against a router of its own."""
    rig = Rig(folder / "router", pushes.rules(20), pushes.ENVIRON, load.server)
    push = pushes.write_request(rig.listen, folder / "push.http")
    outcome = Outcome()
    with many_files(), rig.router() as router:
        count = int(RATE * load.seconds)
        pace = [sys.executable, "-m", "benchmarks.pace"]
        good = [*pace, str(rig.listen), str(push), str(RATE), "200", "1"]
        alone = subprocess.run(good, cwd=ROOT, check=True, capture_output=True, timeout=60)
        outcome.calm_ms = json.loads(alone.stdout)["p99_ms"]
        before = resident(router)
        loris = Loris(rig.listen, load)
        good = [*pace, str(rig.listen), str(push), str(RATE), str(count), "2"]
        with subprocess.Popen(good, cwd=ROOT, stdout=subprocess.PIPE) as sender:
            outcome.reaped_s = asyncio.run(loris.run())
            reported, _ = sender.communicate(timeout=60)
        outcome.grown_mib = highest(router) - before
        if not router.running:
            outcome.problems.append("the router died")
    found = json.loads(reported)
    outcome.p99_ms, outcome.worst_ms = found["p99_ms"], found["worst_ms"]
    outcome.not_200 = found["not_200"] + count - found["answers"] - found["not_200"]
    outcome.held, outcome.ended = loris.most, loris.ended
    outcome.problems += judged(outcome, load)
    return outcome


def judged(outcome: Outcome, load: Load) -> list[str]:
    """Which promises did not hold."""
    found = []
    if outcome.held < load.sockets:
        found.append(f"only {outcome.held} sockets of {load.sockets} were open at once")
    bound = max(P99_MS, BUSY_MACHINE * outcome.calm_ms)
    if outcome.p99_ms > bound:
        found.append(f"the good sender's p99 is over {bound:.0f} ms")
    if outcome.not_200:
        found.append(f"{outcome.not_200} good requests were not answered 200")
    if outcome.reaped_s > REAPED_S:
        found.append(f"bad sockets were open {outcome.reaped_s:.0f} s after the end")
    if outcome.grown_mib > MEMORY_MIB:
        found.append(f"memory grew by {outcome.grown_mib:.0f} MiB")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sockets", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    say(f"no randomness; {options.seconds:.0f} s and the time the last sockets take")
    with tempfile.TemporaryDirectory() as name:
        outcome = run(Path(name), Load(options.sockets, options.seconds))
    return verdict(outcome.problems, str(outcome))


if __name__ == "__main__":
    sys.exit(main())
