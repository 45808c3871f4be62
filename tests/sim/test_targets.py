"""
Many targets and endpoints over a longer time: a neighbour that makes noise, a target that was gone.

`python -m tests.sim.recovery --store sqlite` is the second with half a million jobs and a whole
day.
"""

import asyncio
import random
from pathlib import Path

import pytest

from router.dispatch import Dispatcher, DispatchRules
from router.model.job import Done, Job, Outcome, RetryOutcome, Work
from router.model.retry import STANDARD
from router.model.settings import TargetLimits
from tests.sim.ledger import Ledger
from tests.sim.loop import SimClock, simulate
from tests.sim.makers import a_delivery, a_new_job, an_event, an_http_call
from tests.sim.recovery import recover, wrong

pytestmark = pytest.mark.long

QUIET = {f"e{n}": f"t{n}" for n in range(6)} | {"shares": "t0"}
"""Endpoints that behave, and where their work goes; one of them where the noisy one also calls."""
RATE = 2.0
NOISE = 50
LASTS_S = 120


@pytest.mark.parametrize(
    ("store", "jobs", "down"),
    [("memory", 6_000, "refused"), ("memory", 4_000, "503"), ("sqlite", 1_500, "refused")],
)
def test_a_target_that_was_down_is_not_overrun_and_fresh_work_does_not_wait(
    store: str, jobs: int, down: str, tmp_path: Path
) -> None:
    hours = jobs / 12_000
    path = tmp_path / "router.db" if store == "sqlite" else None
    figures = recover(jobs, hours, path, down)
    assert figures.waiting > 0.9 * jobs
    assert wrong(figures) == []


class Neighbours:
    """Quiet endpoints, and one with fifty times their load and a target that hangs."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clock = SimClock()
        self.ledger = Ledger()
        self.lags: dict[str, list[float]] = {}
        self.came: dict[str, tuple[str, float]] = {}
        self.made = 0

    async def run(self, call: object, job: Job) -> Outcome:
        del call
        endpoint, came = self.came.get(job.id, ("", 0.0))
        self.lags.setdefault(endpoint, []).append(self.clock.monotonic() - came)
        if job.target == "hangs":
            await asyncio.sleep(10)
            return RetryOutcome("timeout", "no answer")
        await asyncio.sleep(0.1)
        return Done()

    async def close(self) -> None:
        """Nothing."""

    async def send(self, dispatcher: Dispatcher, endpoint: str, target: str, rate: float) -> None:
        while True:
            await asyncio.sleep(self.rng.expovariate(rate))
            name, now = f"job_{self.made}", self.clock.now()
            self.made += 1
            self.came[name] = (endpoint, self.clock.monotonic())
            delivery = a_delivery(f"dlv_{endpoint}", endpoint=endpoint)
            lease = dispatcher.reserve(target, "http")
            new = a_new_job(name, due_at=now, target=target, lease=lease)
            (job,) = await self.ledger.commit(delivery, [new], now)
            if lease:
                dispatcher.hand_over([Work(job, delivery, an_event())])
            else:
                dispatcher.wake(target, now, "http", (endpoint, name))

    async def live(self) -> None:
        live = DispatchRules(
            render=lambda work, results: an_http_call(),
            retry_of=lambda job: STANDARD,
            limits=lambda target, kind: TargetLimits(4 if target == "t0" else 16),
        )
        dispatcher = Dispatcher(
            self.ledger,  # type: ignore[arg-type]
            {"http": self},
            live,
            clock=self.clock,
            rng=self.rng,
            node="boot",
        )
        senders = [(endpoint, target, RATE) for endpoint, target in QUIET.items()]
        senders += [("noisy", "hangs", RATE * NOISE), ("noisy", "t0", RATE * NOISE)]
        tasks = [asyncio.create_task(self.send(dispatcher, *sender)) for sender in senders]
        tasks.append(asyncio.create_task(dispatcher.run()))
        await asyncio.sleep(LASTS_S)
        for task in tasks[:-1]:
            task.cancel()
        await asyncio.sleep(1)
        await dispatcher.drain(0)


def test_i24_a_noisy_neighbour_with_a_hanging_target_delays_nobody() -> None:
    for seed in (1, 2):
        rng = random.Random(seed)
        world = Neighbours(rng)
        simulate(world.live(), rng)
        assert len(world.lags["noisy"]) > 1_000
        for endpoint in QUIET:
            lags = sorted(world.lags[endpoint])
            came = sum(one == endpoint for one, _ in world.came.values())
            assert len(lags) >= came - 2, f"{endpoint}: {came - len(lags)} never ran"
            assert lags[int(len(lags) * 0.99)] <= 2.0, endpoint
