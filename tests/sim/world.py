"""A small world for dispatch: an intake, actions that fail, a store that fails, crashes."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from router.clock import Clock
from router.dispatch import Dispatcher, DispatchRules, DispatchSettings
from router.dispatch.protocol import Results
from router.errors import RenderError, StoreUnavailable
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.kinds.log import LogCall
from router.model.job import (
    ActionKind,
    Attempt,
    Done,
    FailOutcome,
    FailureClass,
    Job,
    NewJob,
    Outcome,
    RetryOutcome,
    Settlement,
    Skip,
    Work,
)
from router.model.retry import RetryPolicy
from router.model.settings import OWN, TargetLimits
from router.store.values import Acceptance, Recovered, Settled, node_of
from tests.sim.ledger import Ledger
from tests.sim.loop import SimClock, in_order
from tests.sim.makers import a_delivery, a_new_job, an_event, an_http_call

POLICY = RetryPolicy("sim", (1_000, 5_000, 30_000))
TARGETS: tuple[tuple[str, ActionKind], ...] = (
    ("erp", "http"),
    ("chat", "http"),
    ("slow/down", "shell"),
    ("note/log", "log"),
)
POISON = "poison"
FAILURES: tuple[FailureClass, ...] = ("network", "timeout", "throttled", "client", "temporary")


class CheckedLedger(Ledger):
    """Also remembers what each transition allows."""

    def __init__(self, world: "World") -> None:
        super().__init__(world.commit_pause)
        self.second_chances: Counter[str] = Counter()
        self.due: dict[str, int] = {}

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        ended = self.ended_at(settlement.attempt)
        held = await super().settle(settlement, own)
        if settlement.state == "retryable" and held.fate == "held":
            charged = self.records[settlement.job].charged
            schedule = (*POLICY.schedule_ms, 10_000, 60_000)
            if (settlement.due_at or 0) < ended + schedule[charged - 1] * 0.8:
                self.wrong.append(f"{settlement.job} is retried too early")
        if not settlement.charged:
            self.second_chances[settlement.job] += 1
        return held

    async def recover(self, **named: Any) -> Recovered:
        for job in self.records.values():
            if job.state == "running" and node_of(job.lease or "") in named["nodes"]:
                self.second_chances[job.id] += 1
        return await super().recover(**named)


class View:
    """One process's store: fails by chance, and answers nothing once the process is dead."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.dead = False
        self.reads = self

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._world.ledger, name)
        if name == "lost_nodes":
            return verb  # before anything runs: `recover`, which follows, fails for both

        async def asked(*args: Any, **named: Any) -> Any:
            if self.dead:
                await self._world.silence.wait()
            chance = self._world.rng.random()
            if chance < self._world.store_fails:
                raise StoreUnavailable("before")
            answer = await verb(*args, **named)
            if chance > 1 - self._world.store_fails:
                raise StoreUnavailable("after")
            return answer

        return asked


class FakeAction:
    """Takes its time, then ends anyhow; runs no job twice at once."""

    def __init__(self, world: "World", view: View) -> None:
        self._world = world
        self._view = view

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        del call
        world = self._world
        if self._view.dead:  # what was about to start when the process died
            await asyncio.Event().wait()
        world.begins(job)
        try:
            if POISON in job.id:
                world.crash_now.set()
                await asyncio.Event().wait()  # it takes the process with it
            await asyncio.sleep(world.rng.choice((0, 0.01, 0.2, 2, 9)))
            return world.an_outcome(job)
        finally:
            world.running.discard(job.id)

    async def close(self) -> None:
        """Nothing."""


class FakePrompt(FakeAction):
    """Ends in passing."""

    def run_now(self, call: ActionCall, job: Job) -> Outcome:
        del call
        if self._view.dead:
            return Done()
        self._world.begins(job)
        self._world.running.discard(job.id)
        return self._world.an_outcome(job)


