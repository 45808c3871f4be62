"""
The wall clock jumps, drifts and repeats itself, while work goes on.

    python -m tests.faults.clocks --seeds 100

The real dispatcher under virtual time (`tests.sim`), with the steady clock and the loop that lets
it follow: deliveries come for a minute, actions fail and are tried again. Twenty seconds in the
wall clock does what its pattern says; the monotonic clock goes on as ever. Every job must end, none
may wait more than 60 s longer than it had to, and at most once may it run earlier. In four patterns
the router is down as it happens.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from router.clock import Clock, SteadyClock
from router.dispatch import Dispatcher, DispatchRules, DispatchSettings
from router.dispatch.protocol import Action
from router.log import get
from router.model.job import ActionKind, Attempt, Job, NewJob, Outcome, Settlement
from router.model.settings import TargetLimits
from router.serving.clock_sync import ClockSync
from router.store.protocol import Store
from router.store.values import CLOCK_SEEN, Acceptance, LeaseBatch, Settled
from tests.faults.telling import reported, say, verdict
from tests.sim.loop import START_MS, SimClock, simulate
from tests.sim.world import (
    POLICY,
    CheckedLedger,
    FakeAction,
    FakePrompt,
    View,
    World,
    _all_ended,
    _cancel_all,
)

HOUR_MS = 3_600_000
AT_S, INTAKE_S, PATIENCE_S = 20.0, 60.0, 3_000.0
LATE_S = 60.0
EARLY = 0.5
"""A run sooner than this part of its delay is early; jitter takes a fifth at most."""

Pattern = Callable[[float], float]
"""Monotonic seconds to what the wall clock is off by, in milliseconds."""


def jump(by_ms: float, *, back_after: float | None = None) -> Pattern:
    """Off by so much from AT_S on, and perhaps right again later."""

    def off(at: float) -> float:
        over = back_after is not None and at >= AT_S + back_after
        return 0.0 if at < AT_S or over else by_ms

    return off


PATTERNS: dict[str, Pattern] = {
    "24 h on": jump(24 * HOUR_MS),
    "24 h back": jump(-24 * HOUR_MS),
    "24 h on, and right again": jump(24 * HOUR_MS, back_after=15),
    "24 h back, and right again": jump(-24 * HOUR_MS, back_after=15),
    "ten years on": jump(87_660 * HOUR_MS),
    "ten years on, and right again": jump(87_660 * HOUR_MS, back_after=15),
    "back to 1970": jump(-START_MS),
    "1970 until the network is there": lambda at: -START_MS if at < AT_S else 0.0,
    "one part in a hundred too fast": lambda at: at * 10,
    "one part in a hundred too slow": lambda at: at * -10,
    "summer time begins": jump(HOUR_MS),
    "summer time ends": jump(-HOUR_MS),
    "a leap second is repeated": jump(-1_000),
    "a leap second is left out": jump(1_000),
    "24 h back over a restart": jump(-24 * HOUR_MS),
    "summer time ends over a kill": jump(-HOUR_MS),
    "400 days on over a restart, and right again": jump(9_600 * HOUR_MS, back_after=15),
    "400 days on over a kill": jump(9_600 * HOUR_MS),
}
RESTARTS = {name: "kill" not in name for name in PATTERNS if "over a" in name}
"""Where the router is down from AT_S - 1 to AT_S + 1, and whether it ended of itself."""


class WrongClock(SimClock):
    """Virtual time whose wall clock is off by a pattern."""

    def __init__(self, pattern: Pattern) -> None:
        super().__init__()
        self._pattern = pattern

    def now(self) -> int:
        return super().now() + int(self._pattern(self.monotonic()))


@dataclass
class Seen:
    """By monotonic time: when each job should have begun its next attempt, and how it did."""

    due: dict[str, tuple[float, float]] = field(default_factory=dict)
    early: Counter[str] = field(default_factory=Counter)
    latest: float = 0.0


class ClockLedger(CheckedLedger):
    """Also notes, by monotonic time, when each job is to be tried again."""

    shared = False

    def __init__(self, world: "ClockWorld") -> None:
        super().__init__(world)
        self._of = world
        self.ended_at = world.ended_at
        self.kept, self.last_seen = 0, 0
        self.due_at: dict[str, int] = {}  # the ledger time at which a lease was asked for

    async def lease(self, *asked: Any, lease: str, now: int, **more: Any) -> LeaseBatch:
        self.due_at[lease] = now
        return await super().lease(*asked, lease=lease, now=now, **more)

    def opened(self, clock: Clock) -> None:
        """As the store does it when it is opened: ledger time goes on where it was."""
        clock.resume(self.kept)
        if clock.ledger() < self.last_seen:
            clock.resume(clock.now() - self.last_seen)

    async def keep_clock(self) -> int:
        await self.pause()
        clock = self._of.clock
        ms, self.kept, self.last_seen = clock.offset - self.kept, clock.offset, clock.ledger()
        self.facts[CLOCK_SEEN] = self.last_seen
        return ms

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        held = await super().settle(settlement, own)
        if settlement.due_at is not None and held:
            delay = max(0.0, (settlement.due_at - self._of.clock.ledger()) / 1000)
            now = self._of.clock.monotonic()
            self._of.seen.due[settlement.job] = (now + delay, delay)
        return held


class ClockWorld(World):
    """A world without crashes whose clock is wrong; each process has a steady one over it."""

    def __init__(self, rng: random.Random, pattern: Pattern) -> None:
        super().__init__(rng)
        self.store_fails, self.crashes = 0.0, 0
        self.machine = WrongClock(pattern)
        self.seen = Seen()
        self.ends: dict[tuple[str, int], int] = {}  # of attempts, in ledger time
        self.ledger = ClockLedger(self)

    def due_by(self, job: Job) -> int:
        """What was due when it was leased stays so: the clock may be slewed back meanwhile."""
        return max(self.clock.ledger(), self.ledger.due_at.get(job.lease or "", 0))

    def an_outcome(self, job: Job) -> Outcome:
        self.ends[job.id, job.attempt] = self.clock.ledger()
        return super().an_outcome(job)

    def ended_at(self, attempt: Attempt) -> int:
        """In ledger time: the clock may have been set between an end and its settlement."""
        seen = self.ends.get((attempt.job, attempt.number))
        return attempt.ended_at - self.clock.offset if seen is None else seen

    def begins(self, job: Job) -> None:
        super().begins(job)
        due, delay = self.seen.due.get(job.id, (self.clock.monotonic(), 0.0))
        late = self.clock.monotonic() - due
        self.seen.latest = max(self.seen.latest, late)
        if delay > 1 and late < -EARLY * delay:
            self.seen.early[job.id] += 1

    def dispatcher(self, view: View) -> Dispatcher:
        """Targets with room and without breakers: what waits, waits for the clock."""
        self.boots += 1
        action, prompt = FakeAction(self, view), FakePrompt(self, view)
        live = DispatchRules(
            render=self.render,
            retry_of=lambda job: POLICY,
            limits=lambda target, kind: TargetLimits(64, None, breaker=False),
            reads=self.reads,
            died=self.died,
        )
        actions: dict[ActionKind, Action] = {"http": action, "shell": action, "log": prompt}
        settings = DispatchSettings(totals={"http": 128, "shell": 128, "log": 256, "python": 4})
        how: dict[str, Any] = {"clock": self.clock, "rng": self.rng, "node": f"boot{self.boots}"}
        return Dispatcher(view, actions, live, settings=settings, **how)

    async def commit(self, dispatcher: Dispatcher, view: View, new: list[NewJob], now: int) -> None:
        self.ledger.due_at.update({job.lease: now for job in new if job.lease})
        await super().commit(dispatcher, view, new, now)
        at = self.clock.monotonic()
        self.seen.due.update({job.id: (at, 0.0) for job in new if job.id not in self.seen.due})


async def lived(world: ClockWorld, restart: bool | None) -> None:
    """A minute of deliveries, then until all have ended or nobody would wait any more."""
    if restart is not None:
        await _process(world, AT_S - 1, drains=restart)
        await asyncio.sleep(2)
    await _process(world, INTAKE_S)
    await asyncio.sleep(0)


async def _process(world: ClockWorld, until: float, *, drains: bool = True) -> None:
    """A router up to that time, or if that is INTAKE_S until all is done."""
    view, clock = View(world), SteadyClock(world.machine, _nanoseconds)
    world.clock = clock  # the newest process's
    dispatcher = world.dispatcher(view)
    world.ledger.opened(clock)
    sync = ClockSync(
        clock=clock, store=cast("Store", view), log=get("clocks"), stepped=lambda: None
    )
    await sync.begin()
    await dispatcher.recover()
    intake = world.intake(dispatcher, view)
    loops = [asyncio.create_task(c) for c in (dispatcher.run(), sync.run(), intake)]
    await asyncio.sleep(until - world.machine.monotonic())
    if until == INTAKE_S:
        world.committing = False
        while not _all_ended(world) and clock.monotonic() < PATIENCE_S:  # noqa: ASYNC110
            await asyncio.sleep(1)
    if drains:
        await dispatcher.drain(1.0)
        await sync.close()
    del loops
    view.dead = True
    for _ in range(3):
        _cancel_all()
        await asyncio.sleep(0)
    world.running.clear()


def _nanoseconds() -> int:
    return int(asyncio.get_running_loop().time() * 1e9)


def problems_of(seed: int, name: str) -> list[str]:
    """What a clock of this pattern broke."""
    rng = random.Random(f"{seed}/{name}")
    world = ClockWorld(rng, PATTERNS[name])
    simulate(lived(world, RESTARTS.get(name)), rng)
    left = [j for j, job in world.ledger.records.items() if job.state not in ENDS]
    aged = [j for j in world.ledger.records.values() if j.reason == "too_old"]
    found = world.ledger.wrong[:3]
    if left:
        found.append(f"{len(left)} of {world.jobs} jobs have not ended after {PATIENCE_S:g} s")
    elif world.seen.latest > LATE_S:
        found.append(f"a job began {world.seen.latest:.0f} s late")
    if aged:
        found.append(f"{len(aged)} jobs were given up as too old")
    twice = [j for j, n in world.seen.early.items() if n > 1]
    if twice:
        found.append(f"{len(twice)} jobs ran early more than once")
    return [f"seed {seed}, {name}: {one}" for one in found]


ENDS = frozenset({"succeeded", "dead", "cancelled"})


def campaign(seeds: range) -> list[str]:
    """Every pattern with each seed."""
    runs = [(seed, name) for seed in seeds for name in PATTERNS]
    return [
        problem for seed, name in reported(runs, "clocks") for problem in problems_of(seed, name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    options = parser.parse_args()
    say(f"seed {options.seed}")
    began = time.monotonic()
    problems = campaign(range(options.seed, options.seed + options.seeds))
    figures = f"{options.seeds} seeds x {len(PATTERNS)} patterns: {len(problems)} problems"
    return verdict(problems, f"{figures}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
