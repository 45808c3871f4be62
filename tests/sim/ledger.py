"""A ledger in memory: just what dispatch asks of a store, with every transition checked."""

import heapq
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from router.model.delivery import Delivery
from router.model.job import ENDED, Attempt, Job, JobState, NewJob, Settlement
from router.store.protocol import LeaseBatch, Leased, Recovered, Selector

DEATHS = 3


async def at_once() -> None:
    """A commit that takes no time."""


class Ledger:
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
        self.wrong: list[str] = []
        self._queues: dict[str, list[tuple[int, int, str]]] = {}
        self._order = 0

    # -- what tests put in ---------------------------------------------------------------------

    async def commit(self, delivery: Delivery, jobs: Sequence[NewJob], now: int) -> list[Job]:
        """Intake's transaction."""
        await self.pause()
        self.deliveries_[delivery.id] = delivery
        made = [_job(delivery, new, now) for new in jobs]
        for job in made:
            self._put(job)
        await self.pause()
        return made

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

    async def lease(self, slots: Mapping[str, int], *, lease: str, now: int) -> LeaseBatch:
        await self.pause()
        jobs: list[Leased] = []
        next_due: dict[str, int | None] = {}
        for target, room in slots.items():
            for _ in range(room):
                job = self._first(target)
                if job is None or job.due_at > now:
                    break
                heapq.heappop(self._queues[target])
                job = msgspec.structs.replace(
                    job, state="running", attempt=job.attempt + 1, started_at=now, lease=lease
                )
                self.records[job.id] = job
                jobs.append(Leased(job, self.deliveries_[job.delivery]))
            first = self._first(target)
            next_due[target] = None if first is None else first.due_at
        await self.pause()
        return LeaseBatch(tuple(jobs), next_due)

    def _first(self, target: str) -> Job | None:
        queue = self._queues.get(target, [])
        while queue:
            due_at, _, name = queue[0]
            job = self.records[name]
            if job.state in ("available", "retryable") and job.due_at == due_at:
                return job
            heapq.heappop(queue)
        return None

    async def settle(self, settlement: Settlement) -> bool:
        await self.pause()
        job = self.records[settlement.job]
        held = job.state == "running" and job.lease == settlement.lease
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
        else:
            self.lost += 1
        await self.pause()
        return held

    async def recover(
        self, *, alive: str, now: int, on_interrupt_dead: frozenset[tuple[str, str]]
    ) -> Recovered:
        await self.pause()
        reclaimed = dead = 0
        for job in list(self.records.values()):
            if job.state != "running" or (job.lease or "").startswith(alive):
                continue
            reason = None
            if (job.rule, job.action) in on_interrupt_dead:
                reason = "interrupted"
            elif job.deaths + 1 >= DEATHS:
                reason = "crash_loop"
            self._put(_reclaimed(job, now, reason))
            dead += reason is not None
            reclaimed += reason is None
        return Recovered(reclaimed, dead)

    async def targets(self) -> Mapping[str, int]:
        await self.pause()
        firsts = {target: self._first(target) for target in self._queues}
        return {target: job.due_at for target, job in firsts.items() if job is not None}

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        await self.pause()
        return tuple(job for job in self.records.values() if selector.state in (None, job.state))


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
    )
