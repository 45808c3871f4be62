"""
Several routers on one ledger, under virtual time and one seed: they are killed, stand still for
longer than others wait for them, are cut off from the store, or find it away.

The store is the plain model, which every router reaches in a way of its own: slowly, sometimes in
vain, sometimes without hearing what became of it. `promises` says what must hold of it, and
`broken` here what more is promised where nodes are several.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from router import log
from router.clock import SteadyClock
from router.dispatch import Dispatcher, DispatchSettings
from router.dispatch.observed import LeaseLost
from router.dispatch.rules_port import dispatch_live
from router.errors import StoreUnavailable
from router.intake import Intake
from router.kinds.kind import ActionCall
from router.model.job import ENDED, Job
from router.model.observed import Observed
from router.rules.live import LiveRef
from router.serving.failure_detector import GONE_S
from router.serving.nodes import Membership, join
from router.serving.store_time import StoreTime
from router.store.values import NodeCard, untold
from tests.sim import promises
from tests.sim.life import Act
from tests.sim.loop import simulate
from tests.sim.owners import OwnedLoop, Owner
from tests.sim.watch import Watch
from tests.sim.whole import LONGEST_S, Whole
from tests.singly import Singly

CARD = NodeCard("sim", "1", "g")
SLOW_S = 2.0
"""What a beat may take on its way, and the one before."""
VERBS = ("accept", "accept", "lease", "lease", "settle", "results", "beat")
DELIVERIES = 30
SETTLED_S = 10
"""Within which whoever was the last to be stopped knows that it is gone."""
BUSY_S = 60
LASTS = (4, 17, 25, 40)
"""Seconds for which something is stopped or out of reach."""


class Reach(Singly):
    """The store as one router reaches it."""

    shared = True

    def __init__(self, router: "Router") -> None:
        self._router = router
        self.reads = self

    def __getattr__(self, name: str) -> Any:
        async def asked(*args: Any, **named: Any) -> Any:
            router, world = self._router, self._router.world
            chance = world.rng.random()
            await asyncio.sleep(world.rng.choice((0, 0.001, 0.02)))
            await router.lives()
            if router.is_cut or chance < world.fails:
                world.history.unsure += name == "revive"
                raise StoreUnavailable("before")
            answer = await world.ask(name, args, named)
            world.notes(router, name, args, answer)
            await asyncio.sleep(world.rng.choice((0, 0.001, 0.02)))
            await router.lives()
            if router.is_cut or chance > 1 - world.fails:
                world.history.unsure += name == "revive"
                raise StoreUnavailable("after")
            return answer

        return asked


class Router:
    """One process among others, as `Act` knows processes too."""

    def __init__(self, world: "Shared") -> None:
        self.world, self.owner = world, Owner()
        self.dead = self.cut = False
        self.at_verb: dict[str, Callable[[], None]] = {}
        self.crashed = asyncio.Event()
        self.in_hand: dict[str, Job] = {}
        self.troubled_until = 0.0
        self.watch = SharedWatch(self)
        self.live = LiveRef(world.rules)
        self.intake: Intake | None = None
        self.nodes: Membership | None = None
        self.main = asyncio.get_running_loop().create_task(self._main(), context=self.owner.context)

    @property
    def boot(self) -> str:
        return "" if self.nodes is None else self.nodes.node

    @property
    def is_cut(self) -> bool:
        return self.cut or self.world.away

    async def _main(self) -> None:
        world, store = self.world, Reach(self)
        act, any_store = Act(self), store  # type: ignore[arg-type]
        joined = await self._insisting(lambda: join(any_store, CARD, world.clock))
        dispatcher = Dispatcher(
            any_store,  # type: ignore[arg-type]
            {"http": act, "shell": act, "log": act},
            dispatch_live(self.live, {}, untold),
            clock=world.clock,
            rng=world.rng,
            node=joined.node,
            observe=self._observe,
            settings=DispatchSettings(hand_over=4, shared=True),
        )
        await self._insisting(dispatcher.recover)
        self.nodes = Membership(
            store=any_store,  # type: ignore[arg-type]
            dispatch=dispatcher,
            joined=joined,
            card=lambda: CARD,
            time=StoreTime(SteadyClock(world.clock, lambda: round(world.clock.monotonic() * 1e9))),
            clock=world.clock,
            log=log.get("sim"),
        )
        self.intake = Intake(
            live=self.live,
            store=any_store,  # type: ignore[arg-type]
            dispatch=dispatcher,
            clock=world.clock,
            ids=world.ids,
        )
        loops = (self.nodes.run(), self.nodes.watch(), dispatcher.run())
        tasks = [asyncio.create_task(loop) for loop in loops]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def _insisting(self, verb: Any) -> Any:
        while True:
            try:
                return await verb()
            except StoreUnavailable:
                await asyncio.sleep(0.1)

    def _observe(self, happened: Observed) -> None:
        self.world.seen["ends lost"] += isinstance(happened, LeaseLost)

    # -- what happens to it ----------------------------------------------------------------------

    async def lives(self) -> None:
        """The dead hear nothing."""
        if self.dead:
            await self.world.silence.wait()

    async def at(self, step: str) -> None:
        """A step of an action."""
        del step
        await self.lives()

    def die_at(self, step: str) -> None:
        self.world.history.crashes.append(step)
        self.crashed.set()

    def of_body(self, job: Job, word: bytes) -> bool:
        return word in self.world.twins.model._deliveries[job.delivery][0].body

    async def kill(self) -> None:
        self.dead, self.intake = True, None
        if self.boot:
            self.world.twins.model.close_connection(self.boot)
        await self.world.loop.bury(self.owner)

    async def stand_still(self, seconds: float) -> None:
        """Not a step is done, however long others wait for one."""
        await self._at_a_verb(lambda: setattr(self.owner, "stopped", True))
        await asyncio.sleep(seconds)
        self.troubled_until = self.world.clock.monotonic()
        if not self.dead:
            self.world.loop.go_on(self.owner)

    async def lose_the_store(self, seconds: float) -> None:
        """It is cut off from the store, which others reach."""
        await self._at_a_verb(lambda: setattr(self, "cut", True))
        await asyncio.sleep(seconds)
        self.cut, self.troubled_until = False, self.world.clock.monotonic()

    async def _at_a_verb(self, begins: Callable[[], None]) -> None:
        """It begins when the store has done a verb, and before the answer is heard."""
        verb, begun = self.world.rng.choice(VERBS), asyncio.Event()
        self.at_verb[verb] = lambda: (begins(), begun.set())[0]
        with suppress(TimeoutError):
            await asyncio.wait_for(begun.wait(), 20)
        self.at_verb.pop(verb, None)
        begins()


class SharedWatch(Watch):
    """As of one process alone. What runs on after it was taken over from counts no more."""

    world: "Shared"

    def __init__(self, router: Router) -> None:
        super().__init__(router.world)
        self.running = router.world.running

    def begins(self, job: Job, call: ActionCall, boot: str) -> None:
        for id_ in [id_ for id_, one in self.running.items() if not self._is_held(one)]:
            del self.running[id_]
        if self._is_held(job):
            super().begins(job, call, boot)
            return
        self.history.broken(19, f"{job.id} begins under {job.lease}, which is its own no more")

    def ends(self, job: Job) -> None:
        if self.running.get(job.id) is job:
            del self.running[job.id]

    def _is_held(self, job: Job) -> bool:
        kept = self.world.twins.job(job.id)
        return (kept.state, kept.lease, kept.attempt) == ("running", job.lease, job.attempt)

    def _is_recorded(self, job: Job) -> None:
        self.history.put_to_the_test(19)

    def _no_transaction(self, job: Job) -> None:
        """The model has none."""


class Shared(Whole):
    """Everything a seed decides, with the senders of `Whole`."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, Path(":memory:"), None)
        self.loop: Any = asyncio.get_running_loop()
        self.running: dict[str, Job] = {}
        self.seen: Counter[str] = Counter()
        self.joined: dict[str, Router] = {}
        self.away = False
        self.routers: list[Router] = []
        self.troubles: list[asyncio.Task[None]] = []

    async def ask(self, name: str, args: Any, named: Any) -> Any:
        """The model, at this moment."""
        self.twins.then.at = self.clock.now()
        noted = self.twins.of_verb(name, self.clock.now(), args, named)
        if noted is not None:
            return await noted()
        return await getattr(self.twins.model, name)(*args, **named)

    def notes(self, router: Router, name: str, args: Any, answer: Any) -> None:
        """Who was declared gone, and whether that may be; what shall happen at this verb does."""
        router.at_verb.pop(name.removesuffix("_all"), int)()
        if name == "join":
            self.joined[answer] = router
        elif name == "beat" and answer is None:
            self.seen["fenced"] += 1
        elif name == "declare_gone" and answer:
            gone = self.joined[args[0]]
            self.seen["gone"] += 1
            lately = gone.troubled_until > self.clock.monotonic() - GONE_S - SLOW_S
            troubled = gone.dead or gone.cut or gone.owner.stopped or lately
            if gone.boot == args[0] and not troubled:
                self.history.wrong.append(f"nodes: {args[0]} is declared gone, and lives")

    # -- what happens ----------------------------------------------------------------------------

    async def live(self) -> None:
        """Trouble upon trouble, also at once; then none any more."""
        rng = self.rng
        self.routers = [Router(self) for _ in range(rng.choice((2, 3)))]
        for _ in range(rng.choice((2, 4, 6))):
            await asyncio.sleep(rng.expovariate(0.1))
            trouble = rng.choice((self._kill, self._kill, self._stop, self._stop, self._cut))
            if rng.random() < 0.15:
                trouble = self._away
            self.troubles.append(asyncio.create_task(trouble(rng.choice(LASTS))))
        while not await self.is_calm():
            await asyncio.sleep(5)
            assert self.clock.monotonic() < LONGEST_S, f"I17: never ends: {self.unended()}"
        await asyncio.sleep(SETTLED_S)

    async def _kill(self, seconds: float) -> None:
        """A router is killed, and the next one starts in its place."""
        place = self.rng.randrange(len(self.routers))
        await self._start_anew(place, seconds)

    async def _start_anew(self, place: int, seconds: float) -> None:
        await self.routers[place].kill()
        await asyncio.sleep(seconds)
        if self.routers[place].dead:
            self.routers[place] = Router(self)

    async def _stop(self, seconds: float) -> None:
        await self.rng.choice(self.routers).stand_still(seconds)

    async def _cut(self, seconds: float) -> None:
        await self.rng.choice(self.routers).lose_the_store(seconds)

    async def _away(self, seconds: float) -> None:
        """The store is away, for everybody: nobody is suspected for that."""
        self.away = True
        await asyncio.sleep(seconds)
        self.away = False

    async def is_calm(self) -> bool:
        """Whether all has come to its end; whoever poison has killed is replaced."""
        for place, router in enumerate(self.routers):
            if router.crashed.is_set() and not router.dead:
                await self._start_anew(place, 1)
            elif router.main.done() and not router.dead:
                router.main.result()
                raise AssertionError("a router has ended by itself")
        for task in (*self.troubles, *self.outside):
            if task.done() and task is not self.main:
                task.result()
        troubled = not all(task.done() for task in self.troubles)
        return not troubled and self.outside_done() and not self.unended()

    # -- senders ---------------------------------------------------------------------------------

    async def sender(self, number: int) -> None:
        await asyncio.sleep(self.rng.uniform(0, BUSY_S))
        await super().sender(number)

    async def send(self, endpoint: str, name: str, body: bytes) -> bool:
        """Send it to any router; whether it was acknowledged within a sender's patience."""
        router = self.rng.choice(self.routers) if self.routers else None
        if router is None or router.intake is None:
            return False
        request = self.request(endpoint, name, body)
        found = router.intake.find(request.raw_path)
        assert found is not None
        asked = router.intake.accept(found, request)
        work = self.loop.create_task(asked, context=router.owner.context)
        self.outside.add(work)
        await asyncio.wait({work}, timeout=30)
        self.outside.discard(work)
        if not work.done() or work.cancelled():
            return False
        return self.acknowledged(name, body, work.result())


