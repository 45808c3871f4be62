"""One leased job after another: render, act, settle."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from router.clock import Clock
from router.dispatch.live import DispatchRules, DispatchSettings
from router.dispatch.observed import AttemptEnded, Defect, JobsCancelled, LeaseLost, StoreFailed
from router.dispatch.protocol import Action, Begin, Cancel, Results, RunNow
from router.dispatch.settlement import NOT_HERE, TOO_OLD, Settler, interrupted, too_old
from router.dispatch.settling import FIRST_PAUSE_S, LONGEST_PAUSE_S, EndQueue, UnwrittenEnd
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

OTHERS_MS, OTHERS_MOST_MS = 5_000, 600_000
"""
How long a job that cannot run here waits before any node leases it again: at first, and in the end.
"""
_NOTHING: Results = {}


class RunnerCalls(NamedTuple):
    """
    What the runner asks, and what follows from a job's end. `holds`: whether a job is still this
    node's. `called`: what came of calling its target, None if we broke it off; `landed`: its slot
    is free; `due`: it is due again; `freed`: another one may
    start, by target and due time; `lost`: its result could not be written within the patience.
    """

    holds: Callable[[Job], bool]
    called: Callable[[Job, Outcome | Skip | None], object]
    landed: Callable[[Job], None]
    due: Callable[[Job, int], None]
    freed: Callable[[str, int], None]
    lost: Callable[[Job], None]


class _Unheld(Exception):
    """A job is not this node's any more, and must not begin."""


class _Begun(NamedTuple):
    """An action that runs without a task; `guard` cuts it off when it lasts far too long."""

    job: Job
    cancel: Cancel
    guard: asyncio.TimerHandle


