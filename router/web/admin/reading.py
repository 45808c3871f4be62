"""
The operator's questions: selectors and ids in, values out; nothing of HTTP in between.

The admin door's JSON and the dashboard's pages are two ways to show the same answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from router.clock import Clock
from router.errors import NotFound
from router.model.delivery import Delivery, DeliverySummary, as_request
from router.model.job import Job, JobState
from router.model.operations import Audit, Cause, Replay
from router.operator import Pages, Search, check_names, whole_ids
from router.rules.explain_delivery import explain_events, unrouted
from router.rules.explain_json import event_json
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.store.values import (
    DeliveryRecord,
    Generation,
    ListedAttempt,
    ListedEvent,
    ListedGeneration,
    NameKind,
    RuleCount,
    Selector,
    Stored,
)
from router.web.admin import answers, told
from router.web.admin.asking import marked

T = TypeVar("T")

Place = tuple[str, int]
"""Where a page of events or attempts ended: an id, and a number within it."""

_RULESETS_KEPT = 4


class QuestionStore(Pages, Protocol):
    """The reading verbs of the store that questions need; see router/store/protocol.py."""

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]: ...

    async def delivery(self, prefix: str) -> DeliveryRecord | None: ...

    async def events(
        self, selector: Selector, after: Place | None = None
    ) -> tuple[ListedEvent, ...]: ...

    async def jobs(self, selector: Selector) -> tuple[Job, ...]: ...

    async def job(self, prefix: str) -> Job | None: ...

    async def attempts(
        self, selector: Selector, after: Place | None = None
    ) -> tuple[ListedAttempt, ...]: ...

    async def generations(
        self, limit: int, after: str | None = None
    ) -> tuple[ListedGeneration, ...]: ...

    async def generation(self, prefix: str) -> Generation | None: ...

    async def causes(self, selector: Selector) -> tuple[Cause, ...]: ...

    async def names(self, kind: NameKind) -> tuple[str, ...]: ...

    async def replay(self, id_: str) -> Replay | None: ...

    async def replays(self, limit: int, *, making: bool = False) -> tuple[Replay, ...]: ...

    async def audited(
        self, since: int | None, until: int | None, limit: int
    ) -> tuple[Audit, ...]: ...

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]: ...

    async def rule_counts(self) -> Mapping[str, RuleCount]: ...

    async def targets(self) -> Mapping[str, int]: ...

    async def recall(self, prefix: str) -> Mapping[str, Any]: ...


class Questions:
    """
    Answers questions about stored work and the rules in force.

    `rebuild` reads a kept generation again; None: it does not compile any more. It may take
    seconds and runs in a thread. `write_counts` puts into the ledger what rules did since it was
    last written.
    """

    def __init__(
        self,
        ledger: QuestionStore,
        live: LiveRef,
        *,
        clock: Clock,
        rebuild: Callable[[Generation], Ruleset | None],
    ) -> None:
        self._ledger = ledger
        self._live = live
        self._clock = clock
        self._rebuild = rebuild
        self.write_counts: Callable[[], Awaitable[None]] = _written
        self._rebuilt: dict[str, Ruleset] = {}

    async def deliveries(self, selector: Selector, before: str | None = None) -> answers.Deliveries:
        """A page of deliveries, newest first; `before` is the last id of the page before."""
        limit, wanted = _one_more(await self._meant(selector), before)
        cut = False
        if wanted.where is not None:
            stored, cut = await self._searched(wanted, jobs=False)
            ids = tuple(one.delivery.id for one in stored)
            if not ids:
                return answers.Deliveries((), None, cut)
            wanted = Selector(ids=ids, limit=limit + 1)
        found = await self._ledger.deliveries(wanted)
        page, last = _cut(found, limit)
        return answers.Deliveries(page, _next("deliveries", last, lambda d: d.id), cut)

    async def _meant(self, selector: Selector) -> Selector:
        """
        With whole ids.

        Raises:
            NotFound: an id is unknown, too short, or fits several.
            UsageError: another name is unknown.
        """
        await check_names(selector, self._live.current.ruleset, self._ledger)
        return msgspec.structs.replace(selector, ids=await whole_ids(self._ledger, selector.ids))

    async def _searched(self, wanted: Selector, *, jobs: bool) -> tuple[list[Stored], bool]:
        """What the condition of a selector holds for; whether not all was looked at."""
        ruleset = self._live.current.ruleset
        search = Search(self._ledger, wanted, ruleset, jobs=jobs, bounded=True)
        return [one async for one in search.newest()], search.cut

    async def events(self, selector: Selector, after: Place | None = None) -> answers.EventPage:
        """A page of events."""
        limit, wanted = _one_more(await self._meant(selector), None)
        page, last = _cut(await self._ledger.events(wanted, after), limit)
        return answers.EventPage(page, _next("events", last, lambda e: (e.delivery, e.index)))

    async def jobs(self, selector: Selector, before: str | None = None) -> answers.Jobs:
        """A page of jobs, newest first."""
        limit, wanted = _one_more(await self._meant(selector), before)
        found: tuple[Job, ...]
        cut = False
        if wanted.where is None:
            found = await self._ledger.jobs(wanted)
        else:
            stored, cut = await self._searched(wanted, jobs=True)
            found = tuple(job for one in stored for job in one.jobs)
        page, last = _cut(found, limit)
        return answers.Jobs(page, _next("jobs", last, lambda j: j.id), cut)

    async def attempts(self, selector: Selector, after: Place | None = None) -> answers.Attempts:
        """A page of ended attempts."""
        limit, wanted = _one_more(await self._meant(selector), None)
        page, last = _cut(await self._ledger.attempts(wanted, after), limit)
        mark = _next("attempts", last, lambda a: (a.attempt.job, a.attempt.number))
        return answers.Attempts(page, mark)

    async def record(self, prefix: str) -> DeliveryRecord:
        """
        A delivery, whole, by its id or the beginning of it.

        Raises:
            NotFound: none has it, or several.
        """
        whole = prefix if prefix.startswith("dlv_") else f"dlv_{prefix}"
        found = await self._ledger.delivery(whole)
        if found is None:
            raise NotFound(f"no delivery {prefix}")
        return found

    async def delivery(self, prefix: str) -> answers.OneDelivery:
        """A delivery without its body. Raises NotFound."""
        return told_delivery(await self.record(prefix))

    async def job(self, prefix: str) -> answers.OneJob:
        """A job and its attempts. Raises NotFound."""
        whole = prefix if prefix.startswith("job_") else f"job_{prefix}"
        job = await self._ledger.job(whole)
        if job is None:
            raise NotFound(f"no job {prefix}")
        found = await self._ledger.attempts(Selector(ids=(job.id,), limit=10_000))
        return answers.OneJob(job, tuple(a.attempt for a in reversed(found)))

    async def dead(self, selector: Selector) -> answers.Dead:
        """Dead jobs by cause."""
        wanted = msgspec.structs.replace(await self._meant(selector), limit=None)
        found = await self._ledger.causes(wanted)
        return answers.Dead(found[: selector.limit])

    async def rules(self) -> answers.RuleList:
        """The rules in force, their jobs and what was counted of them until now."""
        await self.write_counts()
        ruleset = self._live.current.ruleset
        jobs, counts = await self._ledger.counts(), await self._ledger.rule_counts()
        rules = told.told_rules(ruleset, jobs, counts, self._clock.now())
        return answers.RuleList(ruleset.generation, rules)

    def endpoints(self) -> answers.Endpoints:
        """The receiving addresses."""
        ruleset = self._live.current.ruleset
        return answers.Endpoints(ruleset.server.base_url, told.told_endpoints(ruleset))

    async def generations(self, limit: int, after: str | None = None) -> answers.Generations:
        """A page of kept generations."""
        page, last = _cut(await self._ledger.generations(limit + 1, after), limit)
        live = self._live.current.ruleset.generation
        return answers.Generations(page, live, _next("generations", last, lambda g: g.id))

    async def generation(self, prefix: str) -> answers.GenerationText:
        """A generation's text. Raises NotFound."""
        kept = await self._ledger.generation(prefix)
        if kept is None:
            raise NotFound(f"no generation {prefix}")
        return answers.GenerationText(kept.id, kept.created_at, kept.text, kept.context)

    async def explain(self, prefix: str, number: int | None = None) -> dict[str, Any]:
        """
        A stored delivery by the generation that decided it: every rule beside every event (or
        beside event `number`), as JSON values for `encode_json`.

        Raises:
            NotFound: the delivery, the event or the generation is not there.
        """
        record = await self.record(prefix)
        ruleset = await self.ruleset_of(record.delivery.generation)
        return await asyncio.to_thread(_explained, record, ruleset, number)

    async def ruleset_of(self, generation: str) -> Ruleset:
        """The rules of a generation. Raises NotFound when they cannot be had any more."""
        present = self._live.current.ruleset
        if generation == present.generation:
            return present
        known = self._rebuilt.get(generation)
        if known is not None:
            return known
        kept = await self._ledger.generation(generation)
        found = await asyncio.to_thread(self._rebuild, kept) if kept else None
        if found is None:
            raise NotFound(f"generation {generation[:16]}, which decided, cannot be read any more")
        while len(self._rebuilt) >= _RULESETS_KEPT:
            self._rebuilt.pop(next(iter(self._rebuilt)))
        self._rebuilt[generation] = found
        return found

    async def audit(
        self, since: int | None, until: int | None, limit: int, before: Place | None = None
    ) -> answers.AuditLines:
        """
        Lines of the audit, newest first; `before` is the last id of the page before and its time.
        """
        if before is not None:  # several may have that time: look again from there on
            until = before[1] + 1 if until is None else min(until, before[1] + 1)
        found = await self._ledger.audited(since, until, limit + 100)
        if before is not None:
            found = tuple(line for line in found if (line.at, line.id) < (before[1], before[0]))
        page, last = _cut(found, limit)
        return answers.AuditLines(page, _next("audit", last, lambda line: (line.id, line.at)))

    async def replays(self, limit: int) -> answers.Replays:
        """The newest replays."""
        return answers.Replays(await self._ledger.replays(limit))

    async def replay(self, id_: str) -> Replay:
        """One replay, without what it named. Raises NotFound."""
        found = await self._ledger.replay(id_)
        if found is None:
            raise NotFound(f"no replay {id_}")
        return msgspec.structs.replace(found, items=None)

    async def remembered(self, prefix: str) -> answers.Remembered:
        """Small facts under names that begin so."""
        return answers.Remembered(dict(await self._ledger.recall(prefix)))


