"""One process of the whole simulation: real intake, dispatch, store and operator; and its death."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from router import log
from router.dispatch import Dispatcher, DispatchSettings
from router.dispatch.rules_port import dispatch_live
from router.errors import RouterError, StoreUnavailable
from router.intake import Intake
from router.kinds.kind import ActionCall
from router.model.job import (
    Attempt,
    Done,
    FailOutcome,
    FailureClass,
    Job,
    Outcome,
    RetryOutcome,
    Settlement,
)
from router.model.selector import Criteria
from router.operator.requests import ChangeRequest, ReplayRequest, TargetRequest
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef, LiveRuleset
from router.serving.upkeep import Upkeep
from router.store.values import Selector, untold
from tests.operators import verbs_of
from tests.sim.filed import Breaks, FiledStore, asking, at_once
from tests.sim.twin import READ
from tests.sim.watch import Watch

if TYPE_CHECKING:
    from tests.sim.whole import Whole

FAILURES: tuple[FailureClass, ...] = ("network", "timeout", "throttled", "client", "temporary")
WISHES = (None, None, 0.0, 70.0)
LOG = log.get("sim")
TARGETS = ("erp", "chat")
OPERATED_S = 2_000
"""For so long there is an operator: one who opens hopeless jobs for ever would see no end."""


class View:
    """The store as this process has it: it fails by chance, at a named step the process dies."""

    def __init__(self, process: "Process", store: FiledStore) -> None:
        self._process, self._store = process, store
        self.reads = self  # whatever is asked goes one way

    def __getattr__(self, name: str) -> Any:
        async def asked(*args: Any, **named: Any) -> Any:
            process, step = self._process, name.removesuffix("_all")
            await process.at(f"before {step}")
            chance = process.world.rng.random()
            try:
                if chance < process.world.fails:
                    raise StoreUnavailable("before")
                answer = await self._answer(name, args, named)
                await process.at(f"after {step}")
                if chance > 1 - process.world.fails:
                    raise StoreUnavailable("after")
            except StoreUnavailable:
                process.world.history.unsure += name == "revive"
                raise
            return answer

        return asked

    async def _answer(self, name: str, args: Any, named: Any) -> Any:
        world = self._process.world
        twin = world.twins.of_verb(name, world.clock.now(), args, named)
        with asking(twin):
            verb = getattr(self._store, name, None) or getattr(self._store.reads, name)
            answer = await verb(*args, **named)
        if name in READ:
            expected = at_once(getattr(world.twins.model, name)(*args, **named))
            if answer != expected:
                world.history.wrong.append(f"{name}: the store {answer}, the model {expected}")
        return answer


class Act:
    """Takes its time, then ends anyhow."""

    def __init__(self, process: "Process") -> None:
        self._process = process

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        process = self._process
        rng = process.world.rng
        await process.at("before action")
        process.watch.begins(job, call, process.boot)
        process.in_hand[job.id] = job
        try:
            if process.of_body(job, b'"poison": true'):
                process.die_at("poison")
                await process.world.silence.wait()
            await process.at("in action")
            await asyncio.sleep(rng.choice((0, 0.01, 0.2, 2, 9)))
        finally:
            process.watch.ends(job)
        outcome = self._outcome(job)
        process.world.history.outcomes[job.id, job.attempt] = outcome
        await process.at("after action")
        return outcome

    def _outcome(self, job: Job) -> Outcome:
        rng = self._process.world.rng
        left = {"status": 200, "json": {"by": job.id}}
        if self._process.of_body(job, b'"hopeless": true'):
            return RetryOutcome(rng.choice(FAILURES[:3]), "never", None, left)
        chance = rng.random()
        if chance < 0.62:
            return Done(left)
        if chance < 0.68:
            return FailOutcome("no", {**left, "status": 410})
        return RetryOutcome(rng.choice(FAILURES), "again", rng.choice(WISHES), left)

    async def close(self) -> None:
        """Nothing."""


class Handing:
    """Dispatch as intake sees it; the process may die as jobs are handed over."""

    def __init__(self, process: "Process", dispatcher: Dispatcher) -> None:
        self._process, self._dispatcher = process, dispatcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)

    def hand_over(self, works: Sequence[Any]) -> None:
        if not works:
            return
        if self._process.passes("before hand-over"):
            self._dispatcher.hand_over(works)
            self._process.passes("after hand-over")


class Process:
    """One boot. `plan`: at which step it dies, and at which time it passes there."""

    def __init__(self, world: "Whole", boot: str, plan: tuple[str, int] | None) -> None:
        self.world, self.boot, self.plan = world, boot, plan
        self.dead = False
        self.crashed = asyncio.Event()
        self.passed: dict[str, int] = {}
        self.in_hand: dict[str, Job] = {}
        self.watch = Watch(world)
        self.store = FiledStore(world.path, world.clock, world.pause)
        self.store.inline.breaks = self._breaks
        self.store.inline.differ = world.history.wrong.append
        self.view: Any = View(self, self.store)
        self.live = LiveRef(world.rules)
        self.dispatcher = self._dispatcher()
        self.intake: Intake | None = None
        self.operator: StoreVerbs | None = None
        self.changes = 0

    def _breaks(self, db: Any) -> Breaks | None:
        if self.world.rng.random() < self.world.fails / 2:
            return Breaks(db, self.world.rng)
        return None

    def _dispatcher(self) -> Dispatcher:
        act = Act(self)
        live = dispatch_live(self.live, {}, untold)
        return Dispatcher(
            self.view,
            {"http": act, "shell": act, "log": act},
            live,
            clock=self.world.clock,
            rng=self.world.rng,
            node=self.boot,
            settings=DispatchSettings(hand_over=4),
        )

    # -- its death -------------------------------------------------------------------------------

    def passes(self, step: str) -> bool:
        """Whether it is alive after this step."""
        if self.dead:
            return False
        self.passed[step] = self.passed.get(step, 0) + 1
        if self.plan == (step, self.passed[step]):
            self.die_at(step)
        return not self.dead

    async def at(self, step: str) -> None:
        if not self.passes(step):
            await self.world.silence.wait()

    def die_at(self, step: str) -> None:
        self.dead = True
        self.store.inline.dead = True
        self.world.history.crashes.append(step)
        self.crashed.set()

    def die(self) -> None:
        """What it had in hand when it died may still come, much too late."""
        self.store.die()
        self.world.late = list(self.in_hand.values())

    def of_body(self, job: Job, word: bytes) -> bool:
        """Whether the body of the job's delivery says this."""
        return word in self.world.twins.model._deliveries[job.delivery][0].body

    # -- its life --------------------------------------------------------------------------------

    async def main(self) -> None:
        """Everything that a server does."""
        await self.store.start()
        await self._insisting(self.dispatcher.recover)
        world = self.world
        self.intake = Intake(
            live=self.live,
            store=self.view,
            dispatch=Handing(self, self.dispatcher),
            clock=world.clock,
            ids=world.ids,
        )
        self.upkeep = Upkeep(
            store=self.view,
            live=self.live,
            dispatch=self.dispatcher,
            clock=world.clock,
            log=LOG,
        )
        self.operator = verbs_of(
            self.view,
            self.live,
            world.clock,
            ids=world.ids,
            wake=self.dispatcher.wake,
            breakers=self.dispatcher.breakers,
        )
        await self._put_in_force()
        await self._insisting(self.operator.replays.resume)
        tasks = [
            asyncio.create_task(self.dispatcher.run()),
            asyncio.create_task(self._operating()),
            asyncio.create_task(self._late()),
        ]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        await self.world.silence.wait()

    async def _insisting(self, verb: Any) -> Any:
        while True:
            try:
                return await verb()
            except StoreUnavailable:
                await asyncio.sleep(0.1)

    async def _late(self) -> None:
        """I18: results of a process that is long dead."""
        late, self.world.late = self.world.late, []
        for job in late:
            await asyncio.sleep(self.world.rng.choice((0, 1, 30)))
            now = self.world.clock.now()
            attempt = Attempt(
                job.id, job.attempt, now, now, "succeeded", None, {"late": True}, job.generation
            )
            settlement = Settlement(job.id, job.lease or "", attempt, "succeeded")
            try:
                if (await self.view.settle(settlement)).fate == "held":
                    self.world.history.broken(18, f"{job.id} took a late result")
            except StoreUnavailable:
                continue

    async def drain(self) -> None:
        await self.dispatcher.drain(1.0)
        if self.watch.running and not self.dead:
            self.world.history.broken(17, "something runs after the drain")

    # -- its operator ----------------------------------------------------------------------------

    async def _operating(self) -> None:
        rng = self.world.rng
        while self.world.clock.monotonic() < OPERATED_S:
            await asyncio.sleep(rng.expovariate(0.05))
            verbs = (self._replay, self._again, self._stop, self._revive, self._pause)
            try:
                await rng.choice((self._reload, *verbs))()
            except RouterError:
                continue  # the store failed, or what was named is not there: asked another time
        await self._reload(self.world.generations[0])  # nothing stays paused
        assert self.operator is not None
        for target in TARGETS:
            await self._insisting(partial(self.operator.resume, TargetRequest(target)))

    async def _pause(self) -> None:
        """A target; or another one is resumed."""
        assert self.operator is not None
        verb = self.world.rng.choice((self.operator.pause, self.operator.resume))
        await verb(TargetRequest(self.world.rng.choice(TARGETS)))

    async def _reload(self, live: LiveRuleset | None = None) -> None:
        self.world.rules = live or self.world.rng.choice(self.world.generations)
        self.live.swap(self.world.rules)
        await self._put_in_force()

    async def _put_in_force(self) -> None:
        generation, at = self.live.current.ruleset.generation, self.world.clock.now()
        await self._insisting(lambda: self.view.put_in_force(generation, by="sim", at=at))
        assert self.upkeep is not None
        await self._insisting(self.upkeep.apply)

    async def _replay(self, asked: ReplayRequest | None = None) -> None:
        """One more replay: singly, by a filter, by times; its name makes it one and the same."""
        world, rng = self.world, self.world.rng
        if asked is None and len(world.replays) >= 3:
            return
        if asked is None:
            stored = world.twins.jobs()
            if not stored:
                return
            now = world.clock.now()
            name = f"rpl-{len(world.replays)}"
            asked = rng.choice(
                (
                    ReplayRequest((rng.choice(stored).id,), name=name),
                    ReplayRequest((rng.choice(stored).delivery,), name=name),
                    ReplayRequest(selector=Criteria(state="dead"), rate=2.0, name=name),
                    ReplayRequest(selector=Criteria(rule="chain", since=now - 60_000), name=name),
                )
            )
            world.replays[name] = asked
        assert self.operator is not None
        await self.operator.replay(asked)

    async def _again(self) -> None:
        """I29: the same request once more."""
        if self.world.replays:
            self.world.history.put_to_the_test(29)
            await self._replay(self.world.rng.choice(list(self.world.replays.values())))

    async def _stop(self) -> None:
        if self.world.replays and self.world.rng.random() < 0.6:
            name = self.world.rng.choice(list(self.world.replays))
            assert self.operator is not None
            self.world.cancelled.add(name)
            await self.operator.cancel(ChangeRequest((), Criteria(replay=name)))

    async def _revive(self) -> None:
        if self.world.rng.random() < 0.3:
            assert self.operator is not None
            await self.operator.revive(ChangeRequest((), Criteria(state="dead", rule="plain")))

    async def last_requests(self) -> None:
        """When all is quiet: the usual rules, then dead letters again, each way once."""
        self.changes += 1
        if self.changes == 1:
            await self._reload(self.world.generations[0])
            return
        dead = [j for j in self.world.twins.jobs() if j.state == "dead" and j.replay_of is None]
        name = "rpl-last"
        if not dead or name in self.world.replays:
            self.changes = 99
            return
        first = min(dead, key=lambda j: j.created_at)
        times = Selector(state="dead", since=first.created_at, until=first.created_at + 1)
        asked = self.world.rng.choice(
            (
                ReplayRequest((first.id,), name=name),
                ReplayRequest(selector=Criteria(state="dead", rule=first.rule), name=name),
                ReplayRequest(selector=times, name=name),
            )
        )
        self.world.replays[name] = asked
        await self._insisting(lambda: self._replay(asked))

    @property
    def operator_done(self) -> bool:
        return self.changes >= 99
