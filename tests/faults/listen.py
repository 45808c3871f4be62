"""
`router listen`, killed and started again under load: every delivery arrives, in order.

    python -m tests.faults.listen --cycles 50

One real router takes signed deliveries over several connections all the time. A listener forwards
them to a target in this process and is killed (SIGKILL) at a random moment, again and again, always
with the same checkpoint. In the end a last listener forwards what is left, and what the target got
is compared with the ledger: all of it, in its order; a delivery may come twice only around a kill,
and then one right behind the other.
"""

import argparse
import asyncio
import contextlib
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import ROOT, Rig
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.faults.kill import Client, progress
from tests.sink import Sink, running_sink

RULES = ENDPOINTS + (
    "rules:\n  - {id: main, from: code, events: push, actions: {log: 'push {{ payload.id }}'}}\n"
)
CONNECTIONS = 3
PAUSE_S = 0.01
LONGEST_S = 0.6
PATIENCE_S = 60.0


@dataclass
class Tally:
    """What all cycles came to."""

    cycles: int = 0
    stored: int = 0
    arrived: int = 0
    twice: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.cycles} cycles: {self.stored} stored, {self.arrived} arrived, {self.twice} of "
            f"them twice (at a kill), {len(self.problems)} problems"
        )


class Campaign:
    """A router in `folder`, its load, and one listener after another."""

    def __init__(
        self, folder: Path, rng: random.Random, reported: Callable[[str], None] = lambda line: None
    ) -> None:
        self.rig = Rig(folder / "router", RULES, environ())
        self.checkpoint = folder / "checkpoint.json"
        self.log = folder / "listen.log"
        self.rng = rng
        self.reported = reported
        self.tally = Tally()

    async def run(self, cycles: int) -> Tally:
        with self.rig.router():
            async with running_sink() as sink:
                async with self._load():
                    for _ in range(cycles):
                        await self._cycle(sink)
                await self._finish(sink)
                self._compare(sink)
        return self.tally

    @contextlib.asynccontextmanager
    async def _load(self) -> AsyncIterator[None]:
        """Deliveries over several connections, as long as it lasts."""
        client = Client(self.rig.listen, code(), int(time.time() * 1000))
        sending = [asyncio.create_task(self._send(client)) for _ in range(CONNECTIONS)]
        try:
            yield
        finally:
            for task in sending:
                task.cancel()
            for ended in await asyncio.gather(*sending, return_exceptions=True):
                if not isinstance(ended, asyncio.CancelledError):
                    self.tally.problems.append(f"the load ended: {ended!r}")
        self.tally.problems += client.refused

    async def _send(self, client: Client) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.rig.listen)
        try:
            while True:
                client.number += 1
                await client.send(client.number, reader, writer)
                await asyncio.sleep(PAUSE_S)
        finally:
            writer.close()

    async def _cycle(self, sink: Sink) -> None:
        """One listener: it gets something through, and is killed soon after."""
        before = len(sink.seen)
        process = await self._listen(sink, "--since", "start")
        await self._until(lambda: len(sink.seen) > before, process)
        await asyncio.sleep(self.rng.uniform(0.0, LONGEST_S))
        process.kill()
        await process.wait()
        self.tally.cycles += 1
        self.reported(f"{self.tally.cycles} cycles: {len(sink.seen)} arrived")

    async def _finish(self, sink: Sink) -> None:
        process = await self._listen(sink, "--once")
        async with asyncio.timeout(PATIENCE_S):
            if await process.wait() != 0:
                self.tally.problems.append(f"the last listener failed: {self._output()}")

    async def _listen(self, sink: Sink, *options: str) -> asyncio.subprocess.Process:
        to, server = f"{sink.url}/status/200", f"http://127.0.0.1:{self.rig.admin}"
        token = Path(f"{self.rig.store}.token").read_text("ascii").strip()
        plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
        with self.log.open("ab") as out:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "router", "listen", "--to", to, "--server", server),
                *("--checkpoint", str(self.checkpoint), *options),
                cwd=ROOT,
                env={**plain, "ROUTER_TOKEN": token},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    async def _until(self, true: Callable[[], bool], process: asyncio.subprocess.Process) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                if process.returncode is not None:
                    raise RuntimeError(f"the listener ended: {self._output()}")
                await asyncio.sleep(0.005)

    def _output(self) -> str:
        return self.log.read_text("utf-8", "replace")[-2000:]

    def _compare(self, sink: Sink) -> None:
        stored = in_ledger(self.rig.store)
        arrived = [dict(seen.headers)["router-delivery"] for seen in sink.seen]
        first = [id_ for place, id_ in enumerate(arrived) if [id_] != arrived[place - 1 : place]]
        self.tally.stored, self.tally.arrived = len(stored), len(arrived)
        self.tally.twice = len(arrived) - len(first)
        missing = set(stored) - set(arrived)
        if missing:
            self.tally.problems.append(f"{len(missing)} missing, one is {sorted(missing)[0]}")
        elif first != stored:
            self.tally.problems.append("not in the order of the ledger, or again at another place")
        if self.tally.twice > self.tally.cycles:
            self.tally.problems.append("more came twice than there were kills")


def in_ledger(store: Path) -> list[str]:
    """The ids of the stored deliveries in the order of their commits."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT id FROM deliveries ORDER BY n")]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name), random.Random(options.seed), progress)
        tally = asyncio.run(campaign.run(options.cycles))
    sys.stdout.write(f"\n{tally}; {time.monotonic() - started:.0f} s\n")
    for problem in tally.problems[:20]:
        sys.stdout.write(f"PROBLEM {problem}\n")
    return 1 if tally.problems or tally.cycles < options.cycles else 0


if __name__ == "__main__":
    sys.exit(main())
