"""SIGTERM, again and again, while senders go on over kept connections."""

import asyncio
import json
import random
import time
from functools import partial
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig
from tests.acceptance.senders import code, environ
from tests.faults import order
from tests.faults.drained import QUICK_S, TOTAL_S, Tally, recovered, wrong_end, wrong_rest
from tests.faults.kill import JOBS_EACH, WITH_RUNS, Client, odd_ends
from tests.faults.telling import reported

CONNECTIONS = 8
LOAD_S = 1.0
Link = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Insistent(Client):
    """Sends each delivery until it has been taken, as a good provider does."""

    repeats = 0

    async def keep_on(self, over: asyncio.Event) -> None:
        """One connection at a time, kept as long as the router keeps it."""
        link: Link | None = None
        while not over.is_set():
            self.number += 1
            number = self.number
            while not (taken := await self.tried(number, link))[0]:
                link = None
                self.repeats += 1
                await asyncio.sleep(0.05)
            link = taken[1]
        if link is not None:
            link[1].close()

    async def tried(self, number: int, link: Link | None) -> tuple[bool, Link | None]:
        """Whether it was taken, and the connection if it goes on."""
        try:
            link = link or await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = link
            writer.write(self.encoded(number))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            answer = await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            if link is not None:
                link[1].close()
            return False, None
        if head.startswith(b"http/1.1 200"):
            self.acked[json.loads(answer)["delivery"]] = ledger.digest(
                self.sender.body(number, 1_000)
            )
        elif not head.startswith(b"http/1.1 503"):
            self.refused.append(f"delivery {number}: {head[:40]!r}")
        if b"connection: close" in head or not head.startswith(b"http/1.1 200"):
            writer.close()
            return not head.startswith(b"http/1.1 503"), None
        return True, link


async def restarts(
    rig: Rig, client: Insistent, cycles: int, rng: random.Random, tally: Tally
) -> None:
    """So many stops and starts while all connections go on."""
    over = asyncio.Event()
    router = await asyncio.to_thread(rig.router().start)
    sending = [asyncio.create_task(client.keep_on(over)) for _ in range(CONNECTIONS)]
    try:
        for cycle in reported(range(cycles), "restarts"):
            await asyncio.sleep(rng.uniform(0.1, LOAD_S))
            began = time.monotonic()
            await asyncio.to_thread(router.stop, within=TOTAL_S + 5)
            where = f"under load, {cycle}"
            tally.stopped(where, time.monotonic() - began, QUICK_S)
            found = wrong_end(router) + wrong_rest(rig.store, failed=0)
            router.log.unlink()
            router = await asyncio.to_thread(rig.router().start)
            tally.problems += [f"{where}: {one}" for one in found + recovered(router)]
        over.set()
        await asyncio.wait_for(asyncio.gather(*sending), 20)
        await asyncio.to_thread(
            router.until, partial(order.all_ended, rig.store), "all jobs to end", seconds=60
        )
    finally:
        if router.running:
            router.kill()


def under_load(folder: Path, cycles: int, rng: random.Random, tally: Tally) -> None:
    rig = Rig(folder, WITH_RUNS, environ())
    client = Insistent(rig.listen, code(), int(time.time() * 1000))
    asyncio.run(restarts(rig, client, cycles, rng, tally))
    found = ledger.problems(rig.store, client.acked, jobs_each=JOBS_EACH, mend=True)
    found += client.refused + order.problems(rig.store) + odd_ends(rig.store)
    if len(client.acked) != client.number:
        found.append(f"{client.number} deliveries, {len(client.acked)} acknowledged")
    tally.acked += len(client.acked)
    tally.resent += client.repeats
    tally.problems += found