class Runner:
    """
    Runs what it is given, at once. Who may run, and when, is decided before; a job that had to wait
    for anything since is run if it is still held.

    An action that never waits runs in passing, one that can `begin` without a task, any other in a
    task of its own. However it ends, its end is given to `settling`.
    """

    def __init__(
        self,
        store: DispatchStore,
        actions: Mapping[ActionKind, Action],
        live: DispatchRules,
        *,
        clock: Clock,
        settler: Settler,
        calls: RunnerCalls,
        observe: Observer,
        settings: DispatchSettings,
    ) -> None:
        self._store, self._actions, self._live, self._clock = store, actions, live, clock
        self._prompt: dict[ActionKind, RunNow] = _offered(actions, "run_now")
        self._beginning: dict[ActionKind, Begin] = _offered(actions, "begin")
        self._settler, self._calls, self._observe = settler, calls, observe
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._acting: set[asyncio.Task[None]] = set()
        self._begun: dict[tuple[str, int], _Begun] = {}
        self._none_begun: asyncio.Future[None] | None = None
        self._stopping = False
        self.settling = EndQueue(
            store, clock, observe, settings, written=self._written, lost=calls.lost
        )

    def is_prompt(self, kind: ActionKind) -> bool:
        """Whether actions of this kind never wait, and so need no slot."""
        return kind in self._prompt

    def start(self, work: Work) -> None:
        """Run a leased job to its settlement."""
        job = work.job
        if job.after:  # what it comes after is read from the store
            self._spawn(self._fly(work))
        elif (prompt := self._prompt.get(job.kind)) is not None:
            outcome = self._outcome_now(prompt, work)
            self._calls.landed(job)
            self._settle(job, self._settlement(job, outcome), can_wait=True)
        elif (begin := self._beginning.get(job.kind)) is not None:
            self._begin(begin, work)
        else:
            self._spawn(self._fly(work))

    def can_run(self, job: Job) -> bool:
        """Whether its action is at hand, as far as that can be told before it is rendered."""
        return (others := self._live.others) is None or others.knows(job)

    def put_back(self, job: Job) -> None:
        """
        Settle a leased job that was never started: it is available again, whatever it is. One that
        cannot run here is due later, so that another node gets it, and later each time: perhaps
        none can run it.
        """
        if self.can_run(job):
            self._settle(job, self.unbegun(job))
            return
        now, due_at = self._clock.now(), self._clock.ledger() + _left_to_others_ms(job)
        end = interrupted(job, job.generation, now, due_at, dead=False, reason=NOT_HERE)
        self._settle(job, end)

    def interrupt(self) -> None:
        """Break every running action off; each job is settled as interrupted."""
        self._stopping = True
        for task in self._acting:
            task.cancel()
        for begun in tuple(self._begun.values()):
            self._cut_off(begun.job, None)

    def abandon(self) -> None:
        """Give up everything, results included: the store does not answer."""
        for task in self._tasks:
            task.cancel()
        self.settling.abandon()

    def busy(self) -> "set[asyncio.Future[Any]]":
        """What runs, or is being written; empty: nothing."""
        self.settling.flush()
        busy: set[asyncio.Future[Any]] = {*self._tasks, *self.settling.tasks}
        if self._begun:
            if self._none_begun is None:
                self._none_begun = asyncio.get_running_loop().create_future()
            busy.add(self._none_begun)
        return busy

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

    # -- an action without a task ----------------------------------------------------------------

    def _begin(self, begin: Begin, work: Work) -> None:
        job, call = work.job, self._prepared(work, _NOTHING)
        if isinstance(call, FailOutcome | RetryOutcome | Skip):
            self._landed(job, call)
            return
        try:
            cancel = begin(call, job, partial(self._end_begun, job))
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            self._landed(job, self._leaked(job, error))
            return
        if cancel is None:
            self._spawn(self._fly(work, call))
            return
        late = _overdue(call.timeout_s)
        last = call.timeout_s + self._settings.guard_s
        guard = asyncio.get_running_loop().call_later(last, self._cut_off, job, late)
        self._begun[job.id, job.attempt] = _Begun(job, cancel, guard)

    def _cut_off(self, job: Job, outcome: Outcome | None) -> None:
        """End a begun action, with this outcome; None: it is interrupted."""
        begun = self._begun[job.id, job.attempt]
        begun.guard.cancel()
        if (ending := begun.cancel()) is None:
            self._end_begun(job, outcome)
        else:
            self._spawn(self._end_after(ending, job, outcome))

    async def _end_after(self, ending: Awaitable[None], job: Job, outcome: Outcome | None) -> None:
        try:
            await ending
        except Exception as error:  # noqa: BLE001 - whatever leaks, the job must end its attempt
            self._end_begun(job, error)
        else:
            self._end_begun(job, outcome)

    def _end_begun(self, job: Job, outcome: Outcome | Exception | None) -> None:
        begun = self._begun.pop((job.id, job.attempt), None)
        if begun is None:
            return  # it was cut off before
        begun.guard.cancel()
        if self._none_begun is not None and not self._begun:
            self._none_begun.set_result(None)
            self._none_begun = None
        if isinstance(outcome, Exception):
            outcome = self._leaked(job, outcome)
        self._landed(job, outcome)

    def _landed(self, job: Job, outcome: Outcome | Skip | None) -> None:
        """It runs no more: its slot is free, its end is to be written."""
        if not KINDS[job.kind].local:
            self._calls.called(job, outcome)
        self._calls.landed(job)
        self._settle(job, self._settlement(job, outcome))

    # -- an action in a task ---------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fly(self, work: Work, call: ActionCall | None = None) -> None:
        """The action's way; a cancellation that is not ours leaves without a settlement."""
        me = cast("asyncio.Task[None]", asyncio.current_task())
        self._acting.add(me)
        outcome: Outcome | Skip | None = None
        unheld = False
        job, begun = work.job, None if self._stopping else self._outcome(work, call)
        del work, call  # body and payload are large: once rendered, nobody holds them for a target
        try:
            if begun is not None:
                outcome = await begun
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        except _Unheld:
            unheld = True
        finally:
            self._acting.discard(me)
            if not KINDS[job.kind].local:
                self._calls.called(job, outcome)
            self._calls.landed(job)
        end = self.unbegun(job) if unheld else self._settlement(job, outcome)
        self._settle(job, end)

    async def _outcome(self, work: Work, call: ActionCall | None) -> Outcome | Skip:
        job = work.job
        if call is None:
            results = await self._results(job) if job.after else _NOTHING
            if isinstance(results, RetryOutcome):
                return results
            rendered = self._prepared(work, results)
            if isinstance(rendered, FailOutcome | RetryOutcome | Skip):
                return rendered
            call = rendered
        del work
        if not self._calls.holds(job):
            raise _Unheld
        try:
            async with asyncio.timeout(call.timeout_s + self._settings.guard_s):
                return await self._actions[job.kind].run(call, job)
        except TimeoutError:
            return _overdue(call.timeout_s)
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
        job = work.job
        if too_old(job, self._clock.ledger()) and not self._clock.doubted():
            return FailOutcome(TOO_OLD)
        try:
            return self._live.render(work, results)
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
        return self.died(job, settlement.attempt) if settlement.state == "dead" else None

    def died(self, job: Job, attempt: Attempt) -> Acceptance | None:
        try:
            return self._live.died(job, attempt)
        except Exception as error:  # noqa: BLE001 - a job must not hang on what is said of it
            self._observe(Defect(job, error))
            return None

    def _settle(self, job: Job, settlement: Settlement, *, can_wait: bool = False) -> None:
        own = self.own_event(job, settlement)
        self.settling.put(UnwrittenEnd(job, settlement, own), can_wait=can_wait)

    def _written(self, end: UnwrittenEnd, settled: Settled) -> None:
        """An end is durable: say so, and see to what it lets go."""
        job, settlement, own = end
        shown, due_at = settlement, settlement.due_at
        if due_at is not None:  # people see wall time
            shown = replace(settlement, due_at=due_at + self._clock.offset)
        self._observe(AttemptEnded(job, shown, own) if settled else LeaseLost(job))
        if due_at is not None:
            self._calls.due(job, due_at)
        new = own.jobs if own is not None and settled else ()
        for target, due in (*settled.freed, *((job.target, job.due_at) for job in new)):
            self._calls.freed(target, due)
        if settled.cancelled:
            self._observe(JobsCancelled(job, settled.cancelled))


def _left_to_others_ms(job: Job) -> int:
    uncharged = job.attempt - 1 - job.charged
    return min(OTHERS_MS << min(uncharged, 10), OTHERS_MOST_MS)


def _overdue(timeout_s: float) -> RetryOutcome:
    return RetryOutcome("timeout", f"not done within {timeout_s:g} s")


def _offered(actions: Mapping[ActionKind, Action], name: str) -> dict[ActionKind, Any]:
    """By kind, what some actions offer beside `run`."""
    return {kind: way for kind, a in actions.items() if (way := getattr(a, name, None))}
