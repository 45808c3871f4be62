"""
SIGKILL at random moments under load: nothing acknowledged is lost, nothing is stored twice.

    python -m tests.faults.kill --cycles 1000

Each cycle starts the real router on the store that the last one left, sends signed deliveries over
several connections, keeps every acknowledgement in memory, and kills the router. The next start
must need no help; then the unanswered deliveries are sent once more (their outcome is unknown, the
dedupe key must absorb what was stored) and the ledger is compared with what was acknowledged.

Each delivery makes five jobs: one by itself, a chain of three whose runs take turns in eight lanes,
and one of which only the newest of a lane waits. Whatever was killed when: none is lost, none made
twice, no two runs of a lane ran at once or overtook one another, and none began before the one
before it had succeeded. A job that three kills in a row have hit is dead, as the router promises.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from tests import ledger
from tests.acceptance.process import PATIENCE_S, Rig, RouterDied, RouterProcess, TookTooLong
from tests.acceptance.senders import ENDPOINTS, Sender, code, environ
from tests.faults import order
from tests.ledger import STATE

RULES = ENDPOINTS + (
    "rules:\n"
    "  - id: main\n    from: code\n    events: push\n"
    "    match: payload.ref == 'refs/heads/main'\n"
    "    actions: {log: 'push {{ payload.id }}'}\n"
)
WITH_RUNS = RULES + (
    "  - id: line\n    from: code\n"
    "    concurrency: {group: payload.lane, limit: 1}\n"
    "    actions:\n"
    "      - {id: third, after: [first, second], log: '{{ results.second.message }}',"
    " when: payload.lane != 'l3'}\n"
    "      - {id: first, log: 'first {{ payload.id }}'}\n"
    "      - {id: second, after: first, log: 'after {{ results.first.message }}',"
    " when: results.first.message != null}\n"
    "  - id: newest\n    from: code\n"
    "    concurrency: {group: payload.lane, limit: 1, on_busy: latest}\n"
    "    actions: {log: 'newest {{ payload.id }}'}\n"
)
JOBS_EACH = 5
CONNECTIONS = 8
STILLBORN = 0.15
STORE_CYCLES = 25
"""After so many cycles a new store is begun, so that looking at all of it stays cheap."""


@dataclass
class Tally:
    """What all cycles so far came to."""

    cycles: int = 0
    sent: int = 0
    acked: int = 0
    unanswered: int = 0
    resent: int = 0
    stillborn: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.cycles} cycles: {self.sent} sent, {self.acked} acknowledged, "
            f"{self.unanswered} unanswered at the kill, {self.resent} of them sent again, "
            f"{self.stillborn} starts killed as well, "
            f"{len(self.problems)} problems"
        )


@dataclass
class Client:
    """
    Signed deliveries over plain connections, and the memory of every answer.

    `acked` maps delivery ids of the router to body digests; `unknown` are numbers without answer.
    """

    port: int
    sender: Sender
    now_ms: int
    acked: dict[str, str] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    number: int = 0
    counted: tuple[int, int] = (0, 0)

    def encoded(self, number: int) -> bytes:
        request = self.sender.request(
            f"http://127.0.0.1:{self.port}", number, now_ms=self.now_ms, size=1_000
        )
        head = "".join(f"{n}: {v}\r\n" for n, v in request.headers.items())
        return (
            f"POST {request.url.raw_path.decode()} HTTP/1.1\r\n{head}\r\n".encode()
            + request.content
        )

    async def keep_sending(self) -> None:
        """One connection: delivery after delivery, until the router is gone."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return
        try:
            while True:
                self.number += 1
                await self.send(self.number, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # killed: what had no answer stays in `unknown`
        finally:
            writer.close()

    async def send(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.unknown.add(number)
        writer.write(self.encoded(number))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        self.unknown.discard(number)
        if head.startswith(b"HTTP/1.1 200"):
            body = self.sender.body(number, 1_000)
            self.acked[msgspec.json.decode(answer)["delivery"]] = ledger.digest(body)
        elif not head.startswith(b"HTTP/1.1 503"):
            self.refused.append(f"delivery {number}: {head[:40]!r}")

    async def resend(self) -> int:
        """Once more what has no answer, as a provider would; how many."""
        again = sorted(self.unknown)
        if again:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            for number in again:
                await self.send(number, reader, writer)
            writer.close()
        return len(again)

    async def load(self, router: RouterProcess, seconds: float) -> None:
        """Send from all connections, kill the router after so many seconds, end."""
        sending = [asyncio.create_task(self.keep_sending()) for _ in range(CONNECTIONS)]
        await asyncio.sleep(seconds)
        router.kill()
        await asyncio.gather(*sending)


class Campaign:
    """Cycles of one store after another, in folders below `folder`."""

    def __init__(
        self,
        folder: Path,
        rng: random.Random,
        *,
        longest: float = 0.35,
        reported: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder = folder
        self.reported = reported
        self.rng = rng
        self.longest = longest
        self.tally = Tally()

    def run(self, cycles: int) -> Tally:
        """So many cycles; stops at the first problem."""
        try:
            while self.tally.cycles < cycles and not self.tally.problems:
                self.one_store(min(STORE_CYCLES, cycles - self.tally.cycles))
        except (RouterDied, TookTooLong) as error:
            self.tally.problems.append(str(error))
        return self.tally

    def one_store(self, cycles: int) -> None:
        rig = Rig(self.folder / f"store-{self.tally.cycles}", WITH_RUNS, environ())
        client = Client(rig.listen, code(), int(time.time() * 1000))
        for _ in range(cycles):
            if not self.tally.problems:
                self.cycle(rig, client)
        with rig.router() as router:
            self.settle(rig, client, router)
        self.count(client)
        shutil.rmtree(rig.folder)

    def cycle(self, rig: Rig, client: Client) -> None:
        """Start on what the last kill left, mend, compare, load, kill."""
        if self.rng.random() < STILLBORN:
            self.stillborn(rig)
        with rig.router() as router:
            if client.number:
                self.settle(rig, client, router)
            asyncio.run(client.load(router, self.rng.uniform(0.02, self.longest)))
        self.tally.cycles += 1
        self.tally.unanswered += len(client.unknown)
        self.count(client)
        self.reported(str(self.tally))

    def count(self, client: Client) -> None:
        """Add what this client has done since it was last counted."""
        self.tally.sent += client.number - client.counted[0]
        self.tally.acked += len(client.acked) - client.counted[1]
        client.counted = (client.number, len(client.acked))

    def stillborn(self, rig: Rig) -> None:
        """A start that is killed before it is ready: recovery is interrupted, too."""
        router = rig.router().launch()
        if router.ended(within=self.rng.uniform(0.2, 1.0)) is None:
            router.kill()
            self.tally.stillborn += 1

    def settle(self, rig: Rig, client: Client, router: RouterProcess) -> None:
        """After a restart: send the unanswered again, then look at the ledger."""
        self.tally.resent += asyncio.run(client.resend())
        found = ledger.problems(rig.store, client.acked, jobs_each=JOBS_EACH) + client.refused
        found += order.problems(rig.store)
        if not found:
            seconds = PATIENCE_S + order.last_due_in(rig.store, time.time())
            router.until(partial(order.all_ended, rig.store), "all jobs to end", seconds=seconds)
            found = order.problems(rig.store) + odd_ends(rig.store)
        self.tally.problems += found


ENDS = f"""
    WITH killed_thrice AS ({ledger.KILLED_THRICE})
    SELECT id, rule, action, state, reason FROM jobs WHERE NOT (
        state = :succeeded
        OR action = 'third' AND state = :cancelled AND reason = 'when'
        OR rule = 'newest' AND state = :cancelled AND reason = 'superseded'
        OR n IN (SELECT n FROM killed_thrice)
        OR state = :cancelled AND reason = 'predecessor_dead'
            AND run IN (SELECT run FROM killed_thrice)
    )
"""  # noqa: S608 - put together from our own words


def odd_ends(store: Path) -> list[str]:
    """Jobs that ended otherwise than their rule says."""
    with closing(ledger.connect(store)) as db:
        states = {name: STATE[name] for name in ("succeeded", "cancelled")}
        rows = db.execute(ENDS, {**states, **ledger.THRICE}).fetchall()
    return [f"odd end: {row}" for row in rows]


def progress(line: str) -> None:
    """One line that changes on a terminal; elsewhere a line every now and then."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r{line}")
    elif line.split(" ", 1)[0].endswith("0"):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name), random.Random(options.seed), reported=progress)
        tally = campaign.run(options.cycles)
    sys.stdout.write(f"\n{tally}; {time.monotonic() - started:.0f} s\n")
    for problem in tally.problems[:20]:
        sys.stdout.write(f"PROBLEM {problem}\n")
    return 1 if tally.problems or tally.cycles < options.cycles else 0


if __name__ == "__main__":
    sys.exit(main())
