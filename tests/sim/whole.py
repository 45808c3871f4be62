"""
All of the router but its sockets, under virtual time and one seed: senders, the real intake, the
real store in a file, the real dispatch, rules with chains and groups, replays, reloads; processes
that die at named steps, commits that break off, results that come too late.

`promises` says what must hold of it.
"""

import asyncio
import json
import random
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.model.ids import Ids
from router.model.job import ENDED, Job
from router.operator.requests import ReplayRequest
from router.providers import builtin
from router.rules.live import LiveRuleset
from tests.faults.powercut import memory_folder
from tests.sim.filed import a_blank
from tests.sim.life import Process
from tests.sim.live_rules import KEY, generations
from tests.sim.loop import SimClock, in_order, simulate
from tests.sim.steps import STEPS, History
from tests.sim.twin import Twins

SENDERS = 12
RULES = ("plain", "chain", "strict", "wide", "latest", "drop", "careful")
LONGEST_S = 20_000
"""Virtual seconds after which something hangs for ever."""


class Whole:
    """Everything a seed decides."""

    def __init__(self, rng: random.Random, store: Path, step: str | None) -> None:
        self.rng, self.path, self.step = rng, store, step
        self.clock = SimClock()
        self.history = History()
        self.twins = Twins(self.history)
        self.fails = rng.choice((0.0, 0.0, 0.04))
        self.generations = generations()
        self.rules: LiveRuleset = self.generations[0]
        self.ids = Ids(rng)
        self.process: Process | None = None
        self.main: asyncio.Task[Any] | None = None
        self.outside: set[Any] = set()
        self.acked: dict[str, str] = {}
        self.replays: dict[str, ReplayRequest] = {}
        self.cancelled: set[str] = set()
        self.late: list[Job] = []
        self.boots = 0
        self.silence = asyncio.Event()  # never set: what a dead process waits for
        self.probe = sqlite3.connect(store, isolation_level=None, timeout=0)

    async def pause(self) -> None:
        """What a commit takes."""
        await asyncio.sleep(self.rng.choice((0, 0.001, 0.02)))

    # -- processes -------------------------------------------------------------------------------

    async def live(self) -> None:
        """Processes one after another that die somewhere; then one that is left alone."""
        for _ in range(2 if self.step else self.rng.choice((0, 1, 2, 4))):
            await self.one(last=False)
        while not await self.one(last=True):
            pass

    async def one(self, *, last: bool) -> bool:
        """One process from its start to its end; whether all was done then."""
        self.boots += 1
        step = self.step or self.rng.choice(STEPS)
        plan = None if last else (step, self.rng.choice((1, 1, 1, 2, 5)))
        process = self.process = Process(self, f"boot{self.boots}", plan)
        crashed = asyncio.create_task(process.crashed.wait())
        main = asyncio.create_task(process.main())
        lasts = self.rng.choice((3, 100, 300))
        until = asyncio.create_task(self.all_done() if last else asyncio.sleep(lasts))
        await asyncio.wait({crashed, main, until}, return_when=asyncio.FIRST_COMPLETED)
        for task in (main, until):
            if task.done():
                task.result()
        done = last and not process.dead
        if not process.dead and (last or self.rng.random() < 0.3):
            await process.drain()
        await self.bury(process)
        return done

    async def bury(self, process: Process) -> None:
        """The process is gone, with all that it had in hand."""
        process.dead = True
        self.process = None
        for _ in range(3):  # a slot that comes free as its task is cancelled starts one more
            mine = asyncio.all_tasks() - self.outside - {asyncio.current_task()}
            for task in in_order(mine):
                task.cancel()
            await asyncio.sleep(0)
        process.die()

    async def all_done(self) -> None:
        """Wait until everybody was heard, and everything that was asked for has ended."""
        while True:
            await asyncio.sleep(5)
            if self.clock.monotonic() > LONGEST_S:
                wrong = self.history.wrong[:3]
                raise AssertionError(f"I17: never ends: {wrong} {self.unended()}")
            process = self.process
            for task in in_order(self.outside):
                if task.done():
                    task.result()
            if self.outside_done() and process is not None and not self.unended():
                if process.operator_done:
                    return
                await process.last_requests()

    def outside_done(self) -> bool:
        return all(task.done() for task in self.outside if task is not self.main)

    def unended(self) -> list[Job]:
        return [job for job in self.twins.jobs() if job.state not in ENDED]

    # -- senders ---------------------------------------------------------------------------------

    async def sender(self, number: int) -> None:
        """One delivery: sent until it is acknowledged, impatiently; now and then sent again."""
        rng = self.rng
        await asyncio.sleep(rng.expovariate(0.1))
        endpoint = rng.choice(("shop", "shop", "quiet"))
        body = json.dumps(self.payload(number)).encode()
        name = f"w-{number}"
        tries = []
        while name not in self.acked:
            tries.append(asyncio.create_task(self.send(endpoint, name, body)))
            self.outside.add(tries[-1])
            await asyncio.sleep(rng.choice((0, 0.001, 0.5, 3)))
            for one in tries:
                if one.done():
                    one.result()
        await asyncio.wait(tries, timeout=1)
        for _ in range(rng.choice((0, 0, 1, 2))):
            await asyncio.sleep(rng.choice((0.01, 2, 60)))
            await self.send_again(endpoint, name, body)

    def payload(self, number: int) -> dict[str, Any]:
        rng = self.rng
        return {
            "number": number,
            "wants_rule": rng.choice(RULES),
            "key": rng.choice("xy"),
            "path": rng.choice(("ok", "ok", "ok", "ok", "..")),
            "wanted": rng.random() < 0.8,
            "poison": rng.random() < 0.01,
            "hopeless": rng.random() < 0.05,
        }

    async def send(self, endpoint: str, name: str, body: bytes) -> bool:
        """Send it; whether it was acknowledged."""
        process = self.process
        if process is None or process.intake is None:
            return False
        request = self.request(endpoint, name, body)
        found = process.intake.find(request.raw_path)
        assert found is not None
        work = asyncio.create_task(process.intake.accept(found, request))
        try:
            reply = await asyncio.wait_for(work, 30)
        except (asyncio.CancelledError, TimeoutError):
            return False
        return not process.dead and self.acknowledged(name, body, reply)  # the dead answer nobody

    def acknowledged(self, name: str, body: bytes, reply: Reply) -> bool:
        """Whether a sender was told that it is kept."""
        assert reply.status in {200, 503}
        if reply.status != 200:
            return False
        delivery = json.loads(reply.body)["delivery"]
        if self.acked.setdefault(name, delivery) != delivery:
            self.history.broken(30, f"{name} was stored twice")
        self.history.bodies[delivery] = body
        return True

    def request(self, endpoint: str, name: str, body: bytes) -> InboundRequest:
        live = self.generations[0]
        signed = builtin()["shopify"].sign(
            event="orders/paid", body=body, key=KEY, delivery_id=name, now_ms=0
        )
        headers = tuple((n.lower().encode(), v.encode()) for n, v in signed)
        path = live.ruleset.endpoints[endpoint].addresses[0].encode()
        return InboundRequest("POST", path, b"", headers, body, "127.0.0.1", self.clock.now())

    async def send_again(self, endpoint: str, name: str, body: bytes) -> None:
        """
        I30: a copy opens what is dead, where it may and no replay made it again, and changes
        nothing else.
        """
        history, delivery = self.history, self.acked[name]
        before = self._originals(delivery)
        unsure = history.unsure
        if not await self.send(endpoint, name, body):
            return
        after = self._originals(delivery)
        history.put_to_the_test(30)
        if before.keys() != after.keys():
            history.broken(30, f"a copy of {delivery} made jobs")
        again = {self._same(j) for j in self.twins.of(delivery) if j.replay_of is not None}
        dead = [j for j in before.values() if j.state == "dead" and self._same(j) not in again]
        for job in dead:
            opened = after[job.id].state != "dead" or after[job.id].ended_at != job.ended_at
            if endpoint == "shop" and not opened and unsure == history.unsure:
                history.broken(30, f"{job.id} stayed dead")

    def _originals(self, delivery: str) -> dict[str, Job]:
        return {j.id: j for j in self.twins.of(delivery) if j.replay_of is None}

    @staticmethod
    def _same(job: Job) -> tuple[int, str, str]:
        return job.event_index, job.rule, job.action


async def _lived(rng: random.Random, path: Path, step: str | None) -> Whole:
    world = Whole(rng, path, step)
    world.main = asyncio.current_task()
    world.outside = {world.main}
    senders = [asyncio.create_task(world.sender(n)) for n in range(SENDERS)]
    world.outside |= set(senders)
    try:
        await world.live()
    finally:
        world.probe.close()
    for sender in senders:
        sender.result()
    return world


@cache
def _blank() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "router.db"
        asyncio.run(a_blank(path, SimClock()))
        return path.read_bytes()


def lived(seed: int, step: str | None = None) -> Whole:
    """
    The world of this seed at its end, its ledger read into the history. `step`: where processes
    die, else the seed draws that.
    """
    rng = random.Random(seed)
    with memory_folder() as folder:
        path = folder / "router.db"
        path.write_bytes(_blank())
        world: Whole = simulate(_lived(rng, path, step), rng)
        world.twins.compare(path, world.history)
    return world
