"""
A target that is down for a day, and comes back: what it sees of us, and when fresh work runs.

    python -m tests.sim.recovery --jobs 500000 --hours 24 --store sqlite [--down 503]

Virtual time, the real dispatcher; a ledger in memory, or the real store in a file. While it is down
it refuses every connection, or answers 503: then jobs are tried again until the breaker opens.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.progress import Progress

from router.dispatch import Dispatcher, DispatchRules
from router.dispatch.breaker import FIRST_PACE
from router.model.delivery import Delivery
from router.model.job import Done, Job, NewJob, Outcome, RetryOutcome, Settlement
from router.model.retry import STANDARD
from router.model.settings import TargetLimits
from router.store.values import Acceptance, Settled
from tests.sim.filed import FiledStore, a_blank
from tests.sim.ledger import Ledger
from tests.sim.loop import SimClock, simulate
from tests.sim.makers import a_delivery, a_job, a_new_job, an_event, an_http_call
from tests.singly import Singly

DOWN = {
    "refused": RetryOutcome("network", "no connection"),
    "503": RetryOutcome("server", "answered 503"),
}
ATTEMPTS = {"refused": 3, "503": 6}
"""No job makes more: one or more before the breaker opens, one as a probe, the last is answered."""
WARM_S = 3_600
"""Good days before it: so long that the usual rate is known."""
WINDOW_S = 10
TAKES_S = 0.15
LONGER = 1.25
"""A backlog of so many hours is done after this times as many: it leaves at 1.8 times the usual."""


class Figures(NamedTuple):
    """
    `steady`, `onset` and `peak` are calls a second: the mean of the good hour, the most in ten
    seconds while the target was down, and since it is back. `peak_1s` is the most in one second
    since then, `steady_1s` the most in one second of the good hour. Lags are in seconds, of work
    that came after the first call to the target that was back; `probed_s` is when that was,
    `drained_h` how long the backlog took.
    """

    down: str
    jobs: int
    waiting: int
    steady: float
    onset: float
    peak: float
    steady_1s: int
    peak_1s: int
    probed_s: float
    fresh_p99: float
    fresh_max: float
    drained_h: float
    attempts_most: int
    unfinished: int


class Slim(Ledger):
    """Forgets what succeeded: a million jobs must fit."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts_most = 0

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        settled = await super().settle(settlement, own)
        if settlement.state == "succeeded":
            self.attempts_most = max(self.attempts_most, settlement.attempt.number)
            self.records[settlement.job] = ENDED
            self.attempts.clear()
            self.ends.clear()
        return settled

    async def unfinished(self) -> int:
        """Jobs that have not succeeded."""
        return sum(j.state != "succeeded" for j in self.records.values())


ENDED = a_job(state="succeeded")


class Filed(Singly):
    """The real store, as `Recovery` fills and counts it: ids are what the store takes for ids."""

    def __init__(
        self,
        path: Path,
        clock: SimClock,
        pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0),
    ) -> None:
        self.store = FiledStore(path, clock, pause)
        self.attempts_most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def commit(self, delivery: Delivery, jobs: list[NewJob], now: int) -> None:
        """Intake's transaction."""
        del now
        number = jobs[0].id
        own = msgspec.structs.replace(delivery, id=f"dlv_{number}")
        await self.store.accept(Acceptance(own, (an_event(),), (*jobs,)))

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        if settlement.state == "succeeded":
            self.attempts_most = max(self.attempts_most, settlement.attempt.number)
        return await self.store.settle(settlement, own)

    async def unfinished(self) -> int:
        """Jobs that have not succeeded."""
        counted = await self.store.reads.counts()
        return sum(n for states in counted.values() for s, n in states.items() if s != "succeeded")


