"""The Store protocol over plain dicts: slow, unsafe, and obviously what the protocol says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from router.clock import Clock
from router.errors import NotFound
from router.model.delivery import Delivery
from router.model.job import ENDED, Attempt, Job, JobState, NewJob, Settlement
from router.store.protocol import (
    Acceptance,
    Accepted,
    DeliveryRecord,
    DeliverySummary,
    Duplicate,
    EventEntry,
    Generation,
    LeaseBatch,
    Leased,
    Pruned,
    Recovered,
    Retain,
    Selector,
    narrowed,
)

DUE = ("available", "retryable")
CANCELLABLE = ("available", "waiting", "retryable")


class ModelStore:
    """Everything in dicts, in the order it came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deliveries: dict[str, tuple[Delivery, tuple[EventEntry, ...]]] = {}
        self._copies: dict[str, tuple[int, int]] = {}
        self._keys: dict[bytes, tuple[str, int]] = {}
        self._jobs: dict[str, Job] = {}
        self._attempts: list[Attempt] = []
        self._generations: dict[str, Generation] = {}
        self._ruled: list[tuple[str, str]] = []

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        delivery, now = acceptance.delivery, self._clock.now()
        owners = [self._take(event, delivery.id, now) for event in acceptance.events]
        new = [e for e, owner in zip(acceptance.events, owners, strict=True) if owner is None]
        if acceptance.events and not new:
            first = next(owner for owner in owners if owner is not None)
            count, last = self._copies.get(first, (0, 0))
            self._copies[first] = (count + 1, max(last, delivery.received_at))
            return Duplicate(first)
        indexes = frozenset(e.index for e in new)
        everything = len(new) == len(acceptance.events)
        self._deliveries[delivery.id] = (delivery, tuple(new))
        left = [narrowed(j, acceptance.events, indexes) for j in acceptance.jobs]
        self._make(delivery, [j for j in left if j is not None], now)
        return Accepted(delivery.id, None if everything else indexes)

    def _take(self, event: EventEntry, delivery: str, now: int) -> str | None:
        for key in event.keys:
            if key in self._keys and self._keys[key][1] > now:
                return self._keys[key][0]
        for key in event.keys:
            self._keys[key] = (delivery, event.keys_until)
        return None

    def _make(self, delivery: Delivery, jobs: Iterable[NewJob], now: int) -> None:
        for new in jobs:
            begun = new.state == "running"
            generation = new.generation or delivery.generation
            self._jobs[new.id] = Job(
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
                state=new.state,
                due_at=new.due_at,
                created_at=now,
                generation=generation,
                attempt=1 if begun else 0,
                lease=new.lease if begun else None,
                started_at=now if begun else None,
                replay_of=new.replay_of,
                covers=new.covers,
            )
            self._ruled.append((new.rule, generation))

    async def lease(self, slots: Mapping[str, int], *, lease: str, now: int) -> LeaseBatch:
        taken: list[Job] = []
        for target, count in slots.items():
            due = [j for j in self._waiting(target) if j.due_at <= now]
            taken += due[:count]
        taken.sort(key=self._order)
        for job in taken:
            self._change(job, state="running", attempt=job.attempt + 1, lease=lease, started_at=now)
        rest = {target: self._waiting(target) for target in slots}
        return LeaseBatch(
            tuple(Leased(self._jobs[j.id], self._deliveries[j.delivery][0]) for j in taken),
            {target: jobs[0].due_at if jobs else None for target, jobs in rest.items()},
        )

    def _waiting(self, target: str) -> list[Job]:
        jobs = [j for j in self._jobs.values() if j.state in DUE and j.target == target]
        return sorted(jobs, key=self._order)

    def _order(self, job: Job) -> tuple[int, int, int]:
        """Oldest due first; then by delivery, and within it by place."""
        deliveries, jobs = list(self._deliveries), list(self._jobs)
        return job.due_at, deliveries.index(job.delivery), jobs.index(job.id)

    async def settle(self, settlement: Settlement) -> bool:
        job = self._jobs.get(settlement.job)
        if job is None or job.state != "running" or job.lease != settlement.lease:
            return False
        self._attempts.append(settlement.attempt)
        self._change(
            job,
            state=settlement.state,
            due_at=job.due_at if settlement.due_at is None else settlement.due_at,
            reason=settlement.reason,
            lease=None,
            charged=job.charged + settlement.charged,
            deaths=0 if settlement.charged else job.deaths,
            ended_at=settlement.attempt.ended_at if settlement.state in ENDED else None,
        )
        return True

    async def recover(
        self, *, alive: str, now: int, on_interrupt_dead: frozenset[tuple[str, str]]
    ) -> Recovered:
        dead = reclaimed = 0
        for job in list(self._jobs.values()):
            if job.state != "running" or (job.lease or "").startswith(alive):
                continue
            self._attempts.append(
                Attempt(
                    job.id, job.attempt, job.started_at or now, now, "interrupted",
                    "the router ended", {}, job.generation,
                )
            )  # fmt: skip
            freed = self._change(job, lease=None, deaths=job.deaths + 1, state="available")
            reason = "interrupted" if (job.rule, job.action) in on_interrupt_dead else None
            reason = reason or ("crash_loop" if freed.deaths >= 3 else None)
            if reason:
                self._change(freed, state="dead", reason=reason, ended_at=now)
            dead, reclaimed = dead + (reason is not None), reclaimed + (reason is None)
        return Recovered(reclaimed, dead)

    def _change(self, job: Job, **values: Any) -> Job:
        self._jobs[job.id] = msgspec.structs.replace(job, **values)
        return self._jobs[job.id]

    async def targets(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for job in self._jobs.values():
            if job.state in DUE:
                found[job.target] = min(job.due_at, found.get(job.target, job.due_at))
        return found

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        if delivery not in self._deliveries:
            raise NotFound(delivery)
        self._make(self._deliveries[delivery][0], jobs, self._clock.now())
        return len(jobs)

    async def cancel(self, selector: Selector, *, reason: str, now: int) -> int:
        chosen = [j for j in self._selected(selector) if j.state in CANCELLABLE]
        for job in chosen[: selector.limit]:
            self._change(job, state="cancelled", reason=reason, ended_at=now)
        return len(chosen[: selector.limit])

    async def revive(self, selector: Selector, *, now: int) -> int:
        chosen = [j for j in self._selected(selector) if j.state == "dead"]
        for job in chosen[: selector.limit]:
            self._change(
                job, state="available", due_at=now, charged=0, deaths=0, reason=None, ended_at=None
            )
        return len(chosen[: selector.limit])

    async def hold(self, paused: frozenset[str]) -> int:
        changed = 0
        for job in list(self._jobs.values()):
            if job.state in DUE and job.rule in paused:
                self._change(job, state="waiting")
                changed += 1
            elif job.state == "waiting" and job.rule not in paused:
                self._change(job, state="retryable" if job.attempt else "available")
                changed += 1
        return changed

    async def keep_generation(self, generation: Generation) -> None:
        self._generations.setdefault(generation.id, generation)

    async def generation(self, prefix: str) -> Generation | None:
        if prefix in self._generations:
            return self._generations[prefix]
        return _single([g for i, g in self._generations.items() if i.startswith(prefix)], prefix)

    async def latest_generation_with(self, rule: str) -> tuple[str, ...]:
        kept = [g for g in self._generations.values() if (rule, g.id) in self._ruled]
        return tuple(g.id for g in sorted(kept, key=lambda g: g.created_at, reverse=True))

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        newest = sorted(self._deliveries, reverse=True)
        fitting = [i for i in newest if self._fits(i, selector)]
        return tuple(self._summary(i) for i in fitting[: _page(selector)])

    def _fits(self, id_: str, selector: Selector) -> bool:
        delivery, events = self._deliveries[id_]
        jobs = [
            j
            for j in self._jobs.values()
            if j.delivery == id_ and selector.rule in (None, j.rule)
        ]  # fmt: skip
        states = {delivery.state} | {j.state for j in jobs}
        return (
            _within(delivery.received_at, selector)
            and selector.endpoint in (None, delivery.endpoint)
            and (selector.rule is None or bool(jobs))
            and (selector.event is None or selector.event in {e.name for e in events})
            and (selector.state is None or selector.state in states)
            and (not selector.ids or any(_means(p, id_, jobs) for p in selector.ids))
        )

    def _summary(self, id_: str) -> DeliverySummary:
        delivery, events = self._deliveries[id_]
        count, seen = self._copies.get(id_, (0, None))
        jobs: dict[str, int] = {}
        for job in self._jobs.values():
            if job.delivery == id_:
                jobs[job.state] = jobs.get(job.state, 0) + 1
        return DeliverySummary(
            id=id_,
            endpoint=delivery.endpoint,
            provider=delivery.provider,
            received_at=delivery.received_at,
            state=delivery.state,
            events=tuple(dict.fromkeys(e.name for e in events)),
            event_count=delivery.event_count,
            body_bytes=len(delivery.body),
            verified_by=delivery.verified_by,
            duplicates=count,
            last_seen_at=seen,
            jobs=jobs,
            flags=delivery.flags,
            replay_of=delivery.replay_of,
        )

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        id_ = _found(prefix, "dlv", self._deliveries)
        if id_ is None:
            return None
        delivery, events = self._deliveries[id_]
        count, seen = self._copies.get(id_, (0, None))
        jobs = tuple(j for j in self._jobs.values() if j.delivery == id_)
        order = [j.id for j in jobs]
        attempts = [a for a in self._attempts if a.job in order]
        attempts.sort(key=lambda a: (order.index(a.job), a.number))
        return DeliveryRecord(delivery, events, count, seen, jobs, tuple(attempts))

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        return tuple(self._selected(selector)[: _page(selector)])

    def _selected(self, selector: Selector) -> list[Job]:
        return [
            job
            for job in sorted(self._jobs.values(), key=lambda j: j.id, reverse=True)
            if _within(job.created_at, selector)
            and selector.endpoint in (None, job.endpoint)
            and selector.rule in (None, job.rule)
            and selector.event in (None, job.event)
            and selector.state in (None, job.state)
            and (not selector.ids or any(_means(p, job.delivery, [job]) for p in selector.ids))
        ]

    async def job(self, prefix: str) -> Job | None:
        id_ = _found(prefix, "job", self._jobs)
        return None if id_ is None else self._jobs[id_]

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        found: dict[str, dict[JobState, int]] = {}
        for job in self._jobs.values():
            states = found.setdefault(job.rule, {})
            states[job.state] = states.get(job.state, 0) + 1
        return found

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        gone = [i for i in sorted(self._deliveries) if self._may_go(i, retain)][: retain.limit]
        for id_ in gone:
            del self._deliveries[id_]
            self._copies.pop(id_, None)
            jobs = [i for i, j in self._jobs.items() if j.delivery == id_]
            self._attempts = [a for a in self._attempts if a.job not in jobs]
            for job in jobs:
                del self._jobs[job]
        expired = [key for key, (_, until) in self._keys.items() if until <= now]
        for key in sorted(expired)[: retain.limit]:
            del self._keys[key]
        return Pruned(len(gone), len(expired[: retain.limit]), 0)

    def _may_go(self, id_: str, retain: Retain) -> bool:
        received = self._deliveries[id_][0].received_at
        jobs = [j for j in self._jobs.values() if j.delivery == id_]
        if any(j.state not in ENDED for j in jobs):
            return False
        if received < (retain.finished_before or 0):
            return True
        if not jobs:
            return received < retain.unmatched_before
        before = min(
            retain.dead_before if j.state == "dead" else retain.succeeded_before for j in jobs
        )
        return max(j.ended_at or 0 for j in jobs) < before

    async def size(self) -> int:
        return sum(len(delivery.body) for delivery, _ in self._deliveries.values())

    async def ready(self) -> None:
        return None

    async def close(self) -> None:
        return None


def _page(selector: Selector) -> int:
    return 50 if selector.limit is None else selector.limit


def _within(at: int, selector: Selector) -> bool:
    after = selector.since is None or at >= selector.since
    return after and (selector.until is None or at < selector.until)


def _means(prefix: str, delivery: str, jobs: Sequence[Job]) -> bool:
    """Whether a selector's id speaks of this delivery or one of these jobs."""
    ids = [delivery, *[j.id for j in jobs]]
    return any(id_ == prefix or (len(prefix) >= 12 and id_.startswith(prefix)) for id_ in ids)


def _found(prefix: str, kind: str, ids: Iterable[str]) -> str | None:
    known = list(ids)
    if prefix in known:
        return prefix
    full = prefix if prefix.startswith(f"{kind}_") else f"{kind}_{prefix}"
    if len(full) < 12:
        return None
    return _single([id_ for id_ in known if id_.startswith(full)], prefix)


def _single(found: list[Any], prefix: str) -> Any:
    if len(found) > 1:
        raise NotFound(f"{prefix} fits several")
    return found[0] if found else None
