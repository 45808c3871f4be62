"""
Many jobs that fail every attempt: when each attempt begins, and whether they come back together.

    python -m tests.sim.schedule --jobs 12000 [--only burst] [--store sqlite]

Virtual time, the real dispatcher; a ledger in memory, or the real store in a file. In all cases but
`shut` the gate lets everything through, so that the schedule alone says when:

burst   answers of 500 from eight targets with `breaker: off`; all jobs came within a second
hour    the same from one target; the jobs came over an hour
client  answers of 404, which leave the gate closed: only the first five delays; within a second
many    answers of 500, each job has a target of its own; the first five delays; within a second
shut    answers of 500 from one target whose breaker opens: its probes, and how it comes back
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rich.progress import Progress

from router.dispatch import Dispatcher, DispatchRules, DispatchSettings
from router.model.job import Done, Job, Outcome, RetryOutcome
from router.model.retry import STANDARD, RetryPolicy
from router.model.settings import TargetLimits
from tests.sim.filed import a_blank
from tests.sim.ledger import Ledger
from tests.sim.loop import START_MS, SimClock, simulate
from tests.sim.makers import a_delivery, a_new_job, an_http_call
from tests.sim.recovery import Filed

DELAYS_S = (5, 30, 120, 600, 1_800, 7_200, 21_600, 57_600, 86_400, 86_400)
"""What `standard` promises before the second, third, … attempt."""
AFTER_4XX = 5
"""So many of them follow an answer of 4xx."""
JITTER = 0.2
PROBE_S = 30.0
"""Until the first probe of a target that is open, give or take the jitter."""
PACE, STEP_S, BURST_S = 5.0, 5.0, 0.1
"""A recovery's first calls a second; twice as many after each step, some begun ahead."""

LATE_S = 1.0
"""So much later than its band an attempt may begin."""
BUNCHED = 3.0
"""So many times the mean of its band's windows no window of a wave may hold."""
TELLING = 10.0
"""Attempts a second below which single seconds tell chance, and nothing else."""
PARTS = 20
"""Into so many windows a thin wave's band is cut instead."""
TAKES_S = 0.005
COMMIT_S = 0.002
"""Before a commit, and after it."""
LONGEST_S = 120 * 3_600
DOWN_S = 6 * 3_600
"""How long the target of `shut` fails."""
CALL = an_http_call()
FIVE = RetryPolicy("five", STANDARD.schedule_ms[:AFTER_4XX])


class Case(NamedTuple):
    """
    Over how many targets, within how many seconds the jobs come, how they fail, and after how many
    delays they are dead.
    """

    targets: int | None
    spread_s: float
    outcome: Outcome
    breaker: bool
    delays: int = len(DELAYS_S)
    policy: RetryPolicy = STANDARD


ERROR, MISSING = RetryOutcome("server", "answered 500"), RetryOutcome("client", "answered 404")
CASES = {
    "burst": Case(8, 1.0, ERROR, breaker=False),
    "hour": Case(1, 3_600.0, ERROR, breaker=False),
    "client": Case(8, 1.0, MISSING, breaker=True, delays=AFTER_4XX),
    "many": Case(None, 1.0, ERROR, breaker=True, delays=AFTER_4XX, policy=FIVE),
    "shut": Case(1, 1.0, ERROR, breaker=True),
}
"""`targets` None: each job has one of its own."""


class Begin(NamedTuple):
    """An attempt: when the one before ended, when it began, and when the store says it was due."""

    ended: float
    began: float
    due: float


class Wave(NamedTuple):
    """
    The n-th attempts of all jobs. Times are in seconds: how far the worst began before and after
    its jitter band (below 0: within), and after it was due. The band of the wave reaches from the
    shortest delay after the first end of an attempt before to the longest after the last; `most` is
    the fullest of its windows over their mean. `second` are the most attempts of a single second.
    """

    number: int
    attempts: int
    early_s: float
    late_s: float
    after_due_s: float
    band_s: float
    second: int
    window_s: float
    most: float


class Shut(NamedTuple):
    """
    A target whose breaker opened. `at_once`: calls until it did; `calls` while it failed, and the
    shortest and longest time from one to the next once it was open; `early_s` as in `Wave`; `back`
    are the calls of each step of five seconds since its first good answer; `undone` the jobs that
    did not succeed.
    """

    at_once: int
    calls: int
    least_gap_s: float
    longest_gap_s: float
    most_attempts: int
    early_s: float
    back: tuple[int, ...]
    undone: int


