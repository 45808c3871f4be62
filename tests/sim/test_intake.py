"""
The whole way of a delivery under a virtual clock and a seeded scheduler.

Senders send again until they hear 200, copies race, commits fail before or after they happened,
processes die. Every acknowledged delivery is in the ledger, once, and each of its jobs ran to
one end.
"""

import asyncio
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from router.dispatch import Dispatcher, DispatchRules
from router.errors import StoreUnavailable
from router.expressions import compile as compiled
from router.intake import Intake
from router.kinds.kind import ActionCall
from router.kinds.log import LogCall
from router.model.delivery import InboundRequest
from router.model.ids import Ids
from router.model.job import ENDED, Done, Group, Job, Outcome, Predecessor, RetryOutcome, Work
from router.model.retry import RetryPolicy
from router.model.settings import TargetLimits
from router.providers import builtin
from router.rules.live import LiveRef, SecretValues
from router.rules.live import LiveRuleset as Rules
from router.rules.specs import Concurrency
from router.store.values import Selector
from tests.builders import a_log, a_rule, a_ruleset
from tests.conformance.model_store import ModelStore
from tests.sim.loop import SimClock, in_order, simulate
from tests.sim.seeds import chosen
from tests.singly import Singly

KEY = b"a-secret-of-some-length"
PROVIDER = builtin()["shopify"]
THEN = msgspec.structs.replace(a_log(id_="then"), after=(Predecessor("first"),))
ONE_BY_ONE = Concurrency(compiled("'all'"), Group())
RULES = a_ruleset(
    a_rule("both", actions=(a_log(id_="one"), a_log(id_="two"))),
    a_rule("large", "payload.number > 3"),
    a_rule("ordered", actions=(THEN, a_log(id_="first")), concurrency=ONE_BY_ONE),
)


class Disk:
    """What survives a process: a model store whose commits take time and sometimes fail."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.kept = ModelStore(world.clock)

    def view(self) -> Any:
        """One process's store, silent once that process is dead."""
        return _View(self._world, self.kept)


class _View(Singly):
    def __init__(self, world: "World", kept: ModelStore) -> None:
        self._world, self._kept = world, kept
        self.dead = False
        self.reads = self

    def __getattr__(self, name: str) -> Any:
        async def asked(*args: Any, **named: Any) -> Any:
            chance = self._world.rng.random()
            await asyncio.sleep(self._world.rng.choice((0, 0.001, 0.02)))
            if self.dead:
                await self._world.silence.wait()
            if chance < self._world.fails:
                raise StoreUnavailable("before")
            verb = getattr(self._kept, name, None) or getattr(self._kept.reads, name)
            answer = await verb(*args, **named)
            if chance > 1 - self._world.fails:
                raise StoreUnavailable("after")
            return answer

        return asked


