"""What the model holds, and how it is asked: lists, pages and counts over plain dicts."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from router.clock import Clock
from router.errors import NotFound
from router.model.activity import HOUR_S, QUARTER_S, ActivityCount
from router.model.delivery import Delivery, DeliverySummary, full_name
from router.model.job import (
    Attempt,
    Job,
    JobState,
)
from router.model.operations import Audit, Cause, Replay
from router.model.target import TargetCounts
from router.store.common.death_causes import by_cause, key_of
from router.store.values import (
    DeliveryRecord,
    EventEntry,
    Generation,
    InForce,
    NameKind,
    Page,
    RuleCount,
    Selector,
    Stored,
    node_of,
)
from tests.conformance.model_nodes import ModelNodes
from tests.conformance.model_runs import ModelRuns

DUE = ("available", "retryable")


class ModelLists(ModelNodes):
    """Everything in dicts, in the order it came."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._deliveries: dict[str, tuple[Delivery, tuple[EventEntry, ...]]] = {}
        self._copies: dict[str, tuple[int, int]] = {}
        self._keys: dict[bytes, tuple[str, int]] = {}
        self._jobs: dict[str, Job] = {}
        self.runs = ModelRuns(self._jobs)
        self._attempts: list[Attempt] = []
        self._generations: dict[str, Generation] = {}
        self._in_force: list[InForce] = []
        self._given: dict[str, str] = {}
        self._rule_counts: dict[str, RuleCount] = {}
        self._activity: list[ActivityCount] = []
        self._ruled: list[tuple[str, str]] = []
        self._facts: dict[str, Any] = {}
        self._redactions: dict[str, int] = {}
        self._ahead_then: dict[str, int] = {}  # the offset when a delivery came, a job changed last
        self._replays: dict[str, Replay] = {}
        self._made_by: dict[str, str] = {}  # job -> the replay that made it
        self._audit: dict[str, Audit] = {}

    @property
    def reads(self) -> "ModelLists":
        return self

    async def results(self, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
        run = self.runs.of(job)
        found: dict[str, Any] = {}
        while run is not None:
            for attempt in reversed(self._attempts):
                action = self._jobs[attempt.job].action
                ran = attempt.outcome not in ("interrupted", "skipped")
                if attempt.job in run.jobs and action in actions and ran:
                    found.setdefault(action, attempt.result)
            run = run.origin
        return found

    async def lost_nodes(self, node: str) -> frozenset[str]:
        return frozenset(one for one in self._holders() - {node} if not self.lives(one))

    def _holds_leases(self, node: str) -> bool:
        return node in self._holders()

    def _holders(self) -> set[str]:
        return set(self._running())

    def _running(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for job in self._jobs.values():
            if job.state == "running":
                found.setdefault(node_of(job.lease or ""), Counter())[job.target] += 1
        return found

    async def lost_leases(self, leases: Collection[str]) -> tuple[Job, ...]:
        running = [j for j in self._jobs.values() if j.state == "running"]
        return tuple(sorted((j for j in running if j.lease in leases), key=lambda j: j.id))

    async def targets(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for job in self._jobs.values():
            if job.state in DUE:
                found[job.target] = min(job.due_at, found.get(job.target, job.due_at))
        return found

    async def replay(self, id_: str) -> Replay | None:
        return self._replays.get(id_)

    async def replays(self, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
        found = [r for r in reversed(self._replays.values()) if not making or r.state == "making"]
        return tuple(msgspec.structs.replace(r, items=None) for r in found[:limit])

    async def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        span = Selector(since=since, until=until)
        found = [line for line in reversed(self._audit.values()) if _within(line.at, line.at, span)]
        return tuple(found[:limit])

    async def made_by(self, job: str) -> Replay | None:
        found = self._replays.get(self._made_by.get(job, ""))
        return found and msgspec.structs.replace(found, items=None)

    def _history(self, delivery: str) -> tuple[Job, ...]:
        return tuple(self.runs.shown(j) for j in self._jobs.values() if j.delivery == delivery)

    async def page(
        self,
        selector: Selector,
        *,
        jobs: bool,
        newest: bool = False,
        after: str | None = None,
        whole: bool = False,
    ) -> Page:
        """Everything after `after` at once."""
        found: list[tuple[str, str, tuple[Job, ...]]] = []
        if jobs:
            chosen = [self.runs.shown(j) for j in self._selected(selector, whole=whole)]
            by_delivery = {d: tuple(j for j in chosen if j.delivery == d) for d in self._deliveries}
            if newest:
                found += [(job.id, job.delivery, (job,)) for job in chosen]
            else:
                found += [(d, d, by_delivery[d][::-1]) for d in self._deliveries if by_delivery[d]]
        else:
            ids = sorted(i for i in self._deliveries if self._fits(i, selector))
            found += [(i, i, ()) for i in (reversed(ids) if newest else ids)]
        places = [at for at, _, _ in found]
        rest = found if after is None else found[places.index(after) + 1 :]
        return Page(
            tuple(
                Stored(at, *self._deliveries[d], of, self._history(d) if whole else ())
                for at, d, of in rest
            ),
            None,
        )

    async def causes(self, selector: Selector) -> tuple[Cause, ...]:
        dead = [j for j in self._selected(selector) if j.state == "dead"]
        return by_cause((j.rule, j.action, j.target, j.reason, j.id, j.ended_at or 0) for j in dead)

    async def names(self, kind: NameKind) -> tuple[str, ...]:
        if kind == "endpoint":
            return tuple(sorted({d.endpoint for d, _ in self._deliveries.values()}))
        if kind == "rule":
            return tuple(sorted({rule for rule, _ in self._ruled} | self._rule_counts.keys()))
        return tuple(sorted(c.key for c in await self.causes(Selector())))

    async def target_counts(self) -> Mapping[str, TargetCounts]:
        found: dict[str, dict[str, int]] = {}
        for job in self._jobs.values():
            if job.state in ("succeeded", "cancelled"):
                continue
            counted = found.setdefault(job.target, {})
            counted[job.state] = counted.get(job.state, 0) + 1
            if job.state in DUE:
                due_at = job.due_at + self.runs.ahead
                counted["oldest_due"] = min(due_at, counted.get("oldest_due", due_at))
        return {target: TargetCounts(**counted) for target, counted in found.items()}

    async def generation(self, prefix: str) -> Generation | None:
        if prefix in self._generations:
            return self._generations[prefix]
        return _single([g for i, g in self._generations.items() if i.startswith(prefix)], prefix)

    async def in_force(self) -> InForce | None:
        return self._in_force[-1] if self._in_force else None

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
            _within(delivery.received_at, delivery.received_at, selector)
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
            full_names=tuple(dict.fromkeys(full_name(e.name, e.action) for e in events)),
        )

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        id_ = _found(prefix, "dlv", self._deliveries)
        if id_ is None:
            return None
        delivery, events = self._deliveries[id_]
        count, seen = self._copies.get(id_, (0, None))
        jobs = tuple(self.runs.shown(j) for j in self._jobs.values() if j.delivery == id_)
        order = [j.id for j in jobs]
        attempts = [a for a in self._attempts if a.job in order]
        attempts.sort(key=lambda a: (order.index(a.job), a.number))
        return DeliveryRecord(delivery, events, count, seen, jobs, tuple(attempts))

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        return tuple(self.runs.shown(j) for j in self._selected(selector)[: _page(selector)])

    def _selected(self, selector: Selector, *, whole: bool = False) -> list[Job]:
        return [
            job
            for job in sorted(self._jobs.values(), key=lambda j: j.id, reverse=True)
            if _within(job.created_at, self._came(job) if whole else job.created_at, selector)
            and selector.endpoint in (None, job.endpoint)
            and selector.rule in (None, job.rule)
            and selector.event in (None, job.event)
            and selector.state in (None, job.state)
            and (not selector.ids or any(_means(p, job.delivery, [job]) for p in selector.ids))
            and selector.replay in (None, self._made_by.get(job.id))
            and selector.cause in (None, _cause(job))
        ]

    def _came(self, job: Job) -> int:
        return min(job.created_at, self._deliveries[job.delivery][0].received_at)

    async def job(self, prefix: str) -> Job | None:
        id_ = _found(prefix, "job", self._jobs)
        return None if id_ is None else self.runs.shown(self._jobs[id_])

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        found: dict[str, dict[JobState, int]] = {}
        for job in self._jobs.values():
            states = found.setdefault(job.rule, {})
            states[job.state] = states.get(job.state, 0) + 1
        return found

    async def rule_counts(self) -> Mapping[str, RuleCount]:
        return dict(self._rule_counts)

    async def activity(self, span_s: int, since: int) -> tuple[ActivityCount, ...]:
        every = [replace(one, name="") for one in self._spans(span_s, since)]
        return self._summed(every, lambda one: one.at)

    async def activity_by_name(self, span_s: int, since: int) -> tuple[ActivityCount, ...]:
        return self._summed(self._spans(span_s, since), lambda _: 0)

    async def activity_by_hour(
        self, since: int, names: Collection[str]
    ) -> tuple[ActivityCount, ...]:
        quarters = [one for one in self._spans(QUARTER_S, since) if one.name in names]
        hours = [replace(one, span_s=HOUR_S) for one in quarters]
        return self._summed(hours, lambda one: (one.at - since) // 3_600_000)

    def _spans(self, span_s: int, since: int) -> list[ActivityCount]:
        return [one for one in self._activity if one.span_s == span_s and one.at >= since]

    def _summed(
        self, counts: Iterable[ActivityCount], place: Callable[[ActivityCount], int]
    ) -> tuple[ActivityCount, ...]:
        """Those of one place, kind, name and detail as one."""
        found: dict[tuple[Any, ...], ActivityCount] = {}
        for one in counts:
            key = (place(one), one.kind, one.name, one.detail)
            found[key] = _added(found[key], one) if key in found else one
        return tuple(sorted(found.values(), key=msgspec.structs.astuple))

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return {k: v for k, v in sorted(self._facts.items()) if k.startswith(prefix)}

    async def due_redactions(self, now: int, limit: int) -> tuple[str, ...]:
        due = sorted((at, id_) for id_, at in self._redactions.items() if at <= now)
        return tuple(id_ for _, id_ in due)[:limit]

    async def size(self) -> int:
        return sum(len(delivery.body) for delivery, _ in self._deliveries.values())

    async def ready(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def _waiting(self, target: str) -> list[Job]:
        jobs = [j for j in self._jobs.values() if j.state in DUE and j.target == target]
        return sorted(jobs, key=self._order)

    def _order(self, job: Job) -> tuple[int, int, int]:
        """Oldest due first; then by delivery, and within it by place."""
        deliveries, jobs = list(self._deliveries), list(self._jobs)
        return job.due_at, deliveries.index(job.delivery), jobs.index(job.id)


def _added(one: ActivityCount, other: ActivityCount) -> ActivityCount:
    return replace(
        one,
        at=min(one.at, other.at),
        count=one.count + other.count,
        total=one.total + other.total,
        most=max(one.most, other.most),
    )


def _cause(job: Job) -> str | None:
    if job.state != "dead":
        return None
    return key_of(job.rule, job.action, job.target, job.reason)


def _page(selector: Selector) -> int:
    return 50 if selector.limit is None else selector.limit


def _within(at: int, came: int, selector: Selector) -> bool:
    after = selector.since is None or at >= selector.since
    return after and (selector.until is None or came < selector.until)


def _means(prefix: str, delivery: str, jobs: Sequence[Job]) -> bool:
    """Whether a selector's id speaks of this delivery or one of these jobs."""
    ids = [delivery, *[j.id for j in jobs]]
    return any(id_ == prefix or (len(prefix) >= 8 and id_.startswith(prefix)) for id_ in ids)


def _found(prefix: str, kind: str, ids: Iterable[str]) -> str | None:
    known = list(ids)
    if prefix in known:
        return prefix
    full = prefix if prefix.startswith(f"{kind}_") else f"{kind}_{prefix}"
    if len(full) < 8:
        raise NotFound(f"{prefix} is too short")
    return _single([id_ for id_ in known if id_.startswith(full)], prefix)


def _single(found: list[Any], prefix: str) -> Any:
    if len(found) > 1:
        raise NotFound(f"{prefix} fits several")
    return found[0] if found else None