class Failing:
    """The jobs of a case, and the targets they go to. `ledger` is begun on the loop."""

    def __init__(
        self, case: Case, jobs: int, store: Path | None, settings: DispatchSettings
    ) -> None:
        self.case, self.jobs = case, jobs
        self.clock = SimClock()
        self.ledger: Any = None
        self.begins: list[Begin] = []
        self.waves: dict[int, list[Begin]] = {}
        self.outcome = case.outcome
        self.received: Callable[[int], None] = lambda _attempts: None
        self._ended: dict[str, float] = {}
        self._path, self._settings = store, settings

    async def run(self, call: object, job: Job) -> Outcome:
        """The target."""
        del call
        now = self.clock.monotonic()
        begin = Begin(self._ended.get(job.id, now), now, (job.due_at - START_MS) / 1000)
        self.begins.append(begin)
        self.waves.setdefault(job.charged + 1, []).append(begin)
        await asyncio.sleep(TAKES_S)
        self._ended[job.id] = self.clock.monotonic()
        return self.outcome

    async def close(self) -> None:
        """Nothing."""

    def dispatcher(self) -> Dispatcher:
        """The real one."""
        live = DispatchRules(
            render=lambda work, results: CALL,
            retry_of=lambda job: self.case.policy,
            limits=lambda target, kind: TargetLimits(16, breaker=self.case.breaker),
        )
        return Dispatcher(
            self.ledger,
            {"http": self},
            live,
            clock=self.clock,
            rng=random.Random(1),
            node="boot",
            settings=self._settings,
        )

    async def deliver(self, dispatcher: Dispatcher) -> None:
        """All jobs, each at a time of its own within the spread; they may be taken together."""
        rng = random.Random(2)
        times = sorted(rng.uniform(0, self.case.spread_s) for _ in range(self.jobs))
        async with asyncio.TaskGroup() as group:
            for number, at in enumerate(times):
                await asyncio.sleep(max(0.0, at - self.clock.monotonic()))
                group.create_task(self.accept(dispatcher, number))

    async def accept(self, dispatcher: Dispatcher, number: int) -> None:
        """One of them, committed and told as intake does it when it finds no room in memory."""
        name, now = f"job_{number}", self.clock.now()
        target = f"t{number % (self.case.targets or self.jobs)}"
        new = a_new_job(name, target=target, due_at=now)
        await self.ledger.commit(a_delivery(), [new], now)
        dispatcher.wake(target, now, "http", ("shop", name))

    @contextmanager
    def alive(self) -> Iterator[Dispatcher]:
        """A dispatcher that runs, and the jobs that come."""
        dispatcher = self.dispatcher()
        tasks = [
            asyncio.create_task(dispatcher.run()),
            asyncio.create_task(self.deliver(dispatcher)),
        ]
        try:
            yield dispatcher
        finally:
            for task in tasks:
                task.cancel()

    async def fresh(self) -> None:
        """The ledger, empty."""
        if self._path is None:
            self.ledger = Ledger(_commit)
        else:
            self.ledger = Filed(self._path, self.clock, _commit)
            await self.ledger.start()

    async def spend(self) -> list[Wave]:
        """Until every job has spent all its attempts."""
        await self.fresh()
        wanted = self.jobs * (1 + self.case.delays)
        with self.alive() as dispatcher:
            while len(self.begins) < wanted and self.clock.monotonic() < LONGEST_S:
                await asyncio.sleep(60)
                self.received(len(self.begins))
            await dispatcher.drain(1)
        self._end()
        return [wave(self.case, n, self.waves[n]) for n in sorted(self.waves)]

    async def come_back(self) -> Shut:
        """Some bad hours, and on until every job is done."""
        await self.fresh()
        with self.alive() as dispatcher:
            await asyncio.sleep(DOWN_S)
            down, self.outcome = len(self.begins), Done()
            while await self._undone() and self.clock.monotonic() < LONGEST_S:
                await asyncio.sleep(60)
                self.received(len(self.begins))
            await dispatcher.drain(1)
            undone = await self._undone()
        self._end()
        return shut(self, down, undone)

    async def _undone(self) -> int:
        if self._path is not None:
            return int(await self.ledger.unfinished())
        return sum(job.state != "succeeded" for job in self.ledger.records.values())

    def _end(self) -> None:
        if self._path is not None:
            self.ledger.die()


async def _commit() -> None:
    await asyncio.sleep(COMMIT_S)


def wave(case: Case, number: int, begins: list[Begin]) -> Wave:
    """The figures of one wave."""
    after_due = max(one.began - one.due for one in begins)
    if number == 1:  # its band is the time in which the jobs came
        full = _fullest(begins, 0.0, case.spread_s)
        return Wave(1, len(begins), 0.0, after_due, after_due, case.spread_s, *full)
    delay = DELAYS_S[number - 2]
    short, long = delay * (1 - JITTER), delay * (1 + JITTER)
    first = min(one.ended for one in begins) + short
    last = max(one.ended for one in begins) + long
    return Wave(
        number,
        len(begins),
        max(short - (one.began - one.ended) for one in begins),
        max(one.began - one.ended - long for one in begins),
        after_due,
        last - first,
        *_fullest(begins, first, last - first),
    )


def _fullest(begins: list[Begin], first: float, band_s: float) -> tuple[int, float, float]:
    """
    The most in one second, the seconds of a window, and the most in a window over the mean of all
    windows of the band.
    """
    window = 1.0 if len(begins) / band_s >= TELLING else band_s / PARTS
    mean = len(begins) * min(window, band_s) / band_s
    return _most(begins, first, 1.0), window, _most(begins, first, window) / mean


