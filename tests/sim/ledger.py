"""A ledger in memory: just what dispatch asks of a store, with every transition checked."""

import heapq
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from router.model.delivery import Delivery
from router.model.job import ENDED, ActionKind, Attempt, Job, JobState, NewJob, Settlement, Work
from router.model.target import PAUSED
from router.store.values import (
    ALREADY,
    APART_MS,
    HELD,
    LOST,
    Acceptance,
    Died,
    LeaseBatch,
    Recovered,
    Settled,
    node_of,
    untold,
)
from tests.conformance.model_runs import ModelRuns
from tests.singly import Singly

DEATHS = 3


async def at_once() -> None:
    """A commit that takes no time."""


class Ledger(Singly):
    """
    Jobs by id, in memory. `pause` is awaited before and after each write, as a real store would
    queue it and sync it: a caller cancelled in between does not know what happened.
    """

    def __init__(self, pause: Callable[[], Awaitable[None]] = at_once) -> None:
        self.pause = pause
        self.records: dict[str, Job] = {}
        self.deliveries_: dict[str, Delivery] = {}
        self.attempts: list[Attempt] = []
        self.ends: dict[str, list[JobState]] = {}
        self.lost = 0
        self.facts: dict[str, Any] = {}
        self.ended_at: Callable[[Attempt], int] = lambda attempt: attempt.ended_at  # ledger time
        self.wrong: list[str] = []
        self._queues: dict[str, list[tuple[int, int, str]]] = {}
        self._order = 0
        self.runs = ModelRuns(self.records, self._put)

    # -- what tests put in ---------------------------------------------------------------------

    async def commit(self, delivery: Delivery, jobs: Sequence[NewJob], now: int) -> list[Job]:
        """Intake's transaction."""
        await self.pause()
        self.deliveries_[delivery.id] = delivery
        for new in jobs:
            self._put(_job(delivery, new, now))
        for run in dict.fromkeys(new.run for new in jobs if new.run is not None):
            members = [new for new in jobs if new.run == run]
            self.runs.add(members, members[0].turn, None, now)
        made = [self.records[new.id] for new in jobs]  # as they were committed
        await self.pause()
        return made

    def _tell(self, own: Acceptance | None, now: int) -> None:
        """A delivery of the router's own, in the transaction of what it tells."""
        if own is not None:
            self.deliveries_[own.delivery.id] = own.delivery
            for new in own.jobs:
                self._put(_job(own.delivery, new, now))

    def _follow(self, job: str, now: int) -> Settled:
        """See to the run of a job, if it has one."""
        self.runs.reported()
        run = self.runs.of(job)
        if run is not None:
            self.runs.follow(run, now)
        return Settled(**self.runs.reported())

    def _put(self, job: Job) -> None:
        known = self.records.get(job.id)
        if known is not None and known.state in ENDED:
            self.wrong.append(f"{job.id} had ended")
        self.records[job.id] = job
        if job.state in ("available", "retryable"):
            self._order += 1
            queue = self._queues.setdefault(job.target, [])
            heapq.heappush(queue, (job.due_at, self._order, job.id))
        if job.state in ENDED:
            self.ends.setdefault(job.id, []).append(job.state)

    # -- what dispatch asks --------------------------------------------------------------------

    async def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
        kinds: Mapping[str, ActionKind] = {},
    ) -> LeaseBatch:
        await self.pause()
        jobs: list[Work] = []
        next_due: dict[str, int | None] = {}
        others: dict[str, ActionKind] = {}
        for target, room in slots.items():
            named = [self.records[id_] for id_ in fresh.get(target, ())]
            first = [j for j in named if j.state in ("available", "retryable") and j.due_at <= now]
            for _ in range(room):
                job = first.pop(0) if first else self._first(target)
                if job is None or job.due_at > now:
                    break
                if job.kind != kinds.get(target, job.kind):
                    others[target] = job.kind
                    break
                job = msgspec.structs.replace(
                    job,
                    state="running",
                    attempt=job.attempt + 1,
                    started_at=now,
                    lease=lease,
                )
                self.records[job.id] = job
                jobs.append(Work(job, self.deliveries_[job.delivery], None))
            left = self._first(target)
            next_due[target] = None if left is None else left.due_at
        await self.pause()
        return LeaseBatch(tuple(jobs), next_due, kinds=others)

    def _first(self, target: str) -> Job | None:
        queue = self._queues.get(target, [])
        while queue:
            due_at, _, name = queue[0]
            job = self.records[name]
            if job.state in ("available", "retryable") and job.due_at == due_at:
                return job  # it leaves the queue when it is no longer what it was
            heapq.heappop(queue)
        return None

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        now = self.ended_at(settlement.attempt)
        await self.pause()
        job = self.records[settlement.job]
        held = job.state == "running" and job.lease == settlement.lease
        settled = HELD
        if held:
            self.attempts.append(settlement.attempt)
            charged = settlement.charged
            self._put(
                msgspec.structs.replace(
                    job,
                    state=settlement.state,
                    lease=None,
                    reason=settlement.reason,
                    due_at=job.due_at if settlement.due_at is None else settlement.due_at,
                    charged=job.charged + charged,
                    deaths=0 if charged else job.deaths,
                )
            )
            settled = self._follow(job.id, now)
            self._tell(own, now)
        else:
            of = (settlement.job, settlement.attempt.number, settlement.attempt.outcome)
            settled = (
                ALREADY if of in {(a.job, a.number, a.outcome) for a in self.attempts} else LOST
            )
            self.lost += not settled
        await self.pause()
        return settled

    @property
    def reads(self) -> "Ledger":
        return self

    async def results(self, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
        await self.pause()
        run = self.runs.of(job)
        ran = [a for a in self.attempts if a.outcome not in ("interrupted", "skipped")]
        found = {self.records[a.job].action: a.result for a in ran if run and a.job in run.jobs}
        await self.pause()
        return {action: found[action] for action in actions & found.keys()}

    async def recover(
        self,
        *,
        nodes: Collection[str],
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        await self.pause()
        reclaimed = dead = suspects = 0
        for job in sorted(self.records.values(), key=lambda job: job.id):
            if job.state != "running" or node_of(job.lease or "") not in nodes:
                continue
            reason = None
            if (job.rule, job.action) in on_interrupt_dead:
                reason = "interrupted"
            elif job.deaths + 1 >= DEATHS:
                reason = "crash_loop"
            self._put(_reclaimed(job, now, reason))
            if reason is None and job.deaths + 2 == DEATHS:
                self._put(
                    msgspec.structs.replace(self.records[job.id], due_at=now + suspects * APART_MS)
                )
                suspects += 1
            self._follow(job.id, now)
            if reason is not None:
                attempt = Attempt(
                    job.id, job.attempt, now, now, "interrupted", "ended", {}, job.generation
                )
                self._tell(died(self.records[job.id], attempt), now)
            dead += reason is not None
            reclaimed += reason is None
        return Recovered(reclaimed, dead)

    async def targets(self) -> Mapping[str, int]:
        await self.pause()
        firsts = {target: self._first(target) for target in self._queues}
        return {target: job.due_at for target, job in firsts.items() if job is not None}

    async def remember(self, facts: Mapping[str, Any], audit: Any = None) -> None:
        await self.pause()
        self.facts |= facts
        await self.pause()

    async def pause_target(self, target: str, *, reason: str, by: str, at: int) -> int:
        """No job waits in this ledger: dispatch itself must start none."""
        await self.remember({PAUSED + target: {"reason": reason, "by": by, "at": at}})
        return 0

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        await self.pause()
        return {n: v for n, v in self.facts.items() if n.startswith(prefix) and v is not None}

    async def lost_nodes(self, node: str) -> frozenset[str]:
        running = [job for job in self.records.values() if job.state == "running"]
        return frozenset(node_of(job.lease or "") for job in running) - {node}

    async def lost_leases(self, leases: Collection[str]) -> tuple[Job, ...]:
        await self.pause()
        running = [job for job in self.records.values() if job.state == "running"]
        return tuple(job for job in running if job.lease in leases)


def _reclaimed(job: Job, now: int, reason: str | None) -> Job:
    return msgspec.structs.replace(
        job,
        state="available" if reason is None else "dead",
        lease=None,
        reason=reason,
        deaths=job.deaths + 1,
        due_at=now if reason is None else job.due_at,
    )


def _job(delivery: Delivery, new: NewJob, now: int) -> Job:
    leased = new.lease is not None
    return Job(
        id=new.id,
        delivery=delivery.id,
        endpoint=delivery.endpoint,
        event_index=new.event_index,
        event_id=new.event_id,
        event=new.event,
        rule=new.rule,
        action=new.action,
        kind=new.kind,
        target=new.target,
        state="running" if leased else new.state,
        due_at=new.due_at,
        created_at=now,
        generation=delivery.generation,
        attempt=1 if leased else 0,
        lease=new.lease,
        started_at=now if leased else None,
        after=new.after,
    )
