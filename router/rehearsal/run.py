"""One trial after another, each in a world of its own: real intake, plan, calls and retries."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from router.dispatch.settlement import TOO_OLD, Verdicts, too_old
from router.errors import EvaluationError, RenderError
from router.intake import Intake, acceptance, count_matches
from router.model.call import Call, PythonCall, ShellCall
from router.model.delivery import Delivery, DeliveryEvent
from router.model.ids import Ids
from router.model.job import Attempt, FailOutcome, Job, Outcome, Skip
from router.model.retry import AGE_LIMIT_MS
from router.model.trial import ActionKey, Advance, SimulatedAnswer, Step, Trial
from router.operator import as_request
from router.rehearsal.answers import SUCCESS, outcome
from router.rehearsal.clock import START_MS, VirtualClock
from router.rehearsal.judge import failures
from router.rehearsal.keys import RandomBytes, invented
from router.rehearsal.ledger import TrialStore
from router.rehearsal.seen import End, Hearing, NoLog, Observed
from router.rehearsal.senders import ELSEWHERE, Senders
from router.rehearsal.witness import Witness
from router.rules import own_events
from router.rules.live import LiveRef, LiveRuleset
from router.rules.render import Material, render
from router.rules.ruleset import Ruleset
from router.store.protocol import Store

_SEED = 1
REAL_MAX = 100
"""How often one trial may really run something: a schedule of retries takes no time here."""
_ENDS: dict[str, End] = {"succeeded": "success", "retryable": "retry", "dead": "dead"}
NOT_REAL = "not run: it says 'real: true', so its shell and python actions would really run"

Act = Callable[[Call, Job], Awaitable[Outcome]]
"""Really runs a call of a shell or python action, in real time."""


class TrialResult(msgspec.Struct, frozen=True):
    """A trial, what came of it, and each expectation that was not met (none: it passed)."""

    trial: Trial
    seen: Observed
    failures: tuple[str, ...]


class Stage:
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
        self.ruleset = ruleset
        self.witness = Witness(self._live)

    async def run(self, trial: Trial) -> TrialResult:
        """Run one trial: nothing of it is left for the next."""
        if trial.real and self._act is None:
            return TrialResult(trial, Observed(), (NOT_REAL,))
        clock = VirtualClock(START_MS if trial.clock is None else trial.clock)
        rng = random.Random(_SEED)  # noqa: S311 - ids and jitter, the same at every run
        senders = Senders(
            self._live.ruleset,
            self._keys,
            clock=clock,
            rng=rng,
            random_bytes=self._random_bytes,
        )
        world = _World(self._live, trial, clock, rng, self._environ)
        if trial.real:
            world.act = self._act
        for step in trial.sends:
            await self._take(step, senders, world)
        await world.run_on()
        return TrialResult(trial, world.seen, failures(trial, world.seen, self.witness))

    @staticmethod
    async def _take(step: Step, senders: Senders, world: "_World") -> None:
        if isinstance(step, Advance):
            await world.advance(step.by_ms)
            return
        for number in range(step.repeat):
            if number and step.every_ms:
                await world.advance(step.every_ms)
            for request in senders.requests(step):
                await world.receive(request)


class _World:
    """One trial's ledger, clock and answers."""

    def __init__(
        self,
        live: LiveRuleset,
        trial: Trial,
        clock: VirtualClock,
        rng: random.Random,
        environ: Mapping[str, str],
    ) -> None:
        self.seen = Observed()
        self.act: Act | None = None
        self._ran = 0
        self._live = live
        self._clock = clock
        self._environ = environ
        self._ledger = TrialStore(clock)
        self._replies = {key: list(answers) for key, answers in trial.replies.items()}
        self._verdicts = Verdicts(rng, dry=False)
        self._events: dict[str, dict[int, DeliveryEvent]] = {}
        self._ids = Ids(rng)
        self._intake = Intake(
            live=LiveRef(live),
            store=cast("Store", self._ledger),  # intake asks for no more verbs than it has
            dispatch=_Later(),
            clock=clock,
            ids=self._ids,
            metrics=Hearing(self.seen),
            log=NoLog("rehearsal"),
            published=lambda _: (ELSEWHERE,),
        )

    async def receive(self, request: Any) -> None:
        """One request through the real intake, then whatever is due at once."""
        # The router's own events have no address; over the wire no path is empty.
        door = self._intake.find(request.raw_path) if request.raw_path else self._live.own
        if door is None:
            self.seen.statuses.append(404)
            return
        if len(request.body) > door.body_max:  # the web door's one word in this
            self._intake.refuse(door, "too_large", 413, request.peer)
            self.seen.statuses.append(413)
            return
        reply = await self._intake.accept(door, request)
        self.seen.statuses.append(reply.status)
        await self._run_until(self._clock.now())

    async def advance(self, by_ms: int) -> None:
        """Let that much time pass; what is due meanwhile runs at its own time."""
        until = self._clock.now() + by_ms
        await self._run_until(until)
        self._clock.jump(until)

    async def run_on(self) -> None:
        """Let time pass until nothing is due, a job's longest life at most; then sum up."""
        await self._run_until(self._clock.now() + AGE_LIMIT_MS)
        for rule in self._live.ruleset.rules:
            if rule.id in self.seen.hits:
                told = self.seen.shadow if rule.mode == "shadow" else self.seen.matched
                told.append(rule.id)
        self.seen.deliveries = list(self._ledger.deliveries.values())
        for job in self._ledger.jobs.values():
            if job.state == "dead":
                self.seen.dead.setdefault((job.rule, job.action), job.reason or "")
            elif job.state == "cancelled":
                self.seen.cancelled.setdefault((job.rule, job.action), job.reason or "")

    async def _run_until(self, until: int) -> None:
        while (job := self._ledger.next_due()) is not None and job.due_at <= until:
            self._clock.jump(job.due_at)
            await self._attempt(self._ledger.begin(job))

    async def _attempt(self, job: Job) -> None:
        action = self._live.actions[job.rule, job.action]
        generation, now = self._live.ruleset.generation, self._clock.now()
        ended = await self._acted(job)
        settlement = self._verdicts.settlement(job, ended, action.retry, generation, now)
        if settlement.state in _ENDS:
            ends = self.seen.ends.setdefault((job.rule, job.action), set())
            ends.add(_ENDS[settlement.state])
        self._ledger.settle(settlement)
        if settlement.state == "dead":
            await self._tell(job, settlement.attempt)

    async def _tell(self, job: Job, attempt: Attempt) -> None:
        """What the router itself has to say of a dead job, for rules `from: router`."""
        own = own_events.death(self._live, self._ids, job, attempt, str)
        if own is not None and self._live.own is not None:
            count_matches(Hearing(self.seen), NoLog("rehearsal"), *own)
            await self._ledger.accept(acceptance(*own, self._live.own))

    async def _acted(self, job: Job) -> Outcome | Skip:
        """Render and record the call, and answer it."""
        if too_old(job):
            return FailOutcome(TOO_OLD)
        try:
            call = self._call(job)
        except (RenderError, EvaluationError) as error:
            return FailOutcome(str(error))
        if isinstance(call, Skip):
            return call
        key = (job.rule, job.action)
        self.seen.calls.setdefault(key, []).append(call)
        if key not in self._replies and isinstance(call, ShellCall | PythonCall) and self.act:
            return await self._really(self.act, call, job)
        return outcome(call, self._answer(key))

    async def _really(self, act: Act, call: Call, job: Job) -> Outcome:
        self._ran += 1
        if self._ran > REAL_MAX:
            return FailOutcome(f"a test runs at most {REAL_MAX} actions")
        return await act(call, job)

    def _answer(self, key: ActionKey) -> SimulatedAnswer:
        """The next of the replies; the last stays."""
        answers = self._replies.get(key)
        if not answers:
            return SUCCESS
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def _call(self, job: Job) -> Call | Skip:
        delivery = self._ledger.deliveries[job.delivery]
        events = self._reread(delivery)
        event = msgspec.structs.replace(events[job.event_index], id=job.event_id)
        action = self._live.actions[job.rule, job.action]
        covered = tuple(events[index] for index in job.covers)
        results = self._ledger.runs.results(job.id)
        return render(
            Material(self._live, action, job, delivery, event, self._environ, covered, results)
        )

    def _reread(self, delivery: Delivery) -> dict[int, DeliveryEvent]:
        if delivery.id not in self._events:
            reading = self._live.ruleset.providers[delivery.provider].read(as_request(delivery))
            self._events[delivery.id] = {e.index: e.event() for e in reading.events}
        return self._events[delivery.id]


class _Later:
    """Takes no job in memory: the trial's loop finds every one in the ledger."""

    def reserve(self, target: str, kind: Any) -> str | None:
        """Never."""
        del target, kind
        return None

    def release(self, lease: str, *, unsure: bool = False) -> None:
        """Nothing was reserved."""

    def hand_over(self, works: Sequence[Any]) -> None:
        """Nothing was reserved."""

    def wake(self, target: str, due_at: int, kind: Any = None, fresh: Any = None) -> None:
        """Nobody sleeps."""