def _most(begins: list[Begin], first: float, window: float) -> int:
    return max(Counter(int((one.began - first) / window) for one in begins).values())


def shut(world: Failing, down: int, undone: int) -> Shut:
    """The figures of a target whose breaker opened."""
    calls = [one.began for one in world.begins]
    at_once = sum(at < calls[0] + PROBE_S / 2 for at in calls)
    gaps = [later - sooner for sooner, later in pairwise(calls[at_once - 1 : down])]
    answered = calls[down] + TAKES_S
    steps = [int((at - answered) / STEP_S) for at in calls[down + 1 :]]
    return Shut(
        at_once=at_once,
        calls=down,
        least_gap_s=min(gaps),
        longest_gap_s=max(gaps),
        most_attempts=max(world.waves),
        early_s=max(
            DELAYS_S[number - 2] * (1 - JITTER) - (one.began - one.ended)
            for number, begins in world.waves.items()
            for one in (begins if number > 1 else ())
        ),
        back=tuple(steps.count(step) for step in range(6)),
        undone=undone,
    )


def wrong(case: Case, jobs: int, waves: list[Wave]) -> list[str]:
    """What is not as it should be, in words."""
    found = []
    if [one.attempts for one in waves] != [jobs] * (1 + case.delays):
        found.append(f"attempts are missing or too many: {[one.attempts for one in waves]}")
    for one in waves:
        if one.early_s > 0.001:  # due times are whole milliseconds
            found.append(f"attempt {one.number} began {one.early_s:.3f} s before its band")
        if one.late_s > LATE_S:
            found.append(f"attempt {one.number} began {one.late_s:.3f} s after its band")
        if one.number > 1 and one.most > BUNCHED:
            found.append(f"attempts {one.number} come together: {one.most:.2f} times the mean")
    return found


def wrong_when_shut(reported: Shut) -> list[str]:
    """The same of a target whose breaker opened."""
    paces = [PACE * 2**step for step in range(len(reported.back))]
    most = [pace * STEP_S + 1 + pace * BURST_S for pace in paces]
    checks = {
        "an attempt began before its band": reported.early_s <= 0.001,
        "probes came too soon": reported.least_gap_s >= PROBE_S * (1 - JITTER),
        "faster than the ramp": all(n <= m for n, m in zip(reported.back, most, strict=True)),
        "jobs are left": reported.undone == 0,
    }
    return [words for words, held in checks.items() if not held]


def spent(
    name: str,
    jobs: int,
    *,
    store: Path | None = None,
    sweep_s: float = DispatchSettings().sweep_s,
    received: Callable[[int], None] = lambda _attempts: None,
) -> Any:
    """
    What became of one case: its waves, or for `shut` its figures; the same numbers, the same run.
    `store`: a file to be made; `received` is called with how many attempts have begun.
    """
    if store is not None:
        asyncio.run(a_blank(store, SimClock()))
    world = Failing(CASES[name], jobs, store, DispatchSettings(sweep_s=sweep_s))
    world.received = received
    life = world.come_back() if name == "shut" else world.spend()
    return simulate(life, random.Random(3))


def shown(name: str, jobs: int, store: str) -> Any:
    """The same, with a bar on a terminal."""
    total = jobs if name == "shut" else jobs * (1 + CASES[name].delays)
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(disable=not sys.stdout.isatty(), transient=True) as bar,
    ):
        task = bar.add_task(f"attempts of {name}", total=total)
        path = Path(folder) / "router.db" if store == "sqlite" else None
        return spent(name, jobs, store=path, received=lambda n: bar.update(task, completed=n))


def said(name: str, jobs: int, reported: Any) -> list[str]:
    """Print what became of a case; what is wrong with it."""
    if isinstance(reported, Shut):
        print(f"{name}: {reported}")  # noqa: T201 - this is a command
        return wrong_when_shut(reported)
    print(  # noqa: T201
        f"{name}: {sum(one.attempts for one in reported):,} attempts\n"
        "  nth  attempts   before its band, after it, after due    band    in 1 s    "
        "window  max/mean"
    )
    for one in reported:
        print(  # noqa: T201
            f"  {one.number:3} {one.attempts:9,} {one.early_s:14.3f} s {one.late_s:9.3f} s "
            f"{one.after_due_s:8.3f} s {one.band_s:10,.1f} s {one.second:6} "
            f"{one.window_s:8,.1f} s {one.most:8.2f}"
        )
    return wrong(CASES[name], jobs, reported)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=12_000)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    options = parser.parse_args()
    problems: list[str] = []
    for name in (options.only,) if options.only else CASES:
        began = time.monotonic()
        found = said(name, options.jobs, shown(name, options.jobs, options.store))
        for words in found:
            print(f"PROBLEM {words}")  # noqa: T201
        print(f"took {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201
        problems += found
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