class FakeBeginning(FakeAction):
    """Ends by a callback; now and then it wants a task after all."""

    def begin(
        self, call: ActionCall, job: Job, ended: Callable[[Outcome | Exception], object]
    ) -> Callable[[], None] | None:
        del call
        world, loop = self._world, asyncio.get_running_loop()
        if self._view.dead or world.rng.random() < 0.2:
            return None
        world.begins(job)
        timer = None

        def end() -> None:
            if not self._view.dead:
                world.running.discard(job.id)
                ended(world.said(job))

        def cancel() -> None:
            world.running.discard(job.id)
            if timer is not None:
                timer.cancel()

        if POISON in job.id:
            world.crash_now.set()
        else:
            timer = loop.call_later(world.rng.choice((0, 0.01, 0.2, 2, 9)), end)
        return cancel


class World:
    """Everything a seed decides."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clock: Clock = SimClock()
        self.store_fails = rng.choice((0.0, 0.0, 0.05))
        self.crashes = rng.choice((0, 2, 6))
        self.ledger = CheckedLedger(self)
        self.running: set[str] = set()
        self.runs: Counter[str] = Counter()
        self.crash_now = asyncio.Event()
        self.silence = asyncio.Event()  # never set: what a dead process waits for
        self.boots = 0
        self.jobs = 0
        self.committing = True

    async def commit_pause(self) -> None:
        await asyncio.sleep(self.rng.choice((0, 0.001, 0.02)))

    def due_by(self, job: Job) -> int:
        """The ledger time up to which jobs may begin."""
        return self.clock.ledger()

    def begins(self, job: Job) -> None:
        for wrong, text in (
            (job.id in self.running, "runs twice at once"),
            (self.due_by(job) < job.due_at, "runs before it is due"),
            (self.ledger.records[job.id].attempt != job.attempt, "runs unrecorded"),
            (self.ledger.records[job.id].lease != job.lease, "runs without its lease"),
        ):
            if wrong:  # noted, not raised: dispatch outlives whatever an action raises
                self.ledger.wrong.append(f"{job.id} {text}")
        self.running.add(job.id)
        self.runs[job.id] += 1

    def an_outcome(self, job: Job) -> Outcome:
        chance = self.rng.random()
        if chance < 0.55:
            return Done({"by": job.id})
        if chance < 0.6:
            return FailOutcome("no")
        if chance < 0.65:
            raise KeyError("a defect")
        failure = self.rng.choice(FAILURES)
        return RetryOutcome(failure, "again", self.rng.choice((None, 70.0)))

    def said(self, job: Job) -> Outcome | Exception:
        try:
            return self.an_outcome(job)
        except KeyError as error:
            return error

    def reads(self, job: Job) -> frozenset[str]:
        return frozenset(need.action for need in job.after)

    def render(self, work: Work, results: Results) -> ActionCall | Skip:
        del results
        job = work.job
        if job.event == "unrenderable":
            raise RenderError("http.path", "no")
        return LogCall("x") if job.kind == "log" else an_http_call()

    def died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        """As the router does: an event of every death, but of none that such an event led to."""
        if job.endpoint == OWN:
            return None
        target, kind = TARGETS[attempt.number % len(TARGETS)]
        name = f"{job.id}/{attempt.number}".replace(POISON, "dead")
        delivery = a_delivery(f"dlv_{name}", endpoint=OWN, path=f"{job.id}/{attempt.number}")
        new = a_new_job(
            f"job_{name}", target=target, kind=kind, due_at=self.clock.ledger(), event="job.dead"
        )
        return Acceptance(delivery, (), (new,))

    def dispatcher(self, view: View) -> Dispatcher:
        """A process's dispatcher, with a boot id of its own."""
        self.boots += 1
        action, prompt = FakeAction(self, view), FakePrompt(self, view)
        beginning = FakeBeginning(self, view)
        live = DispatchRules(
            render=self.render,
            retry_of=lambda job: POLICY,
            limits=lambda target, kind: TargetLimits(
                3, 4.0 if target == "chat" else None, KINDS[kind].limits.breaker
            ),
            reads=self.reads,
            died=self.died,
        )
        return Dispatcher(
            view,
            {"http": beginning, "shell": action, "log": prompt},
            live,
            clock=self.clock,
            rng=self.rng,
            node=f"boot{self.boots}",
            settings=DispatchSettings(hand_over=4),
        )

    async def intake(self, dispatcher: Dispatcher, view: View) -> None:
        """Deliveries of a few jobs each, handed over where a slot is free."""
        while self.committing:
            await asyncio.sleep(self.rng.expovariate(4))
            await self.accept(dispatcher, view)

    async def accept(self, dispatcher: Dispatcher, view: View) -> None:
        now = self.clock.ledger()
        new = []
        for _ in range(self.rng.randint(1, 3)):
            self.jobs += 1
            target, kind = self.rng.choice(TARGETS)
            poison = kind != "log" and self.rng.random() < 0.01 and self.crashes > 0
            new.append(
                a_new_job(
                    f"job_{self.jobs}{POISON if poison else ''}",
                    target=target,
                    kind=kind,
                    due_at=now,
                    event=self.rng.choice(("ok", "ok", "ok", "unrenderable")),
                    lease=dispatcher.reserve(target, kind),
                )
            )
        await self.commit(dispatcher, view, new, now)

    async def commit(self, dispatcher: Dispatcher, view: View, new: list[NewJob], now: int) -> None:
        """One delivery with these jobs, as intake does it."""
        delivery = a_delivery(f"dlv_{self.jobs}")
        leases = [job.lease for job in new if job.lease]
        try:
            made = await view.commit(delivery, new, now)
        except StoreUnavailable:
            for lease in leases:
                dispatcher.release(lease, unsure=True)
            return
        dispatcher.hand_over([Work(j, delivery, an_event()) for j in made if j.lease])
        for job in made:
            if job.state == "available":
                dispatcher.wake(job.target, job.due_at, job.kind)