class Recovery:
    """One target, its steady traffic, an outage. `ledger` is begun on the loop."""

    def __init__(self, jobs: int, hours: float, store: Path | None, down: str) -> None:
        self.clock = SimClock()
        self.down = down
        self._path = store
        self.ledger: Any = None
        self.down_s = hours * 3_600
        self.rate = jobs / self.down_s
        self.up = True
        self.up_at, self.old = 0.0, 0
        self.calls: list[float] = []
        self.came: dict[str, float] = {}
        self.lags: list[tuple[float, float]] = []
        self.made = 0
        self.traffic = True
        self.lived: Callable[[float], None] = lambda _hours: None

    async def run(self, call: object, job: Job) -> Outcome:
        """The target."""
        del call
        now = self.clock.monotonic()
        self.calls.append(now)
        if not self.up:
            await asyncio.sleep(0.01)
            return DOWN[self.down]
        await asyncio.sleep(TAKES_S)
        came = self.came.pop(job.id, None)
        if came is not None and came < self.up_at:
            self.old -= 1
        elif came is not None:
            self.lags.append((came, now - came))
        return Done()

    async def close(self) -> None:
        """Nothing."""

    def dispatcher(self) -> Dispatcher:
        """The real one."""
        live = DispatchRules(
            render=lambda work, results: an_http_call(),
            retry_of=lambda job: STANDARD,
            limits=lambda target, kind: TargetLimits(16),
        )
        return Dispatcher(
            self.ledger,
            {"http": self},
            live,
            clock=self.clock,
            rng=random.Random(1),
            node="boot",
        )

    async def deliver(self, dispatcher: Dispatcher) -> None:
        """Steady traffic: one job after another, by the hand-over where there is one."""
        rng = random.Random(2)
        while self.traffic:
            await asyncio.sleep(rng.expovariate(self.rate))
            name, now = f"job_{self.made}", self.clock.now()
            self.made += 1
            self.came[name] = self.clock.monotonic()
            delivery = a_delivery("dlv_1")
            new = a_new_job(name, due_at=now)
            await self.ledger.commit(delivery, [new], now)
            dispatcher.wake("erp", now, "http", ("shop", name))

    async def live(self) -> Figures:
        """A good hour, a day without, and on until nothing of the backlog waits."""
        if self._path is None:
            self.ledger = Slim()
        else:
            self.ledger = Filed(self._path, self.clock)
            await self.ledger.start()
        dispatcher = self.dispatcher()
        tasks = [
            asyncio.create_task(dispatcher.run()),
            asyncio.create_task(self.deliver(dispatcher)),
        ]
        waiting = await self._outage()
        drained_s = self.clock.monotonic() - self.up_at
        self.traffic = False
        await asyncio.sleep(600)
        await dispatcher.drain(1)
        for task in tasks:
            task.cancel()
        unfinished = await self.ledger.unfinished()
        if self._path is not None:
            self.ledger.die()
        return self._figures(waiting, drained_s / 3_600, unfinished)

    async def _outage(self) -> int:
        """The good hour, the bad ones, and on until all that waited then is done: how much."""
        await self._live_on(WARM_S)
        self.up = False
        await self._live_on(self.down_s)
        self.up, self.up_at = True, self.clock.monotonic()
        self.old = waiting = len(self.came)
        while self.old and self.clock.monotonic() - self.up_at < 8 * self.down_s:
            await self._live_on(60)
        return waiting

    async def _live_on(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        while (left := until - self.clock.monotonic()) > 0:
            await asyncio.sleep(min(left, 60))
            self.lived(self.clock.monotonic() / 3_600)

    def _figures(self, waiting: int, drained_h: float, unfinished: int) -> Figures:
        good = [call for call in self.calls if call < WARM_S]
        down = [call for call in self.calls if WARM_S <= call < self.up_at]
        back = [call for call in self.calls if call >= self.up_at]
        fresh = sorted(lag for came, lag in self.lags if came > back[0])
        return Figures(
            down=self.down,
            jobs=self.made,
            waiting=waiting,
            steady=len(good) / WARM_S,
            onset=_most(down, WINDOW_S) / WINDOW_S,
            peak=_most(back, WINDOW_S) / WINDOW_S,
            steady_1s=_most(good, 1),
            peak_1s=_most(back, 1),
            probed_s=back[0] - self.up_at,
            fresh_p99=fresh[int(len(fresh) * 0.99)],
            fresh_max=fresh[-1],
            drained_h=drained_h,
            attempts_most=self.ledger.attempts_most,
            unfinished=unfinished,
        )


def _most(calls: list[float], window_s: int) -> int:
    return max(Counter(int(call / window_s) for call in calls).values())


def recover(
    jobs: int,
    hours: float,
    store: Path | None = None,
    down: str = "refused",
    lived: Callable[[float], None] = lambda _hours: None,
) -> Figures:
    """
    The figures of one run; the same numbers give the same run. `store`: a file to be made; `lived`
    is told how many hours have passed.
    """
    if store is not None:
        asyncio.run(a_blank(store, SimClock()))
    world = Recovery(jobs, hours, store, down)
    world.lived = lived
    figures: Figures = simulate(world.live(), random.Random(3))
    return figures


def shown(jobs: int, hours: float, store: Path | None, down: str) -> Figures:
    """The same, with a bar on a terminal, else a line now and then."""
    total = WARM_S / 3_600 + hours * (1 + LONGER)
    said = 0.0
    with Progress(disable=not sys.stdout.isatty(), transient=True) as bar:
        task = bar.add_task("hours", total=total)

        def lived(now: float) -> None:
            nonlocal said
            bar.update(task, completed=now)
            if bar.disable and now - said >= total / 10:
                said = now
                print(f"{now:.1f} of {total:.1f} hours", flush=True)  # noqa: T201

        return recover(jobs, hours, store, down, lived)


def wrong(figures: Figures) -> list[str]:
    """What is not as it should be, in words."""
    most = max(2 * figures.steady, FIRST_PACE)
    checks = {
        "jobs are left": figures.unfinished == 0,
        "more than twice the steady rate while it was down": figures.onset <= most,
        "more than twice the steady rate when it was back": figures.peak <= most,
        "fresh work waited for over 30 s": figures.fresh_max <= 30,
        "waiting spent attempts": figures.attempts_most <= ATTEMPTS[figures.down],
    }
    return [words for words, held in checks.items() if not held]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=500_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    parser.add_argument("--down", choices=DOWN, default="refused")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "router.db" if options.store == "sqlite" else None
        figures = shown(options.jobs, options.hours, path, options.down)
    for name, value in figures._asdict().items():
        number = f"{value:.2f}" if isinstance(value, float) else value
        print(f"{name:14} {number}")  # noqa: T201 - this is a command
    for words in wrong(figures):
        print(f"PROBLEM {words}")  # noqa: T201
    print(f"took {time.monotonic() - began:.0f} s")  # noqa: T201
    return 1 if wrong(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
