"""
One trial after another, each in a router of its own without a world: the real intake, store and
dispatcher, in memory, in virtual time.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from router.dispatch import Dispatcher, DispatchSettings
from router.dispatch.protocol import Action
from router.dispatch.rules_port import dispatch_live
from router.expressions import JSON
from router.expressions.compare import same
from router.intake import Intake, IntakeChecks, acceptance
from router.intake.reply import Reply
from router.kinds import KINDS, simulated
from router.kinds.kind import ActionCall
from router.model.delivery import InboundRequest
from router.model.ids import Ids
from router.model.job import ActionKind, Attempt, FailOutcome, Job, Outcome
from router.model.retry import AGE_LIMIT_MS
from router.model.trial import (
    ActionKey,
    Advance,
    HandshakeStep,
    SimulatedAnswer,
    Snapshot,
    Step,
    Trial,
)
from router.rehearsal.assertions import Assertions
from router.rehearsal.explained import TrialExplainer
from router.rehearsal.record import TrialRecord
from router.rehearsal.senders import ELSEWHERE, RandomBytes, Senders, TrialKeys, invented
from router.rehearsal.snapshots import snapshot_difference, snapshot_of
from router.rehearsal.virtual_time import START_MS, VirtualClock, VirtualLoop
from router.rules import own_events
from router.rules.live import LiveRef, LiveRuleset
from router.rules.ruleset import Ruleset
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


SNAPSHOT = "snapshot"
"""How the lines about a snapshot begin."""
_SEED = 1
REAL_MAX = 100
"""How often one trial may really run something: a schedule of retries takes no time here."""
NOT_REAL = "not run: it says 'real: true', so its shell and python actions would really run"

Act = Callable[[ActionCall, Job], Outcome]
"""Really runs a call of a shell or python action, and waits for it; virtual time stands still."""


class TrialResult(msgspec.Struct, frozen=True):
    """
    A trial, what came of it, and each expectation that was not met (none: it passed). `sent` is
    what its snapshot is compared with, if it has one.
    """

    trial: Trial
    seen: TrialRecord
    failures: tuple[str, ...]
    sent: JSON = None


class TrialRunner:
    """Where the trials of one ruleset run: compiled once, with secrets invented once."""

    def __init__(
        self,
        ruleset: Ruleset,
        *,
        environ: Mapping[str, str],
        random_bytes: RandomBytes,
        act: Act | None = None,
    ) -> None:
        """`act` runs the shell and python actions of real trials; None: real trials fail."""
        self._keys = invented(ruleset, random_bytes)
        self._live = LiveRuleset(ruleset, self._keys.secrets)
        self._environ = environ
        self._random_bytes = random_bytes
        self._act = act
        self._memory = Memory()
        self.ruleset = ruleset
        self.explainer = TrialExplainer(ruleset)

    def run(self, trial: Trial) -> TrialResult:
        """
        Run one trial: nothing of it is left for the next.

        It has an event loop of its own, so no other may be running in this thread.
        """
        if trial.real and self._act is None:
            return TrialResult(trial, TrialRecord(), (NOT_REAL,))
        seen = TrialRecord()
        replies = {key: list(answers) for key, answers in trial.replies.items()}
        act = self._act if trial.real else None
        waited, prompt = (kind(seen, replies, act) for kind in (_Simulated, _Prompt))
        rig = Rig(
            self._live,
            self._memory,
            seen,
            {k: prompt if kind.local else waited for k, kind in KINDS.items()},
            start_ms=START_MS if trial.clock is None else trial.clock,
            rng=_Steady(_SEED),
            environ=self._environ,
            keys=self._keys,
        )
        senders = Senders(
            self._live.ruleset,
            self._keys,
            clock=rig.clock,
            rng=_Steady(_SEED),
            random_bytes=self._random_bytes,
        )
        try:
            for step in trial.sends:
                _take(step, senders, rig, seen)
            jobs = rig.run_on()
        finally:
            rig.close()
        for rule in self.ruleset.rules:
            if rule.id in seen.hits:
                (seen.shadow if rule.mode == "shadow" else seen.matched).append(rule.id)
        for job in jobs:
            if job.state in ("dead", "cancelled"):
                ended = seen.dead if job.state == "dead" else seen.cancelled
                ended.setdefault((job.rule, job.action), job.reason or "")
        failures = list(Assertions(trial, seen, self.explainer).lines())
        sent, snapshot = None, trial.expect.snapshot
        if snapshot is not None:
            sent = snapshot_of(seen, self._environ)
            failures += _unlike(snapshot, sent)
        return TrialResult(trial, seen, tuple(failures), sent)


def _unlike(snapshot: Snapshot, sent: JSON) -> Iterator[str]:
    if snapshot.sent is None:
        yield f"{SNAPSHOT}: there is none yet; `router test --update` writes it"
    elif not same(snapshot.sent, sent):
        yield f"{SNAPSHOT}: what is sent has changed; `router test --update` accepts it"
        yield from (f"  {line}" for line in snapshot_difference(snapshot.sent, sent))


class _Steady(random.Random):
    """Ids that are the same at every run; no jitter, so that delays are those of the schedule."""

    def uniform(self, a: float, b: float) -> float:
        """What is in the middle."""
        return (a + b) / 2


def _take(step: Step, senders: Senders, rig: Rig, seen: TrialRecord) -> None:
    if isinstance(step, Advance):
        rig.advance(step.by_ms)
        return
    if isinstance(step, HandshakeStep):
        seen.answers += [rig.receive(question) for question in senders.questions(step)]
        return
    for number in range(step.repeat):
        if number and step.every_ms:
            rig.advance(step.every_ms)
        for request in senders.requests(step):
            seen.answers.append(rig.receive(request))


class _Simulated:
    """An action of any kind: its calls are recorded, and answered from `replies`."""

    def __init__(
        self,
        seen: TrialRecord,
        replies: Mapping[ActionKey, list[SimulatedAnswer]],
        act: Act | None,
    ) -> None:
        self._seen = seen
        self._replies = replies
        self._act = act
        self._ran = 0

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Record a call and answer it."""
        return self.answered(call, job)

    def answered(self, call: ActionCall, job: Job) -> Outcome:
        """Record a call and answer it."""
        key = (job.rule, job.action)
        self._seen.calls.setdefault(key, []).append(call)
        if key not in self._replies and KINDS[call.kind].real and self._act:
            self._ran += 1
            if self._ran > REAL_MAX:
                return FailOutcome(f"a test runs at most {REAL_MAX} actions")
            return self._act(call, job)
        answers = self._replies.get(key) or [SimulatedAnswer()]
        # The next of the replies; the last stays.
        return simulated(call, answers.pop(0) if len(answers) > 1 else answers[0])

    async def close(self) -> None:
        """Nothing."""


class _Prompt(_Simulated):
    """Likewise, where dispatch does not wait for it."""

    run_now = _Simulated.answered
