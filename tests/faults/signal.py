"""
The signal under bad listeners: what they do to acknowledgements, to memory and to a good one.

    python -m tests.faults.signal --stalled 50 --flapping 1000 --rounds 10

A real router takes signed deliveries at a fixed pace: alone, and with listeners that never read,
listeners that come and go all the time, and one good one. The ack latencies of both are printed
with their ratio (`halves` says how that is made fair); p99 may be `--bound` per cent worse (0: any,
and the rounds of a busy machine count too). The good one must hear that something changed, ten
times a second at most, and then get every delivery once; when all have left, the router must hold
nothing.
"""

import argparse
import asyncio
import contextlib
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import pushes
from router.web.signal import PAUSE_S
from router.web.signal_stream import CHANGED, HELLO
from tests.acceptance.process import Rig, RouterProcess
from tests.faults.halves import Figures, Pushes, measured

AT_ONCE = 20
"""Flapping listeners at one time."""
LIFE_S = 0.3
PATIENCE_S = 60.0


@dataclass
class Load:
    """How many of each, and how long. `rate` is deliveries a second, `bound` per cent of p99."""

    stalled: int = 50
    flapping: int = 1000
    rate: int = 500
    seconds: int = 10
    rounds: int = 10
    bound: int = 5


@dataclass
class Tally:
    """What came of it. Memory in MiB."""

    figures: Figures = field(default_factory=Figures)
    flapped: int = 0
    received: int = 0
    memory: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        last = (
            f"{self.flapped} listeners came and went, "
            f"a good one got {self.received} deliveries; "
            f"memory {', '.join(f'{m:.0f}' for m in self.memory)} MiB"
        )
        return "\n".join([*self.figures.reported("listeners"), last])


class Campaign:
    """A router in `folder`, and listeners of all kinds."""

    def __init__(
        self,
        folder: Path,
        load: Load,
        rng: random.Random,
        reported: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.rig = Rig(folder / "router", pushes.rules(20), dict(pushes.ENVIRON))
        self.pushes = Pushes(self.rig, folder / "push.http", load.rate)
        self.load = load
        self.rng = rng
        self.reported = reported
        self.tally = Tally()
        self.handles = self.signals = 0

    async def run(self) -> Tally:
        with self.rig.router() as router:
            await self.pushes.send(min(1.0, self.load.seconds))  # warm
            self.handles = router.open_files()
            figures, problems = await measured(
                router, self.pushes, self.load, self._watched, self.reported
            )
        self.tally.figures = figures
        self.tally.problems += problems
        return self.tally

    async def _watched(self, router: RouterProcess) -> dict[str, float]:
        async with self._stalled(), self._good(), self._flapping():
            found = await self.pushes.send(self.load.seconds)
            self.tally.memory.append(_memory(router))
        await self._until_left(router)
        return found

    @contextlib.asynccontextmanager
    async def _stalled(self) -> AsyncIterator[None]:
        """Listeners that ask and then read nothing."""
        links = [self._link() for _ in range(self.load.stalled)]
        try:
            yield
        finally:
            for link in links:
                link.close()

    def _link(self) -> socket.socket:
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", self.rig.admin))
        link.sendall(self._ask())
        return link

    @contextlib.asynccontextmanager
    async def _flapping(self) -> AsyncIterator[None]:
        """Listeners that come and go, all of them within the round."""
        left = iter(range(self.load.flapping))

        async def flap() -> None:
            for _ in left:
                await self._come_and_go()
                self.tally.flapped += 1

        flapping = [asyncio.create_task(flap()) for _ in range(AT_ONCE)]
        try:
            yield
        finally:
            for ended in await asyncio.gather(*flapping, return_exceptions=True):
                if ended is not None:
                    self.tally.problems.append(f"a listener could not come: {ended!r}")

    async def _come_and_go(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.rig.admin)
        writer.write(self._ask())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            self.tally.problems.append(f"a listener was refused: {head[:40]!r}")
        await asyncio.sleep(self.rng.uniform(0.0, LIFE_S * self.load.seconds / 10))
        if self.rng.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()

    @contextlib.asynccontextmanager
    async def _good(self) -> AsyncIterator[None]:
        """A listener that reads all, and afterwards asks for the deliveries."""
        begin = (await self._after("since=now"))["cursor"]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.rig.admin)
        writer.write(self._ask())
        await reader.readuntil(HELLO)
        started = time.monotonic()
        reading = asyncio.create_task(self._hear(reader))
        try:
            yield
            async with asyncio.timeout(PATIENCE_S):
                await self._judge(begin)
            most = (time.monotonic() - started) / PAUSE_S + 1
            if not 0 < self.signals <= most:
                self.tally.problems.append(f"a good listener got {self.signals} signals")
        finally:
            reading.cancel()
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        self.signals = 0
        while line := await reader.readline():
            self.signals += line == CHANGED.partition(b"\n")[0] + b"\n"
        self.tally.problems.append("a good listener was cut off")

    async def _judge(self, cursor: str) -> None:
        """Every delivery since then comes once."""
        wanted, received = int(self.load.rate * self.load.seconds), list[str]()
        while len(received) < wanted:
            page = await self._after(f"limit=100&cursor={cursor}")
            received += [one["id"] for one in page["deliveries"]]
            cursor = page["cursor"]
        self.tally.received += len(received)
        if len(set(received)) != len(received):
            self.tally.problems.append("a good listener got a delivery twice")

    async def _after(self, query: str) -> Any:
        url = f"http://127.0.0.1:{self.rig.admin}/api/deliveries/after?{query}"
        headers = {"authorization": f"Bearer {self._token()}"}
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            return (await client.get(url, headers=headers)).json()

    async def _until_left(self, router: RouterProcess) -> None:
        """When all have gone, their connections have gone, too."""
        async with asyncio.timeout(PATIENCE_S):
            while router.open_files() > self.handles + 2:  # noqa: ASYNC110 - another process's
                await asyncio.sleep(0.05)

    def _ask(self) -> bytes:
        head = f"host: 127.0.0.1\r\nauthorization: Bearer {self._token()}\r\n\r\n"
        return f"GET /api/signal HTTP/1.1\r\n{head}".encode()

    def _token(self) -> str:
        return Path(f"{self.rig.store}.token").read_text("ascii").strip()


def _memory(router: RouterProcess) -> float:
    """What the router holds now, in MiB."""
    assert router.process is not None
    status = Path(f"/proc/{router.process.pid}/status").read_text("ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in vars(Load()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = vars(parser.parse_args())
    seed = given.pop("seed")
    sys.stdout.write(f"seed {seed}\n")
    load = Load(**given)
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(
            Path(name),
            load,
            random.Random(seed),
            lambda line: print(line, flush=True),  # noqa: T201
        )
        tally = asyncio.run(campaign.run())
    sys.stdout.write(f"{tally}\n")
    for problem in tally.problems[:20]:
        sys.stdout.write(f"PROBLEM {problem}\n")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