async def live_through(world: World) -> None:
    """Processes one after another, killed or drained, then one that is left alone."""
    for _ in range(world.crashes):
        await _a_process(world, lasts=world.rng.expovariate(0.2))
    await _a_process(world, lasts=5.0, last=True)


async def _a_process(world: World, *, lasts: float, last: bool = False) -> None:
    view = View(world)
    dispatcher = world.dispatcher(view)
    world.crash_now.clear()
    while True:
        try:
            await dispatcher.recover()
            break
        except StoreUnavailable:
            await asyncio.sleep(0.1)
    mine = [
        asyncio.create_task(dispatcher.run()),
        asyncio.create_task(world.intake(dispatcher, view)),
    ]
    crashed = asyncio.create_task(world.crash_now.wait())
    await asyncio.wait({crashed, *mine}, timeout=lasts, return_when=asyncio.FIRST_COMPLETED)
    _no_defect(mine)
    if last and not crashed.done():
        world.committing = False
        while not _all_ended(world) and not crashed.done():
            await asyncio.sleep(1)
            _no_defect(mine)
            assert world.clock.monotonic() < 5_000, "jobs that never end"
    drains = last or (world.rng.random() < 0.3 and not crashed.done())
    if drains and not crashed.done():
        await dispatcher.drain(1.0)
        assert not world.running
    view.dead = True
    for _ in range(3):  # a slot that comes free as its task is cancelled starts one more
        _cancel_all()
        await asyncio.sleep(0)
    world.running.clear()
    if last and not _all_ended(world):
        await _a_process(world, lasts=5.0, last=True)


def _no_defect(tasks: list[Any]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()


def _all_ended(world: World) -> bool:
    return len(world.ledger.ends) == len(world.ledger.records)


def _cancel_all() -> None:
    me = asyncio.current_task()
    for task in in_order(asyncio.all_tasks()):
        if task is not me:
            task.cancel()
