"""Which leased or due job starts when."""

import asyncio
import random
from collections.abc import Collection, Mapping

from router.clock import Clock
from router.dispatch.alarm import Alarm, none_left
from router.dispatch.breakers import Breakers, target_statuses
from router.dispatch.fairness import Fairness
from router.dispatch.hand_over import HandOver
from router.dispatch.lease_plan import LeasePlan, Wanted
from router.dispatch.leases import Asked, Leases
from router.dispatch.live import DispatchRules, DispatchSettings
from router.dispatch.lost_leases import LostLeases
from router.dispatch.node_shares import NodeShares
from router.dispatch.observed import StoreFailed
from router.dispatch.protocol import Action
from router.dispatch.runner import Runner, RunnerCalls
from router.dispatch.settlement import Settler
from router.dispatch.slots import SMALL, Slots
from router.dispatch.sweeper import Sweeper
from router.kinds import ADDRESSED
from router.model.job import ActionKind, Job, Work
from router.model.observed import Observer, unobserved
from router.model.packed import body_size
from router.model.target import TargetChange, TargetNow
from router.store.protocol import DispatchStore
from router.store.values import LeaseBatch, Recovered

LAST_SETTLES_S = 2.0
FULL_S = 0.02
"""How long to wait when too many results are unwritten."""
SOON_MS = 60_000
"""A retry due sooner than this has its turn beside those of other endpoints."""


