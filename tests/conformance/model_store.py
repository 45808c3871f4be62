"""The Store protocol over plain dicts: slow, unsafe, and obviously what the protocol says."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from router.errors import NotFound
from router.model.activity import ACTIVITY_KEPT_MS, ActivityCount
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import (
    ENDED,
    ActionKind,
    Attempt,
    Job,
    NewJob,
    Settlement,
    Work,
    committed,
)
from router.model.operations import ActionJobs, Audit, Change, Planned, Replay, ReplayStep
from router.store.removal import EndedBefore, Pruned, RedactionStep, Retain, Rewritten
from router.store.values import (
    ALREADY,
    APART_MS,
    LOST,
    Acceptance,
    Accepted,
    Died,
    Duplicate,
    LeaseBatch,
    Recovered,
    RuleCount,
    Selector,
    Settled,
    VacuumRoom,
    narrowed,
    node_of,
    untold,
)
from tests.conformance.model_for_all import ModelForAll
from tests.conformance.model_lists import ModelLists
from tests.singly import Singly
from tests.store_values import entries

CANCELLABLE = ("available", "waiting", "retryable")


class ModelStore(Singly, ModelForAll, ModelLists):
    """The verbs that change something."""

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        delivery, now = acceptance.delivery, self._clock.ledger()
        if delivery.id in self._deliveries:
            events = self._deliveries[delivery.id][1]
            some = frozenset(e.index for e in events)
            return Accepted(delivery.id, None if len(some) == len(acceptance.events) else some)
        self._let_go([key for event in acceptance.events for key in event.keys], now)
        until = acceptance.keys_until
        owners = [self._take(event, delivery.id, until) for event in acceptance.events]
        new = [e for e, owner in zip(acceptance.events, owners, strict=True) if owner is None]
        if acceptance.events and not new:
            first = next(owner for owner in owners if owner is not None)
            count, last = self._copies.get(first, (0, 0))
            self._copies[first] = (count + 1, max(last, delivery.received_at))
            return Duplicate(first)
        indexes = frozenset(e.index for e in new)
        everything = len(new) == len(acceptance.events)
        kept = tuple(entry for entry in entries(acceptance) if entry.index in indexes)
        self._deliveries[delivery.id] = (delivery, kept)
        self._ahead_then[delivery.id] = self._clock.offset
        left = [narrowed(j, acceptance.events, indexes) for j in acceptance.jobs]
        made = [j for j in left if j is not None]
        self._make(delivery, made, now)
        self.runs.reported()
        for run in dict.fromkeys(j.run for j in made if j.run is not None):
            jobs = [j for j in made if j.run == run]
            self.runs.add(jobs, jobs[0].turn, None, now)
        cancelled = self.runs.reported()["cancelled"]
        return Accepted(delivery.id, None if everything else indexes, cancelled)

    def _let_go(self, keys: Iterable[bytes], now: int) -> None:
        """An expired key is gone with the first that asks for it, also in vain."""
        for key in keys:
            if key in self._keys and self._keys[key][1] <= now:
                del self._keys[key]

    def _take(self, event: DeliveryEvent, delivery: str, until: int) -> str | None:
        for key in event.keys:
            if key in self._keys:
                return self._keys[key][0]
        for key in event.keys:
            self._keys[key] = (delivery, until)
        return None

    def _make(self, delivery: Delivery, jobs: Iterable[NewJob], now: int) -> None:
        for new in jobs:
            job = self._jobs[new.id] = committed(new, delivery, now + self._clock.offset)
            if new.state == "waiting":
                self.runs.hold(new.id, "paused")
            self._ruled.append((new.rule, job.generation))

    async def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
        kinds: Mapping[str, ActionKind] = {},
    ) -> LeaseBatch:
        taken: list[Job] = []
        others: dict[str, ActionKind] = {}
        for target, count in slots.items():
            due = [j for j in self._waiting(target) if j.due_at <= now]
            due.sort(key=lambda j: j.id in self._made_by)
            named = fresh.get(target, ())
            due.sort(key=lambda j: named.index(j.id) if j.id in named else len(named))
            for job in due[:count]:
                if job.kind != kinds.get(target, job.kind):
                    others[target] = job.kind
                    break
                taken.append(job)
        taken.sort(key=self._order)
        for job in taken:
            self._change(
                job,
                state="running",
                attempt=job.attempt + 1,
                lease=lease,
                started_at=now + self._clock.offset,
            )
        rest = {target: self._waiting(target) for target in slots}
        return LeaseBatch(
            tuple(Work(self._jobs[j.id], self._deliveries[j.delivery][0], None) for j in taken),
            {target: jobs[0].due_at if jobs else None for target, jobs in rest.items()},
            kinds=others,
        )

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        job = self._jobs.get(settlement.job)
        if job is None or job.state != "running" or job.lease != settlement.lease:
            return self._written(settlement.attempt)
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
        self.runs.reported()
        self._follow([job.id], self._clock.ledger())
        reported = self.runs.reported()
        if own is not None:
            receipt = await self.accept(own)
            cancelled = receipt.cancelled if isinstance(receipt, Accepted) else ()
            reported["cancelled"] = tuple(sorted((*reported["cancelled"], *cancelled)))
        return Settled(**reported)

    def _written(self, attempt: Attempt) -> Settled:
        of = (attempt.job, attempt.number, attempt.outcome, attempt.reason)
        there = any((a.job, a.number, a.outcome, a.reason) == of for a in self._attempts)
        return ALREADY if there else LOST

    def _follow(self, ids: Iterable[str], now: int) -> None:
        """See to the runs of these jobs, the oldest first."""
        for run in [run for run in self.runs.runs if set(run.jobs) & set(ids)]:
            self.runs.follow(run, now)

    async def recover(
        self,
        *,
        nodes: Collection[str],
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        dead = reclaimed = suspects = 0
        touched, reported = [], []
        ended = now + self._clock.offset
        for job in sorted(self._jobs.values(), key=lambda job: job.id):
            if job.state != "running" or node_of(job.lease or "") not in nodes:
                continue
            started = ended if job.started_at is None else job.started_at
            self._attempts.append(
                Attempt(
                    job.id, job.attempt, started, ended, "interrupted", "the router ended",
                    {}, job.generation,
                )
            )  # fmt: skip
            freed = self._change(job, lease=None, deaths=job.deaths + 1, state="available")
            ends = (job.rule, job.action) in on_interrupt_dead
            reason = "interrupted" if ends else "crash_loop" if freed.deaths >= 3 else None
            if freed.deaths == 2 and reason is None:
                freed = self._change(freed, due_at=now + suspects * APART_MS)
                suspects += 1
            if reason:
                gone = self._change(freed, state="dead", reason=reason, ended_at=ended)
                reported.append(died(gone, self._attempts[-1]))
            dead, reclaimed = dead + (reason is not None), reclaimed + (reason is None)
            touched.append(job.id)
        self._follow(touched, now)
        for own in reported:
            if own is not None:
                await self.accept(own)
        return Recovered(reclaimed, dead)

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        if delivery not in self._deliveries:
            raise NotFound(delivery)
        now = self._clock.ledger()
        for unit in self._units(jobs):
            self._make(self._deliveries[delivery][0], unit, now)
            origin = self.runs.of(unit[0].replay_of or "")
            if unit[0].run is not None or origin is not None:
                turn = unit[0].turn or (origin.turn if origin else None)
                self.runs.add(unit, turn, None if unit[0].run else origin, now)
        return len(jobs)

    def _units(self, jobs: Sequence[NewJob]) -> list[list[NewJob]]:
        units: dict[Any, list[NewJob]] = {}
        for job in jobs:
            units.setdefault(job.run or self.runs.of(job.replay_of or "") or job.id, []).append(job)
        return list(units.values())

    async def begin_replay(self, replay: Replay, audit: Audit | None = None) -> Replay:
        if replay.id not in self._replays and audit is not None:
            self._note(msgspec.structs.replace(audit, id=replay.id), 0)
        return self._replays.setdefault(replay.id, replay)

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        replay = self._replays.get(step.replay)
        if replay is None or (replay.state, replay.reached) != ("making", step.after):
            return None
        made = passed = skipped = none = 0
        earlier = [replay.earlier or "", step.earlier or ""]
        for delivery, jobs in step.work:
            left = jobs if not step.once else [j for j in jobs if self._last(j, delivery) is None]
            gone = [self._last(j, delivery) or "" for j in jobs if j not in left]
            passed += len(gone) if not gone or jobs[0].replay_of != delivery else 1
            earlier += gone
            skipped += bool(jobs) and delivery not in self._deliveries
            none += bool(gone) and not left
            if left and delivery in self._deliveries:
                made += await self.add(delivery, left)
                self._made_by |= {job.id: replay.id for job in left}
        done = msgspec.structs.replace(
            replay,
            reached=step.reached,
            due=step.due,
            deliveries=replay.deliveries + len(step.work) - skipped - none,
            jobs=replay.jobs + made,
            skipped=replay.skipped + step.skipped + skipped,
            passed=replay.passed + step.passed + passed,
            earlier=max(earlier) or None,
            state="made" if step.last else "making",
            ended_at=now + self._clock.offset if step.last else None,
        )
        self._replays[replay.id] = done
        if replay.id in self._audit:
            self._note(self._audit[replay.id], made)
        return msgspec.structs.replace(done, items=None)

    def _last(self, new: NewJob, delivery: str) -> str | None:
        """The newest job that was made of the same; None: nobody has since it was looked at."""
        if new.replay_of == delivery:
            of = [
                j.id
                for j in self._history(delivery)
                if (j.replay_of, j.generation) == (delivery, new.generation)
            ]
            return of[-1] if of else None
        same = (new.event_index, new.rule, new.action)
        runs = [j.id for j in self._history(delivery) if (j.event_index, j.rule, j.action) == same]
        return None if not runs or runs[-1] == new.replay_of else runs[-1]

    def _note(self, audit: Audit | None, count: int) -> None:
        if audit is not None:
            line = self._audit.setdefault(audit.id, audit)
            self._audit[audit.id] = msgspec.structs.replace(line, count=line.count + count)

    async def note(self, audit: Audit) -> None:
        self._note(audit, 0)

    async def cancel(
        self, selector: Selector, *, reason: str, now: int, audit: Audit | None = None
    ) -> int:
        if selector.replay is not None:
            if selector.replay not in self._replays:
                raise NotFound(selector.replay)
            self._replays[selector.replay] = msgspec.structs.replace(
                self._replays[selector.replay], state="cancelled", ended_at=now + self._clock.offset
            )
        chosen = self._changeable(selector, "cancel")
        for job in chosen[: selector.limit]:
            self.runs.cancel(job.id, reason, now)
        self._follow([job.id for job in chosen[: selector.limit]], now)
        if chosen or selector.replay:
            self._note(audit, len(chosen[: selector.limit]))
        return len(chosen[: selector.limit])

    def _changeable(self, selector: Selector, change: Change) -> list[Job]:
        found = self._selected(selector)
        if change == "revive":
            return [j for j in found if j.state == "dead" and not self._passed(j, selector)]
        return [j for j in found if self._cancellable(j, selector)]

    def _newer(self, job: Job) -> list[str]:
        """Runs of the same that replays have made since."""
        of = (job.delivery, job.event_index, job.rule, job.action)
        made = list(self._jobs.values())
        later = made[[one.id for one in made].index(job.id) + 1 :]
        same = [j for j in later if (j.delivery, j.event_index, j.rule, j.action) == of]
        return [j.id for j in same if j.replay_of is not None]

    def _passed(self, job: Job, selector: Selector) -> bool:
        named = any(i.startswith("job_") and job.id.startswith(i) for i in selector.ids)
        return bool(self._newer(job)) and (selector.state is not None or not named)

    async def planned(self, selector: Selector, change: Change) -> Planned:
        dead = [j for j in self._selected(selector) if j.state == "dead" and change == "revive"]
        passed = [j for j in dead if self._passed(j, selector)]
        jobs = self._changeable(selector, change)[: selector.limit]
        came = [self._deliveries[j.delivery][0].received_at for j in jobs]
        parts = Counter((j.rule, j.action, j.target) for j in jobs)
        ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        return Planned(
            len({j.delivery for j in jobs}),
            len(jobs),
            parts=tuple(ActionJobs(*key, count) for key, count in ordered),
            first_at=min(came, default=None),
            last_at=max(came, default=None),
            passed=len(passed),
            earlier=max([i for j in passed for i in self._newer(j)], default=None),
        )

    def _cancellable(self, job: Job, selector: Selector) -> bool:
        run = self.runs.of(job.id)
        halting = run is not None and run.place == "halted" and job.state == "dead"
        return job.state in CANCELLABLE or (
            halting and (bool(selector.ids) or selector.state == "dead")
        )

    async def revive(self, selector: Selector, *, now: int, audit: Audit | None = None) -> int:
        chosen = self._changeable(selector, "revive")
        for job in chosen[: selector.limit]:
            self._change(
                job, state="available", due_at=now, charged=0, deaths=0, reason=None, ended_at=None
            )
        revived = {job.id for job in chosen[: selector.limit]}
        for run in [run for run in self.runs.runs if set(run.jobs) & revived]:
            self.runs.reopened(run, now)
        if revived:
            self._note(audit, len(revived))
        return len(revived)

    async def keep_clock(self) -> int:
        ms = self._clock.offset - self.runs.ahead
        self.runs.ahead = self._clock.offset
        self._facts["clock/seen"] = self._clock.ledger()
        return ms

    async def count_rules(self, counts: Sequence[RuleCount]) -> None:
        for new in counts:
            old = self._rule_counts.get(new.rule)
            self._rule_counts[new.rule] = new if old is None else _added(old, new)

    async def count_activity(self, counts: Sequence[ActivityCount]) -> None:
        self._activity += counts

    async def empty_journal(self, name: str) -> bool:
        return True

    async def vacuum_room(self) -> VacuumRoom:
        return VacuumRoom(0, 0, 0)

    async def vacuum(self) -> None:
        pass

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        gone = [i for i in sorted(self._deliveries) if self._may_go(i, retain)][: retain.limit]
        self.runs.forget({i for i, j in self._jobs.items() if j.delivery in gone}, now)
        for id_ in gone:
            del self._deliveries[id_]
            self._copies.pop(id_, None)
            jobs = [i for i, j in self._jobs.items() if j.delivery == id_]
            self._attempts = [a for a in self._attempts if a.job not in jobs]
            for job in jobs:
                del self._jobs[job]
        wall = now + self.runs.ahead
        self._activity = [
            one for one in self._activity if one.at >= wall - ACTIVITY_KEPT_MS.get(one.span_s, wall)
        ]
        expired = [key for key, (_, until) in self._keys.items() if until <= now]
        for key in sorted(expired)[: retain.limit]:
            del self._keys[key]
        return Pruned(len(gone), len(expired[: retain.limit]), 0)

    def _may_go(self, id_: str, retain: Retain) -> bool:
        received = self._deliveries[id_][0].received_at - self._ahead_then[id_]
        jobs = [j for j in self._jobs.values() if j.delivery == id_]
        if any(j.state not in ENDED for j in jobs):
            return False
        if received < (retain.finished_before or 0):
            return True
        usual = EndedBefore(retain.succeeded_before, retain.unmatched_before, retain.dead_before)
        times = retain.endpoints.get(self._deliveries[id_][0].endpoint, usual)
        if not jobs:
            return received < times.unmatched
        before = min(times.dead if j.state == "dead" else times.succeeded for j in jobs)
        return max((j.ended_at or 0) - self._ahead_then.get(j.id, 0) for j in jobs) < before

    async def redact(self, step: RedactionStep, *, now: int) -> int:
        await self.remember(step.facts)
        later = dict(step.later)
        for one in step.rewritten:
            later[one.delivery.id] = None if self._rewrite(one) else now
        self._redactions = {k: v for k, v in {**self._redactions, **later}.items() if v}
        return sum(later[one.delivery.id] is None for one in step.rewritten)

    def _rewrite(self, one: Rewritten) -> bool:
        id_ = one.delivery.id
        if id_ not in self._deliveries:
            return True
        jobs = [j for j in self._jobs.values() if j.delivery == id_]
        tried = [a for a in self._attempts if a.job in {j.id for j in jobs}]
        if any(j.state not in ENDED for j in jobs) or (one.jobs, one.tried) != (
            len(jobs),
            len(tried),
        ):
            return False
        self._deliveries[id_] = (one.delivery, one.events)
        for job, reason in one.reasons.items():
            self._jobs[job] = msgspec.structs.replace(self._jobs[job], reason=reason)
        changed = {(a.job, a.number): a for a in one.attempts}
        self._attempts = [changed.get((a.job, a.number), a) for a in self._attempts]
        self._keys = {one.keys.get(key, key): kept for key, kept in self._keys.items()}
        return True

    async def remember(self, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
        self._note(audit, len(facts))
        self._facts = {k: v for k, v in {**self._facts, **facts}.items() if v is not None}


def _added(old: RuleCount, new: RuleCount) -> RuleCount:
    times = [at for at in (old.last_matched_at, new.last_matched_at) if at is not None]
    return RuleCount(
        old.rule,
        old.evaluated + new.evaluated,
        old.matched + new.matched,
        old.errored + new.errored,
        old.shadowed + new.shadowed,
        min(old.counted_since, new.counted_since),
        max(times, default=None),
    )