def told_delivery(record: DeliveryRecord) -> answers.OneDelivery:
    """Everything about a delivery but its body."""
    d = record.delivery
    return answers.OneDelivery(
        id=d.id,
        endpoint=d.endpoint,
        provider=d.provider,
        received_at=d.received_at,
        state=d.state,
        method=d.method,
        path=d.path,
        query=d.query,
        headers=d.headers,
        body_bytes=len(d.body),
        verified_by=d.verified_by,
        generation=d.generation,
        flags=d.flags,
        peer=d.peer,
        replay_of=d.replay_of,
        duplicates=record.duplicates,
        last_seen_at=record.last_seen_at,
        event_count=d.event_count,
        damaged=d.damaged,
        events=tuple(answers.ToldEvent(e.index, e.id, e.name, e.action) for e in record.events),
        jobs=record.jobs,
        attempts=record.attempts,
    )


def _explained(record: DeliveryRecord, ruleset: Ruleset, number: int | None) -> dict[str, Any]:
    delivery = record.delivery
    reason, events = _events(record, ruleset, number)
    return {
        "delivery": delivery.id,
        "endpoint": delivery.endpoint,
        "provider": delivery.provider,
        "received_at": delivery.received_at,
        "verified_by": delivery.verified_by,
        "state": delivery.state,
        "flags": list(delivery.flags),
        "generation": ruleset.generation,
        "reason": reason,
        "events": events,
    }


