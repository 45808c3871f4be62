"""A soak from its beginning to its end, and what came of it."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from random import Random

from tests import ledger
from tests.acceptance.process import Rig, RouterDied, TookTooLong
from tests.faults.telling import say
from tests.fleet.target import Call, Target
from tests.soak.disturbances import Site
from tests.soak.drift import BOUNDS, Trend, between, trend
from tests.soak.judge import Expected
from tests.soak.rules import CALL_S
from tests.soak.samples import Sample
from tests.soak.senders import Load
from tests.soak.watching import Watch

DYING = 0.25
"""The part of each stretch in which the router dies again and again; the last lives to its end."""
DEATHS = 12
SHORTEST_S = 10.0
"""Between two deaths: fewer could end a job thrice in a row, which is then dead."""
TOLD_S = 60.0
LATE_S = 600.0
"""
By then everything must be done, also what a probe of its target was waited for. But not what the
flaky one is called for: it fails twice a minute, so it is called more slowly than it could be.
Open jobs may not grow, and in the end everything must be done.
"""
ENDS_S = 900.0
"""When nothing more comes: what waits for the flaky target is done by then."""
RESUMED_S = 7.0
FLAKY = "shop/"
CYCLE_S = 30.0
FAILS_S, STALLS_S = (10.0, 14.0), (20.0, 22.0)
"""Of each cycle: when the flaky target answers 503, and when it answers too late."""


@dataclass
class Result:
    """What came of it; each trend with the life, or the lives, that it is about."""

    trends: list[tuple[str, Trend]] = field(default_factory=list)
    samples: Sequence[Sample] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Behaviour:
    """How the targets of a soak behave: the flaky one badly at two moments of each cycle."""

    def __init__(self, rng: Random, clock: Callable[[], float]) -> None:
        self.rng, self.clock = rng, clock

    def answer(self, call: Call) -> int:
        if call.path.startswith("/gone/"):
            return 410
        return 503 if self._is_bad(call, FAILS_S) else 200

    def delay(self, call: Call) -> float:
        return CALL_S + 3.0 if self._is_bad(call, STALLS_S) else self.rng.uniform(0.005, 0.05)

    def _is_bad(self, call: Call, between: tuple[float, float]) -> bool:
        return call.path.startswith(f"/{FLAKY}") and (
            between[0] <= self.clock() % CYCLE_S < between[1]
        )


class Soak:
    """One router, its target and its load. `store` says what its store takes, in MiB."""

    def __init__(
        self, rig: Rig, target: Target, rate: float, store: Callable[[], Mapping[str, float]]
    ) -> None:
        self.clock = time.monotonic
        self.expected = Expected(CALL_S - 1.0)
        self.has_file = "ROUTER_STORE" not in rig.environ
        self.site = Site(rig, self.expected, self.clock, backs_up=self.has_file)
        self.load = Load(f"http://127.0.0.1:{rig.listen}", rate, self.expected, self.clock)
        self.watch = Watch(self.site, self.load, target, store)
        self.result = Result()
        self._whole: list[int] = []

    async def run(self, stretches: Sequence[float]) -> Result:
        """So many seconds each, an hour as a rule; ends with the first that fails."""
        try:
            await self._run(stretches)
        except* (RouterDied, TookTooLong) as group:
            self.result.problems += [str(error) for error in group.exceptions]
        finally:
            if self.site.router.running:
                self.site.router.kill()
        self.result.samples = self.watch.samples
        self.result.counts = self.counts()
        self.result.problems += self.problems()
        return self.result

    async def _run(self, stretches: Sequence[float]) -> None:
        await self.site.start()
        async with asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(one()) for one in (self.watch.go_on, self._tell)]
            sending = tasks.create_task(self.load.send())
            async with self.site.befallen():
                for seconds in stretches:
                    await self._stretch(seconds)
                    if self.result.problems or self.problems():
                        break
            sending.cancel()
            await self._settle()
            for task in watching:
                task.cancel()
        await self._end()

    async def _stretch(self, seconds: float) -> None:
        end = self.clock() + seconds
        calm = end - seconds * (1 - DYING)
        while self.clock() < calm:
            await asyncio.sleep(max(SHORTEST_S, seconds * DYING / DEATHS))  # the load's pace
            await self.site.die()
        await asyncio.sleep(end - self.clock())
        self.watch.look()
        self._judge(self.site.lives)
        late = self.expected.lost(self.clock() - LATE_S)
        self.result.problems += [one for one in late if FLAKY not in one]

    def _judge(self, life: int) -> None:
        self._whole.append(life)
        for measure in BOUNDS:
            points = self.watch.points(life, measure)
            if (found := trend(measure, points)) is not None:
                self.result.trends.append((f"life {life}", found))
            first = self.watch.points(self._whole[0], measure)
            if len(self._whole) > 1 and points and first:
                lives = f"lives {self._whole[0]} and {life}"
                self.result.trends.append((lives, between(measure, first, points)))
        grown = [(of, one) for of, one in self.result.trends if one.too_much]
        self.result.problems += [f"{of}: {one}" for of, one in grown]

    async def _settle(self) -> None:
        """Everything is done that was acknowledged; a probe that fails is soon followed by one."""
        end = self.clock() + ENDS_S
        while self.expected.open and self.clock() < end:
            await self.site.resume("flaky")
            await asyncio.sleep(RESUMED_S)  # the watch looks

    async def _end(self) -> None:
        await self.site.stop()
        self.watch.look()
        self.result.problems += self.expected.lost()
        if self.has_file:
            with closing(ledger.connect(self.site.rig.store)) as db:
                self.result.problems += ledger.corruption(db)

    def problems(self) -> list[str]:
        parts = (self.expected, self.load, self.site, self.watch)
        return [one for part in parts for one in part.problems]

    def counts(self) -> dict[str, dict[str, int]]:
        did = {"acknowledged": self.load.acknowledged, "done": self.expected.done}
        return {
            "work": {**did, "done again after a death": self.expected.again},
            "heard": dict(self.load.heard),
            "befell": dict(self.site.did),
            "log lines": dict(self.watch.logged),
        }

    async def _tell(self) -> None:
        """A line a minute."""
        began = self.clock()
        while True:
            await asyncio.sleep(TOLD_S)
            values = self.watch.samples[-1].values if self.watch.samples else {}
            shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
            work = f"{self.load.acknowledged} acknowledged, {self.expected.open} to do"
            say(f"{(self.clock() - began) / 60:.0f} min: {work}; life {self.site.lives}: {shown}")