class Dispatcher:
    """
    Runs jobs: handed over in memory by intake, or leased from the store when due.

    `node` is the number that the store gave this process: its leases are `<node>/<number>`. The
    verbs that are not async must be called on the loop that `run` runs on.
    """

    def __init__(
        self,
        store: DispatchStore,
        actions: Mapping[ActionKind, Action],
        live: DispatchRules,
        *,
        clock: Clock,
        rng: random.Random,
        node: str,
        observe: Observer = unobserved,
        settings: DispatchSettings | None = None,
    ) -> None:
        self._store, self._live, self._clock = store, live, clock
        self._observe = observe
        bounds = self._settings = settings or DispatchSettings()
        totals = bounds.totals
        self.breakers = Breakers(live.limits, clock, rng, self._changed)
        self._slots = Slots(
            self.breakers.limits, clock, totals, body_bytes=bounds.body_bytes, shared=bounds.shared
        )
        self._fairness = Fairness()
        self._plan = LeasePlan(self._slots, self.breakers, totals, live.kind_of)
        self._alarm, self._sweep_soon = Alarm(clock), Alarm(clock)
        self.shares = NodeShares(
            self._slots,
            self._plan,
            live,
            clock,
            starts=self._may_start,
            changed=self._alarm.ring,
        )
        self._leases = self._make_leases(node)
        self._leases.held = bounds.held
        self._runner = self._make_runner(actions, rng)
        self._sweeper = Sweeper(
            store,
            live,
            clock,
            plan=self._plan,
            leases=self._leases,
            runner=self._runner,
            wake=self.wake,
        )
        self._handed = HandOver(
            most=bounds.hand_over,
            slots=self._slots,
            leases=self._leases,
            settling=self._runner.settling,
            may_start=self._may_start_at_once,
            begin=self._begin,
            put_back=self._put_back,
            freed=self._alarm.ring,
        )
        self.reserve, self.release = self._handed.reserve, self._handed.release
        self.hand_over = self._handed.hand_over
        self._is_soon = self._draining = False

    def _make_leases(self, node: str) -> Leases:
        others = self._live.others
        return Leases(
            self._store,
            self._clock,
            node=node,
            fresh=self._fairness.named,
            lost=LostLeases(self._store, self._clock),
            leased=self._leased,
            failed=self._not_leased,
            known=None if others is None else others.fetch,
        )

    def _make_runner(self, actions: Mapping[ActionKind, Action], rng: random.Random) -> Runner:
        return Runner(
            self._store,
            actions,
            self._live,
            clock=self._clock,
            settler=Settler(rng, dry=self._settings.dry, retry_at=self.breakers.retry_at),
            calls=RunnerCalls(
                holds=self._leases.holds,
                called=self.breakers.ended,
                landed=self._landed,
                due=self._due_again,
                freed=self.wake,
                lost=self._leases.lost.job,
            ),
            observe=self._observe,
            settings=self._settings,
        )

    # -- news of due jobs ----------------------------------------------------------------------

    def wake(
        self,
        target: str,
        due_at: int,
        kind: ActionKind | None = None,
        fresh: tuple[str, str] | None = None,
    ) -> None:
        """
        A job of `target` was committed `available`, due at `due_at` (ledger time); `fresh`:
        the endpoint and id of that job, so that it need not wait behind a backlog.
        """
        if kind is not None:
            self._plan.learn(target, kind)
        if fresh is not None:
            self._fairness.put(target, *fresh, due_at)
        if self._plan.due.put(target, due_at):
            self._alarm.ring()

    def heard(self, targets: Collection[str]) -> None:
        """Another node has made work for these targets due; none: see what there is."""
        now = self._clock.ledger()
        for target in targets:
            self.wake(target, now)
        if not targets:
            self._sweep_soon.ring()

    # -- the owner's verbs ---------------------------------------------------------------------

    async def recover(self) -> Recovered:
        """
        Reclaim what earlier processes left running; before `run`, and before intake opens.

        Raises:
            StoreUnavailable: nothing is known.
        """
        await self.breakers.restore(self._store)
        return await self._sweeper.recover()

    async def recover_nodes(self) -> Recovered:
        """The same beside `run`, of nodes that run no more: some of it may begin here at once."""
        recovered = await self._sweeper.recover()
        if recovered.reclaimed or recovered.dead:
            self._sweep_soon.ring()
        return recovered

    async def run(self) -> None:
        """Lease and start due jobs until `drain`."""
        sweeper = asyncio.get_running_loop().create_task(self._sweep_on())
        try:
            while not self._draining:
                if not self._lease_due():
                    await self._alarm.wait(self._idle_s())
        except asyncio.CancelledError:
            self._leases.cancel()
            raise
        finally:
            sweeper.cancel()
            self._alarm.close()
            self._sweep_soon.close()

    async def drain(self, grace_s: float) -> None:
        """
        Start nothing more, give running actions `grace_s`, then interrupt them: their jobs are
        available again, uncharged. Ends when every result is written or the store is given up.
        """
        self._draining = True
        self._alarm.ring()
        self._handed.give_back_all()
        await self._quiet(grace_s)
        self._runner.interrupt()
        await self._quiet(LAST_SETTLES_S)
        self._runner.abandon()
        await self._quiet(LAST_SETTLES_S)

    def start_until(self, moment: float) -> None:
        """Start work until this moment of monotonic time."""
        self._leases.until = moment
        self._alarm.ring()

    @property
    def held(self) -> bool:
        """Whether no job runs until `end_hold`."""
        return self._leases.held

    def end_hold(self) -> None:
        """Run jobs from now on: those that are due, at once."""
        self._leases.held = False
        self._sweep_soon.ring()
        self._alarm.ring()

    def hold_back(self) -> None:
        """Start nothing until `start_until`; what has not begun is available, what runs goes on."""
        self._leases.until = self._clock.monotonic()
        self._handed.give_back_all()

    def rejoined(self, node: str) -> None:
        """It is another node now: what its former number leased, and has not begun, does not."""
        self._leases.rejoined(node)
        self.shares.forget()

    # -- targets -------------------------------------------------------------------------------

    def targets(self) -> tuple[TargetNow, ...]:
        """Every target that is or has been called or is not in order, as it is now."""
        for target in self._slots.holders():
            self.breakers.of(target)  # none yet while the first call is under way
        return target_statuses(
            self.breakers,
            self._live.limits,
            self._clock,
            kind_of=lambda target: self._plan.kind_of(target) or ADDRESSED,
            in_use=self._slots.held_by,
        )

    def _changed(self, change: TargetChange) -> None:
        if change.new == "failing" or self.breakers.of(change.target).ramping:
            self.wake(change.target, self._clock.ledger())
        self._observe(change)

    # -- starting ------------------------------------------------------------------------------

    def _may_start(self) -> bool:
        return not self._draining and self._leases.are_safe()

    def _may_start_at_once(self, target: str, kind: ActionKind) -> bool:
        """Whether a job that comes now may be handed over: nothing older waits, a slot is free."""
        if not self._may_start():
            return False
        breaker = self.breakers.unhealthy.get(target)
        if breaker is not None:
            breaker.defer()
            return False
        if self._fairness.waits(target):
            return False  # others wait: they take turns
        if target in self._plan.owed and self._slots.rated(target, kind):
            return False  # older jobs wait for this rate
        return self._runner.is_prompt(kind) or bool(self._slots.room(target, kind))

    def _may_begin(self, job: Job) -> bool:
        return not self._draining and self._leases.holds(job) and self._runner.can_run(job)

    def _begin(self, work: Work) -> None:
        """Start a job whose slot is held."""
        if not self._may_begin(work.job):
            self._put_back(work.job)
            return
        if self.breakers.unhealthy:
            self.breakers.begun(work.job)
        self._runner.start(work)

    def _put_back(self, job: Job) -> None:
        self._landed(job)
        self._runner.put_back(job)

    def _landed(self, job: Job) -> None:
        """A slot is free for the next lease."""
        target, kind = job.target, job.kind
        self._slots.give(target, kind)
        if self._slots.bodies.held and self._slots.bodies.give(job):
            self._alarm.ring()  # a job of any kind may have waited for that
        if self._plan.freed(target, kind) and not self._is_soon:
            self._is_soon = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Some slots came free in this turn: one commit has their ends, and the next jobs."""
        self._is_soon = False
        if self._draining or not self._lease_due():
            self._alarm.ring()

    def _due_again(self, job: Job, due_at: int) -> None:
        soon = due_at - self._clock.ledger() <= SOON_MS
        self.wake(job.target, due_at, job.kind, (job.endpoint, job.id) if soon else None)

    # -- leasing -------------------------------------------------------------------------------

    def _lease_due(self) -> bool:
        """
        Lease what may start now, if anything. Several leases may be under way, each for slots of
        its own, so that a slot freed meanwhile need not wait for the commit before.
        """
        if self._leases.wait_s() or self._runner.settling.unsettled >= self._settings.unsettled:
            return False
        now = self._clock.ledger()
        wanted = self._plan.take(now)
        if not wanted:
            return False
        self._runner.settling.flush()  # so that one commit carries both
        self._leases.ask(wanted, now)
        return True

    def _leased(self, asked: Asked, batch: LeaseBatch) -> None:
        self._take_over(asked.wanted, batch, asked.now)
        self._alarm.ring()

    def _not_leased(self, asked: Asked, error: Exception) -> None:
        self._observe(StoreFailed("lease", error))
        self._give_back(asked.wanted, {}, dict.fromkeys(asked.wanted, asked.now))
        self._alarm.ring()

    def _take_over(self, wanted: Wanted, batch: LeaseBatch, now: int) -> None:
        used: dict[str, int] = {}
        for work in batch.jobs:
            target, kind = work.job.target, work.job.kind
            if (size := body_size(work.delivery)) > SMALL:
                self._slots.bodies.take(work.job, size)
            if wanted[target].kind is not None:
                used[target] = used.get(target, 0) + 1
                self._begin(work)
            else:
                self._plan.learn(target, kind)
                self._begin_if_room(work)
            self._fairness.taken(target, work.job.endpoint, work.job.id)
        for target, other in batch.kinds.items():
            self._plan.learn(target, other)
        self._give_back(wanted, used, batch.next_due)
        for target, due_at in batch.next_due.items():
            if self._fairness.left(target, due_at, now):
                self._plan.owed.discard(target)
                self.breakers.drained(target)

    def _begin_if_room(self, work: Work) -> None:
        """Start a job whose kind nobody knew; without a slot for it, give it back."""
        job = work.job
        if self._slots.room(job.target, job.kind):
            self._slots.take(job.target, job.kind)
            self._begin(work)
            return
        if self._slots.bodies.held:
            self._slots.bodies.give(job)
        self._runner.put_back(job)

    def _give_back(
        self, wanted: Wanted, used: Mapping[str, int], next_due: Mapping[str, int | None]
    ) -> None:
        """Give back the slots that no job came for, and remember what comes next."""
        for target, (kind, room) in wanted.items():
            self._plan.answered(target)
            unused = room - used.get(target, 0)
            if kind is not None and unused:
                self._slots.give(target, kind, unused, unused=True)
            due_at = next_due.get(target)
            if due_at is not None:
                self._plan.due.put(target, due_at)

    # -- waiting -------------------------------------------------------------------------------

    def _idle_s(self) -> float:
        """Seconds until the next due time, at most a sweep's interval."""
        if self._runner.settling.unsettled >= self._settings.unsettled:
            return FULL_S
        if (wait := self._leases.wait_s()) > 0:
            return min(wait, self._settings.sweep_s)
        if (due_at := self._plan.due.next()) is None:
            return self._settings.sweep_s
        wait = (due_at - self._clock.ledger()) / 1000
        return min(max(wait, 0.001), self._settings.sweep_s)

    async def _sweep_on(self) -> None:
        """Now and then ask the store itself what is due: whatever was missed is found here."""
        while True:
            try:
                await self._sweep()
            except Exception as error:  # noqa: BLE001 - the sweep must outlive any store
                self._observe(StoreFailed("targets", error))
            await self._sweep_soon.wait(self._settings.sweep_s)

    async def _sweep(self) -> None:
        await self._sweeper.sweep()
        self._slots.forget_full_buckets()
        await self.breakers.agree(self._store)
        await self.breakers.save(self._store)

    async def _quiet(self, seconds: float) -> None:
        """Wait until nothing runs and every result is written, `seconds` at most."""
        await none_left(lambda: self._runner.busy() | self._leases.under_way, self._clock, seconds)