class Flaky:
    """An action that fails now and then, and notes what ran."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        if job.rule == "ordered":
            await self._world.in_order(job)
        await asyncio.sleep(self._world.rng.choice((0, 0.01, 0.5)))
        self._world.ran[job.id] += 1
        return RetryOutcome("network", "no") if self._world.rng.random() < 0.2 else Done()

    async def close(self) -> None:
        """Nothing."""


class World:
    """Everything a seed decides."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clock = SimClock()
        self.fails = rng.choice((0.0, 0.05, 0.1))
        self.disk = Disk(self)
        self.ran: Counter[str] = Counter()
        self.overtaken: list[str] = []
        self.acked: dict[str, str] = {}
        self.intake: Intake | None = None
        self.outside: set[Any] = set()
        self.silence = asyncio.Event()  # never set: what a dead process waits for
        self.boots = 0

    async def in_order(self, job: Job) -> None:
        """I23: a run has begun only when all that were accepted before it have ended."""
        runs = self.disk.kept.runs.runs
        mine = next(run for run in runs if job.id in run.jobs)
        for earlier in runs[: runs.index(mine)]:
            for id_ in earlier.jobs:
                other = await self.disk.kept.reads.job(id_)
                assert other is not None
                if other.state not in ENDED:
                    self.overtaken.append(f"{job.id} overtakes {other.id}")

    async def live(self, lasts: float) -> None:
        """One process from start to death."""
        self.boots += 1
        view = self.disk.view()
        live = LiveRef(Rules(RULES, SecretValues({"shop": KEY}, {})))
        dispatcher = Dispatcher(
            view,
            {"log": Flaky(self)},
            DispatchRules(
                render=_render,
                retry_of=lambda _job: RetryPolicy("sim", (1_000,) * 30),
                limits=lambda _target, _kind: TargetLimits(4, None),
            ),
            clock=self.clock,
            rng=self.rng,
            node=f"boot{self.boots}",
        )
        await _insisting(dispatcher.recover)
        self.intake = Intake(
            live=live,
            store=view,
            dispatch=dispatcher,
            clock=self.clock,
            ids=Ids(self.rng),
        )
        loop = asyncio.create_task(dispatcher.run())
        await asyncio.sleep(lasts)
        assert not loop.done() or loop.result() is None
        self.intake, view.dead = None, True
        mine = asyncio.all_tasks() - self.outside - {asyncio.current_task()}
        for task in in_order(mine):
            task.cancel()
        await asyncio.sleep(0)

    async def sender(self, number: int) -> None:
        """Send one delivery until it is acknowledged, impatiently: copies overlap."""
        await asyncio.sleep(self.rng.expovariate(0.3))
        body = b'{"number": %d}' % number
        signed = PROVIDER.sign(
            event="orders/paid", body=body, key=KEY, delivery_id=f"w-{number}", now_ms=0
        )
        headers = tuple((n.lower().encode(), v.encode()) for n, v in signed)
        tries = set()
        while f"w-{number}" not in self.acked:
            tries.add(asyncio.create_task(self._send(number, body, headers)))
            await asyncio.sleep(self.rng.choice((0, 0.001, 0.5, 3)))

    async def _send(self, number: int, body: bytes, headers: Any) -> None:
        intake = self.intake
        endpoint = intake.find(b"/wh_x") if intake else None
        if intake is None or endpoint is None:
            return
        request = InboundRequest(
            "POST", b"/wh_x", b"", headers, body, "127.0.0.1", self.clock.now()
        )
        reply = await intake.accept(endpoint, request)
        assert reply.status in {200, 503}
        if reply.status == 200 and intake is self.intake:  # the dead answer nobody
            self.acked[f"w-{number}"] = reply.body.decode()


def _render(work: Work, _results: object) -> ActionCall:
    del work
    return LogCall("x")


async def _insisting(verb: Any) -> None:
    while True:
        try:
            await verb()
        except StoreUnavailable:
            await asyncio.sleep(0.1)
        else:
            return


async def _lived(rng: random.Random) -> World:
    world = World(rng)
    senders = [asyncio.create_task(world.sender(n)) for n in range(8)]
    world.outside = {*senders, asyncio.current_task()}
    for _ in range(rng.choice((0, 1, 4))):
        await world.live(rng.expovariate(0.4))
    await world.live(1_000.0)
    await asyncio.wait(senders, timeout=1)
    assert all(sender.done() for sender in senders)
    return world


def _wanted(number: int) -> list[tuple[str, str]]:
    always = [("both", "one"), ("both", "two"), ("ordered", "first"), ("ordered", "then")]
    return sorted([*always, ("large", "log")]) if number > 3 else always


@pytest.mark.parametrize("seed", chosen())
def test_what_is_acknowledged_is_kept_once_and_done_once(seed: int) -> None:
    checked(seed)


def checked(seed: int) -> None:
    """Live under this seed; what was acknowledged is there, once, and was done."""
    rng = random.Random(seed)
    world: World = simulate(_lived(rng), rng)

    async def read() -> Any:
        kept = world.disk.kept
        return [
            await kept.reads.delivery(d.id)
            for d in await kept.reads.deliveries(Selector(limit=1000))
        ]

    records = asyncio.run(read())
    assert len(records) == len(world.acked) == 8
    for record in records:
        number = int(record.delivery.body[11:-1])
        assert record.delivery.id in world.acked[f"w-{number}"]
        assert sorted((j.rule, j.action) for j in record.jobs) == _wanted(number)
        for job in record.jobs:
            died_with_us = (job.state, job.reason, job.deaths) == ("dead", "crash_loop", 3)
            followed = (job.state, job.reason) == ("cancelled", "predecessor_dead: first")
            ran = job.state == "succeeded" and world.ran[job.id] >= 1
            assert died_with_us or followed or ran
    assert world.overtaken == []
