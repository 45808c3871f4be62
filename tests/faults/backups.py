"""
Backups made under load, each restored and looked through.

    python -m tests.faults.backups --rounds 50

While a router takes deliveries over several connections, `router store backup` copies its store,
and `router store restore` puts the copy in the place of another router's store, again and again.
That must be sound and hold every delivery acknowledged before the backup was asked for, byte for
byte; and every few rounds the other router is started on it and must bring every job to its end.
Nothing is sent while a copy is looked through: on a slow machine the store would grow by as much
as that takes, and looking through the next one would take the longer.
"""

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig
from tests.acceptance.senders import code, environ
from tests.acceptance.test_operate import called
from tests.faults.kill import Client
from tests.faults.life import PLAIN_RULES
from tests.faults.telling import by_count, reported

CONNECTIONS = 4
STARTED_EVERY = 10
PAUSE_S = (0.0, 0.3)
STORE_ROUNDS = 10
"""After so many rounds a new store is begun, so that looking at all of it stays cheap."""


@dataclass
class Tally:
    rounds: int = 0
    restored: int = 0
    started: int = 0
    acked: int = 0
    refused: int = 0
    slowest: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.rounds} backups under load, {self.restored} restored whole, {self.started} "
            f"of them served from; {self.acked} acknowledgements looked for, slowest backup "
            f"{self.slowest:.1f} s; {len(self.problems)} problems"
        )


@asynccontextmanager
async def load(client: Client) -> AsyncIterator[None]:
    """Deliveries come over several connections without a pause."""
    sending = [asyncio.create_task(client.keep_sending()) for _ in range(CONNECTIONS)]
    try:
        yield
    finally:
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)


async def backed_up(
    rig: Rig, copy: Path, pause: float, client: Client, tally: Tally
) -> dict[str, str]:
    """Wait, then copy while deliveries come; what was acknowledged before that was asked for."""
    await asyncio.sleep(pause)
    before = dict(client.acked)
    began = time.monotonic()
    status, _, said = await asyncio.to_thread(called, rig, "store", "backup", str(copy))
    tally.slowest = max(tally.slowest, time.monotonic() - began)
    if status:
        tally.problems.append(f"round {tally.rounds}: backup ended with {status}: {said[-300:]}")
    return before


def restored(copy: Path, other: Rig, before: dict[str, str], tally: Tally) -> None:
    where = f"round {tally.rounds}"
    status, _, said = called(other, "store", "restore", str(copy), "--yes")
    if status:
        tally.problems.append(f"{where}: restore ended with {status}: {said[-300:]}")
        return
    found = ledger.problems(other.store, before, mend=True)
    tally.acked += len(before)
    tally.restored += not found
    tally.problems += [f"{where}: {one}" for one in found]
    if tally.rounds % STARTED_EVERY == 0 and not found:
        with other.router() as router:
            router.until(lambda: all_done(other.store), "all jobs of the restored store to end")
            tally.started += router.stop() == 0


async def one_store(folder: Path, rounds: int, rng: random.Random, tally: Tally) -> None:
    rig, other = (Rig(folder / name, PLAIN_RULES, environ()) for name in ("one", "other"))
    with rig.router():
        client = Client(rig.listen, code(), time.time_ns() // 1_000_000)
        for number in range(rounds):
            tally.rounds += 1
            copy = folder / f"copy-{number}.db"
            async with load(client):
                before = await backed_up(rig, copy, rng.uniform(*PAUSE_S), client, tally)
            if not tally.problems:
                await asyncio.to_thread(restored, copy, other, before, tally)
            copy.unlink(missing_ok=True)
            for old in other.folder.glob("router.db.before-*"):
                old.unlink()
            if tally.problems:
                break
    tally.problems += client.refused


def all_done(store: Path) -> bool:
    count = ledger.counts(store)
    return count.succeeded == count.jobs == count.deliveries


def campaign(folder: Path, rounds: int, rng: random.Random) -> Tally:
    """So many rounds; stops at the first problem."""
    tally = Tally()
    stores = [min(STORE_ROUNDS, rounds - n) for n in range(0, rounds, STORE_ROUNDS)]
    for number, some in enumerate(reported(stores, f"stores of {STORE_ROUNDS} rounds")):
        if not tally.problems:
            asyncio.run(one_store(folder / f"{number}", some, rng, tally))
    return tally


def main() -> int:
    counts = {"rounds": (50, "rounds")}
    return by_count(__doc__, counts, lambda at, given, rng: campaign(at, given.rounds, rng))


if __name__ == "__main__":
    sys.exit(main())
