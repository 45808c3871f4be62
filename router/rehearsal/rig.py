"""A router without a world: the real intake, store and dispatcher, in memory, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from router.dispatch import Dispatcher, DispatchSettings
from router.dispatch.protocol import Action
from router.dispatch.rules_port import dispatch_live
from router.intake import Intake, IntakeChecks, acceptance
from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.model.ids import Ids
from router.model.job import ActionKind, Attempt, Job
from router.model.retry import AGE_LIMIT_MS
from router.rehearsal.record import TrialRecord
from router.rehearsal.senders import ELSEWHERE, TrialKeys
from router.rehearsal.virtual_time import VirtualClock, VirtualLoop
from router.rules import own_events
from router.rules.live import LiveRef, LiveRuleset
from router.store.sqlite.inline import Memory, MemoryStore
from router.store.values import Acceptance, Selector

SWEEP_S = 3_600.0
"""A sweep finds what others have put into the store; here are no others, so it may be rare."""
FIRST_STEP_MS = 1_000
JOBS_MAX = 1_000_000

T = TypeVar("T")


class Rig:
    """One router of one ruleset; what comes of it goes into `seen`."""

    def __init__(
        self,
        live: LiveRuleset,
        memory: Memory,
        seen: TrialRecord,
        actions: Mapping[ActionKind, Action],
        *,
        start_ms: int,
        rng: random.Random,
        environ: Mapping[str, str],
        keys: TrialKeys,
    ) -> None:
        self._live, self._seen, self._keys = live, seen, keys
        self._loop = VirtualLoop()
        self.clock = VirtualClock(self._loop.time, start_ms)
        self._start_ms = start_ms
        self._ids = Ids(rng)
        self._do(self._start(memory, actions, rng, environ))

    async def _start(
        self,
        memory: Memory,
        actions: Mapping[ActionKind, Action],
        rng: random.Random,
        environ: Mapping[str, str],
    ) -> None:
        ref = LiveRef(self._live)
        self._store = MemoryStore(memory, self.clock)
        await self._store.start()
        dispatcher = Dispatcher(
            self._store,
            actions,
            dispatch_live(ref, environ, self._died),
            clock=self.clock,
            rng=rng,
            node="rehearsal",
            observe=self._seen.observe,
            settings=DispatchSettings(sweep_s=SWEEP_S, settle_within_s=0.0),
        )
        self._intake = Intake(
            live=ref,
            store=self._store,
            dispatch=dispatcher,
            clock=self.clock,
            ids=self._ids,
            observe=self._seen.observe,
            checks=IntakeChecks(lambda _: (ELSEWHERE,), keys=self._keys, asks=self._keys),
        )
        self._dispatching = self._loop.create_task(dispatcher.run())

    def _died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        """The router's own event of a dead job, for rules `from: router`."""
        now = self.clock.ledger()
        planned = own_events.death(self._live, self._ids, job, attempt, str, now)
        if planned is None or self._live.own is None:
            return None
        self._seen.planned(*planned)
        return acceptance(*planned, self._live.own, now)

    def receive(self, request: InboundRequest) -> Reply:
        """What answers a request; whatever is due at once has run by then."""
        # The router's own events have no address; over the wire no path is empty.
        endpoint = self._intake.find(request.raw_path) if request.raw_path else self._live.own
        if endpoint is None:
            return Reply(404, b"")
        if len(request.body) > endpoint.body_max:  # which the listener refuses
            self._intake.refuse(endpoint, "too_large", 413, request.peer)
            return Reply(413, b"")
        reply = self._do(self._intake.accept(endpoint, request))
        self.advance(0)
        return reply

    def advance(self, by_ms: int) -> None:
        """Let that much time pass; what is due meanwhile runs at its own time."""
        self._run_until(self.clock.now() + by_ms)

    def run_on(self) -> list[Job]:
        """Let time pass until nothing is due, a job's longest life at most; every job, in order."""
        end, step = self.clock.now() + AGE_LIMIT_MS, FIRST_STEP_MS
        while (now := self.clock.now()) < end and (due := self._do(self._store.reads.targets())):
            self._run_until(min(end, max(*due.values(), now + step)))
            step *= 2  # a target that is left alone, or slow, holds what is due
        return list(reversed(self._do(self._store.reads.jobs(Selector(limit=JOBS_MAX)))))

    def close(self) -> None:
        """Leave nothing behind."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._do(asyncio.gather(*tasks, return_exceptions=True))
        self._do(self._store.close())
        self._loop.close()

    def _run_until(self, now_ms: int) -> None:
        self._loop.run_until((now_ms - self._start_ms) / 1_000)
        if self._dispatching.done():
            self._dispatching.result()
        if self._seen.defect is not None:
            raise self._seen.defect

    def _do(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(work)