def _record(world: Shared) -> None:
    """What the ledger holds at the end, for the promises."""
    history = world.history
    history.jobs = {job.id: job for job in world.twins.jobs()}
    for attempt in world.twins.model._attempts:
        history.attempts.setdefault(attempt.job, []).append(attempt)


async def _lived(rng: random.Random) -> Shared:
    world = Shared(rng)
    world.main = asyncio.current_task()
    world.outside = {world.main}
    senders = [asyncio.create_task(world.sender(n)) for n in range(DELIVERIES)]
    world.outside |= set(senders)
    try:
        await world.live()
        _record(world)
    finally:
        world.probe.close()
        for router in world.routers:
            await router.kill()
    return world


def lived(seed: int) -> Shared:
    """The world of this seed at its end."""
    rng = random.Random(seed)
    world: Shared = simulate(_lived(rng), rng, OwnedLoop)
    return world


def broken(world: Shared) -> list[str]:
    """Every promise that this life broke; those of a store that several nodes share among them."""
    return [*promises.broken(world), *_of_several(world)]


def _of_several(world: Shared) -> Iterator[str]:
    model = world.twins.model
    for job in world.history.jobs.values():
        ends = [a for a in world.history.attempts.get(job.id, ()) if a.outcome == "succeeded"]
        if len(ends) > 1 + world.history.revived[job.id]:
            yield f"I20: {job.id} completed {len(ends)} times"
    if len(model._deliveries) != len(world.acked) or len(world.acked) != DELIVERIES:
        yield f"I30: {len(world.acked)} were acknowledged, {len(model._deliveries)} are kept"
    for router in world.routers:
        if not model.lives(router.boot):
            yield f"nodes: {router.boot} is gone and does not know it"
    left = [job.id for job in world.history.jobs.values() if job.lease is not None]
    if left or any(job.state not in ENDED for job in world.history.jobs.values()):
        yield f"I17: {left} are leased at the end of all things"
