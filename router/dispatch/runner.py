"""One leased job after another: render, act, settle."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from router.clock import Clock
from router.dispatch.live import DispatchRules, DispatchSettings
from router.dispatch.observed import AttemptEnded, Defect, JobsCancelled, LeaseLost, StoreFailed
from router.dispatch.protocol import Action, Results, RunNow
from router.dispatch.settlement import TOO_OLD, Settler, interrupted, too_old
from router.errors import EvaluationError, RenderError, StoreUnavailable
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.model.job import (
    ActionKind,
    Attempt,
    FailOutcome,
    Job,
    Outcome,
    RetryOutcome,
    Settlement,
    Skip,
    Work,
)
from router.model.observed import Observer
from router.model.retry import STANDARD
from router.store.protocol import DispatchStore
from router.store.values import Acceptance, Settled

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
DEATHS_MAX = 100
"""Own events of jobs that the store found dead, remembered until it names those jobs."""
_NOTHING: Results = {}


class Ends(NamedTuple):
    """
    What follows from a job's end. `called`: what came of calling its target, None if we broke it
    off; `landed`: its slot is free; `due`: it is due again; `freed`: another one may start, by
    target and due time; `lost`: its result could not be written within the patience.
    """

    called: Callable[[Job, Outcome | Skip | None], object]
    landed: Callable[[Job], None]
    due: Callable[[Job, int], None]
    freed: Callable[[str, int], None]
    lost: Callable[[Job], None]


class Runner:
    """Runs what it is given, at once. Who may run, and when, is decided before."""

    def __init__(
        self,
        store: DispatchStore,
        actions: Mapping[ActionKind, Action],
        live: DispatchRules,
        *,
        clock: Clock,
        settler: Settler,
        ends: Ends,
        observe: Observer,
        settings: DispatchSettings,
    ) -> None:
        self._store, self._actions, self._live, self._clock = store, actions, live, clock
        self._prompt: dict[ActionKind, RunNow] = {
            kind: now for kind, a in actions.items() if (now := getattr(a, "run_now", None))
        }
        self._settler, self._ends, self._observe = settler, ends, observe
        self._settings = settings
        self._acting: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._deaths: dict[str, Acceptance] = {}  # own events that the store has written itself
        self.tasks: set[asyncio.Task[None]] = set()
        self.unsettled = 0

    def start(self, work: Work) -> None:
        """Run a leased job to its settlement."""
        prompt = self._prompt.get(work.job.kind)
        if prompt is None or work.job.after:  # what it comes after is read from the store
            self._spawn(self._fly(work))
            return
        outcome = self._outcome_now(prompt, work)
        self._ends.landed(work.job)
        self._spawn(self._settle(work.job, self._settlement(work.job, outcome)))

    def put_back(self, job: Job) -> None:
        """Settle a leased job that was never started: it is available again, whatever it is."""
        self._spawn(self._settle(job, self.unbegun(job)))

    def interrupt(self) -> None:
        """Cancel every running action; each job is settled as interrupted."""
        self._stopping = True
        for task in self._acting:
            task.cancel()

    def abandon(self) -> None:
        """Cancel everything, results included: the store does not answer."""
        for task in self.tasks:
            task.cancel()

    def interrupted(self, job: Job) -> Settlement:
        """The settlement of a job whose attempt we broke off."""
        dead = (job.rule, job.action) in self._live.dead_if_interrupted()
        return self._broken_off(job, dead=dead)

    def unbegun(self, job: Job) -> Settlement:
        """The settlement of a leased job whose action never began: nothing can have been done."""
        return self._broken_off(job, dead=False)

    def _broken_off(self, job: Job, *, dead: bool) -> Settlement:
        clock, generation = self._clock, self._live.generation_of(job)
        return interrupted(job, generation, clock.now(), clock.ledger(), dead=dead)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _fly(self, work: Work) -> None:
        """The action's way; a cancellation that is not ours leaves without a settlement."""
        me = cast("asyncio.Task[None]", asyncio.current_task())
        self._acting.add(me)
        outcome: Outcome | Skip | None = None
        job, begun = work.job, None if self._stopping else self._outcome(work)
        del work  # its body and payload are large: once rendered, nobody holds them for a target
        try:
            if begun is not None:
                outcome = await begun
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        finally:
            self._acting.discard(me)
            if not KINDS[job.kind].local:
                self._ends.called(job, outcome)
            self._ends.landed(job)
        await self._settle(job, self._settlement(job, outcome))

    async def _outcome(self, work: Work) -> Outcome | Skip:
        job = work.job
        results = await self._results(job) if job.after else _NOTHING
        if isinstance(results, RetryOutcome):
            return results
        call = self._prepared(work, results)
        del work
        if isinstance(call, FailOutcome | RetryOutcome | Skip):
            return call
        try:
            async with asyncio.timeout(call.timeout_s + self._settings.guard_s):
                return await self._actions[job.kind].run(call, job)
        except TimeoutError:
            return RetryOutcome("timeout", f"not done within {call.timeout_s:g} s")
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            return self._leaked(job, error)

    async def _results(self, job: Job) -> Results | RetryOutcome:
        """What the job's action reads of those before it; the store is called until it answers."""
        wanted = self._live.reads(job)
        if not wanted:
            return _NOTHING
        pause, until = FIRST_PAUSE_S, self._clock.monotonic() + self._settings.patience_s
        while True:
            try:
                return await self._store.reads.results(job.id, wanted)
            except StoreUnavailable as error:
                self._observe(StoreFailed("results", error))
            if self._clock.monotonic() >= until:
                return RetryOutcome("error", "the results before it could not be read")
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _outcome_now(self, run_now: RunNow, work: Work) -> Outcome | Skip:
        call = self._prepared(work, _NOTHING)
        if isinstance(call, FailOutcome | RetryOutcome | Skip):
            return call
        try:
            return run_now(call, work.job)
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            return self._leaked(work.job, error)

    def _prepared(
        self, work: Work, results: Results
    ) -> ActionCall | FailOutcome | RetryOutcome | Skip:
        """The call to run, or the outcome when there is nothing to run."""
        job, delivery = work.job, work.delivery
        if too_old(job, self._clock.ledger()):
            return FailOutcome(TOO_OLD)
        try:
            return self._live.render(job, delivery, work.event, results)
        except (RenderError, EvaluationError) as error:
            return FailOutcome(str(error))
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            return self._leaked(job, error)

    def _leaked(self, job: Job, error: Exception) -> RetryOutcome:
        """Only the exception's name is stored: its text may quote a secret."""
        self._observe(Defect(job, error))
        return RetryOutcome("error", f"{type(error).__name__} inside the router, see its log")

    def _settlement(self, job: Job, outcome: Outcome | Skip | None) -> Settlement:
        if outcome is None:
            return self.interrupted(job)
        try:
            terms = self._live.retry_of(job), self._live.generation_of(job)
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            self._observe(Defect(job, error))
            terms = STANDARD, job.generation
        return self._settler.settlement(
            job, outcome, *terms, self._clock.now(), self._clock.ledger()
        )

    def own_event(self, job: Job, settlement: Settlement) -> Acceptance | None:
        """The router's own event of this end, to be committed with it."""
        return self._died(job, settlement.attempt) if settlement.state == "dead" else None

    def died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        """The same of a job that the store finds dead: `death` has it once more."""
        own = self._died(job, attempt)
        if own is not None and len(self._deaths) < DEATHS_MAX:
            self._deaths[job.id] = own
        return own

    def death(self, job: str) -> Acceptance | None:
        """The own event of a job that the store has found dead."""
        return self._deaths.pop(job, None)

    def _died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        try:
            return self._live.died(job, attempt)
        except Exception as error:  # noqa: BLE001 - a job must not hang on what is said of it
            self._observe(Defect(job, error))
            return None

    async def _settle(self, job: Job, settlement: Settlement) -> None:
        """Write a result down."""
        self.unsettled += 1
        own = self.own_event(job, settlement)
        try:
            settled = await self._written(job, settlement, own)
        finally:
            self.unsettled -= 1
        if settled is None:
            self._ends.lost(job)
            return
        shown, due_at = settlement, settlement.due_at
        if due_at is not None:  # people see wall time
            shown = replace(settlement, due_at=due_at + self._clock.offset)
        self._observe(AttemptEnded(job, shown, own) if settled else LeaseLost(job))
        if due_at is not None:
            self._ends.due(job, due_at)
        new = own.jobs if own is not None and settled else ()
        for target, due in (*settled.freed, *((job.target, job.due_at) for job in new)):
            self._ends.freed(target, due)
        if settled.cancelled:
            self._observe(JobsCancelled(job, settled.cancelled))

    async def _written(
        self, job: Job, settlement: Settlement, own: Acceptance | None
    ) -> Settled | None:
        """
        Offer a result until the store takes it: the action must not run again for our trouble.

        A result that the store chokes on is left out. None: the patience is spent.
        """
        pause, bare = FIRST_PAUSE_S, False
        until = self._clock.monotonic() + self._settings.patience_s
        while True:
            try:
                return await self._store.settle(settlement, own)
            except StoreUnavailable as error:
                self._observe(StoreFailed("settle", error))
            except Exception as error:  # noqa: BLE001 - a job must not hang on its result
                self._observe(Defect(job, error))
                if bare:
                    return None
                attempt = replace(settlement.attempt, result={"lost": True})
                settlement, bare = replace(settlement, attempt=attempt), True
                continue
            if self._clock.monotonic() >= until:
                return None
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