def _events(
    record: DeliveryRecord, ruleset: Ruleset, number: int | None
) -> tuple[str | None, list[dict[str, Any]]]:
    """Why no rule was asked, or the events."""
    delivery: Delivery = record.delivery
    provider = ruleset.providers.get(delivery.provider)
    if provider is None:
        raise NotFound(f"these rules have no provider {delivery.provider!r}, which sent it")
    reading = provider.read(as_request(delivery))
    reason = unrouted(delivery, reading)
    if reason is not None:
        return reason, []
    chosen = reading.events if number is None else reading.events[number : number + 1]
    if number is not None and not chosen:
        raise NotFound(f"it has no event {number}: they count from 0 to {len(reading.events) - 1}")
    ids = {entry.index: entry.id for entry in record.events}
    return None, [event_json(e) for e in explain_events(delivery, chosen, ruleset, ids)]


async def _written() -> None:
    """Nothing is counted but in the ledger."""


def _one_more(selector: Selector, before: str | None) -> tuple[int, Selector]:
    """The page's length, and the selector that also asks whether there is another page."""
    limit = 50 if selector.limit is None else selector.limit
    return limit, msgspec.structs.replace(selector, limit=limit + 1, before=before)


def _cut(found: Sequence[T], limit: int) -> tuple[tuple[T, ...], T | None]:
    """The page, and its last item if more follow."""
    page = tuple(found[:limit])
    return page, page[-1] if len(found) > limit else None


def _next(of: str, last: T | None, place: Callable[[T], Any]) -> str | None:
    """The cursor of the page after the one that ends with `last`."""
    return None if last is None else marked(of, place(last))
