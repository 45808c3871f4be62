"""A workbench for the dispatcher: a ledger, fake actions, virtual time."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from router.dispatch import Dispatcher, DispatchRules, DispatchSettings, Render
from router.dispatch.live import OtherRules
from router.dispatch.observed import (
    AttemptEnded,
    Defect,
    JobsCancelled,
    LeaseLost,
    StoreFailed,
)
from router.errors import StoreUnavailable
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.model.job import Done, Job, NewJob, Outcome
from router.model.observed import Observed
from router.model.retry import STANDARD, RetryPolicy
from router.model.settings import TargetLimits
from router.model.target import TargetChange
from tests.sim.ledger import Ledger
from tests.sim.loop import SimClock, simulate
from tests.sim.makers import a_delivery, a_new_job, an_http_call
from tests.singly import Singly


class Seen:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.settlements: list[tuple[str, str, bool]] = []
        self.due: list[int] = []  # times at which jobs are said to be due again
        self.leaks: list[Exception] = []
        self.failures: list[str] = []
        self.cancelled: list[str] = []
        self.changes: list[TargetChange] = []

    def __call__(self, happened: Observed) -> None:
        match happened:
            case AttemptEnded(job, settlement, _):
                self.settlements.append((job.id, settlement.state, True))
                if settlement.due_at is not None:
                    self.due.append(settlement.due_at)
            case LeaseLost(job):
                self.settlements.append((job.id, "lost", False))
            case Defect(_, error):
                self.leaks.append(error)
            case StoreFailed(verb, _):
                self.failures.append(verb)
            case JobsCancelled(_, reasons):
                self.cancelled += reasons
            case TargetChange():
                self.changes.append(happened)
            case _:
                raise AssertionError(happened)


class Act:
    """An action that does what `how` says and notes when each job began."""

    def __init__(self, clock: SimClock) -> None:
        self.clock = clock
        self.began: list[tuple[str, float]] = []
        self.how: Callable[[Job], Coroutine[Any, Any, Outcome]] = _done

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        self.began.append((job.id, self.clock.monotonic()))
        return await self.how(job)

    async def close(self) -> None:
        """Nothing."""

    def names(self) -> list[str]:
        return [name for name, _ in self.began]


class Bench:
    """One dispatcher on a ledger; `limits`, `render` and `settings` may be set before `start`."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.ledger = Ledger()
        self.act = Act(self.clock)
        self.seen = Seen()
        self.limits: dict[str, TargetLimits] = {}
        self.settings = DispatchSettings()
        self.render: Render = lambda work, results: an_http_call()
        self.retry_of: Callable[[Job], RetryPolicy] = lambda job: STANDARD
        self.dead_if_interrupted: frozenset[tuple[str, str]] = frozenset()
        self.reads: frozenset[str] = frozenset()
        self.others: OtherRules | None = None
        self.failing: dict[str, list[Exception | None]] = {}
        self.verbs: list[str] = []  # asked of the store
        self.groups: list[int] = []  # how many ends were settled together
        self.made = 0

    async def start(self, *, recover: bool = False) -> Dispatcher:
        live = DispatchRules(
            render=self.render,
            retry_of=self.retry_of,
            limits=lambda target, kind: self.limits.get(
                target, TargetLimits(16, breaker=KINDS[kind].limits.breaker)
            ),
            dead_if_interrupted=lambda: self.dead_if_interrupted,
            reads=lambda job: self.reads,
            others=self.others,
        )
        self.dispatcher = Dispatcher(
            _Failing(self),
            dict.fromkeys(KINDS, self.act),
            live,
            clock=self.clock,
            rng=random.Random(1),
            node="boot",
            observe=self.seen,
            settings=self.settings,
        )
        if recover:
            await self.dispatcher.recover()
        self.loop_task = asyncio.create_task(self.dispatcher.run())
        await asyncio.sleep(0.001)
        return self.dispatcher

    def new(self, count: int = 1, **changes: Any) -> list[NewJob]:
        self.made += count
        names = range(self.made - count, self.made)
        return [a_new_job(f"job_{n}", **{"due_at": self.clock.now(), **changes}) for n in names]

    async def commit(self, *jobs: NewJob, endpoint: str = "shop") -> list[Job]:
        delivery = a_delivery(f"dlv_{endpoint}", endpoint=endpoint)
        return await self.ledger.commit(delivery, jobs, self.clock.now())

    async def commit_and_wake(self, *jobs: NewJob, endpoint: str = "shop") -> None:
        for job in await self.commit(*jobs, endpoint=endpoint):
            self.dispatcher.wake(job.target, job.due_at, job.kind, (endpoint, job.id))

    def states(self) -> dict[str, str]:
        return {name: job.state for name, job in self.ledger.records.items()}


class _Failing(Singly):
    """The ledger, with the exceptions planned for a verb raised first (None: let it pass)."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    @property
    def reads(self) -> "_Failing":
        return self

    async def settle_all(self, group: Sequence[Any]) -> list[Any]:
        self._bench.groups.append(len(group))
        self._bench.verbs.append("settle_all")
        return await super().settle_all(group)

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._bench.ledger, name)

        async def asked(*args: Any, **named: Any) -> Any:
            if name != "settle":  # which `settle_all` is made of here
                self._bench.verbs.append(name)
            planned = self._bench.failing.get(name, [])
            error = planned.pop(0) if planned else None
            if isinstance(error, _After):
                await verb(*args, **named)
            if error is not None:
                raise error
            return await verb(*args, **named)

        return asked


class _After(StoreUnavailable):
    """Raised when the work has been done."""


AFTER, BEFORE = _After("after"), StoreUnavailable("before")


async def _done(_job: Job) -> Outcome:
    return Done({"ok": True})


def on_bench(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run an async test in virtual time, drain included."""

    def run() -> None:
        simulate(_with_bench(test), random.Random(1))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def _with_bench(test: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    bench = Bench()
    await test(bench)
    if hasattr(bench, "dispatcher"):
        await bench.dispatcher.drain(0)
        await bench.loop_task
        assert bench.ledger.wrong == []
