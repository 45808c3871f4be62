"""
An operator's questions: selectors and ids in, values out; nothing of HTTP in between.

The API's JSON, the dashboard's pages and the command line are ways to show the same answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from router.clock import Clock
from router.errors import ConditionEnded, NotFound
from router.expressions import compile as compiled
from router.expressions import encode_json
from router.expressions.trace import Trace
from router.model.delivery import DeliverySummary, full_name
from router.model.job import Job
from router.model.operations import Replay
from router.model.target import TargetNow
from router.operator import answers, rows
from router.operator.conditions import LIMIT_S, Evaluator, Stopped, TryAsked
from router.operator.costly import CostlyAnswer
from router.operator.cursors import cursor_of, reached_by
from router.operator.exporting import exported
from router.operator.id_lookup import look_up, present, whole_ids, with_job_alone
from router.operator.known_names import check_names
from router.operator.node_rows import NodeList, node_rows
from router.operator.overview import ServerNow, overview
from router.operator.overview_answer import Overview
from router.operator.requests import LOCAL, By
from router.operator.search import Search
from router.operator.subject import SubjectSearch
from router.operator.token_answers import TokenList
from router.operator.tokens import token_list
from router.operator.trying import each_value, tried
from router.operator.where import unknown_names
from router.rules.explain import Explainer, unrouted
from router.rules.explain_words import event_json
from router.rules.live import LiveRef
from router.rules.ruleset import Ruleset
from router.rules.target_rows import target_rows
from router.store.common.death_causes import by_cause
from router.store.reads import StoreReads
from router.store.values import (
    DeliveryRecord,
    Generation,
    Selector,
    Stored,
)

T = TypeVar("T")

Place = tuple[str, int]
"""Where a page of the audit ended: an id, and a time."""

PAGE = 50
"""Lines of a list whose selector sets no limit."""

EVENTS_NAMED = 1_000

_RULESETS_KEPT = 4


class StoreQuestions:
    """
    Answers questions about stored work and the rules in force.

    `targets_now` are the targets as dispatch sees them. `rebuild` reads a kept generation again;
    None: it does not compile any more. It may take seconds and runs in a thread. `write_counts`
    puts into the store what rules did since it was last written. Without an `evaluator` conditions
    are evaluated here, and others wait.
    """

    def __init__(
        self,
        store: StoreReads,
        live: LiveRef,
        *,
        clock: Clock,
        targets_now: Callable[[], Iterable[TargetNow]],
        rebuild: Callable[[Generation], Ruleset | None],
        write_counts: Callable[[], Awaitable[None]],
        server_now: Callable[[], ServerNow] = ServerNow,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._store = store
        self.shared = store.shared
        self._live = live
        self._clock = clock
        self._targets_now = targets_now
        self._rebuild = rebuild
        self._write_counts = write_counts
        self._server_now = server_now
        self._evaluator = evaluator
        self._overview = CostlyAnswer(self._look, clock)
        self._rebuilt: dict[str, Ruleset] = {}

    # -- lists: newest first, a page at a time

    async def deliveries(
        self, selector: Selector, cursor: str | None = None, by: By = LOCAL
    ) -> answers.Deliveries:
        """Deliveries, with how often each came."""
        limit, wanted = await self._page_of(selector, cursor, "deliveries")
        search: Search | None = None
        if wanted.where is None:
            found = await self._store.deliveries(wanted)
        else:
            search, stored = await self._searched(wanted, by, jobs=False)
            found = await self._summaries([one.delivery.id for one in stored])
        page, after = _page("deliveries", found, limit, lambda d: d.id)
        name = self._live.current.ruleset.provider_name
        named = [msgspec.structs.replace(d, provider=name(d.endpoint, d.provider)) for d in page]
        return answers.Deliveries(tuple(named), after, *_examined(search))

    async def jobs(
        self, selector: Selector, cursor: str | None = None, by: By = LOCAL
    ) -> answers.Jobs:
        """Jobs, each whole."""
        limit, wanted = await self._page_of(selector, cursor, "jobs")
        if wanted.where is None:
            found = await self._store.jobs(wanted)
            return answers.Jobs(*_page("jobs", found, limit, lambda job: job.id))
        search, stored = await self._searched(wanted, by, jobs=True)
        fitting = [job for one in stored for job in one.jobs]
        page, after = _page("jobs", fitting, limit, lambda job: job.id)
        return answers.Jobs(page, after, *_examined(search))

    async def full_names(self, jobs: Iterable[Job]) -> dict[str, str]:
        """
        The events of a list's jobs with their actions, by the events' ids. Of large batches some
        are left out.
        """
        deliveries = list(dict.fromkeys([job.delivery for job in jobs]))
        found: dict[str, str] = {}
        for start in range(0, len(deliveries), PAGE):
            some = Selector(ids=tuple(deliveries[start : start + PAGE]), limit=EVENTS_NAMED)
            events = await self._store.events(some)
            found |= {event.id: full_name(event.name, event.action) for event in events}
        return found

    async def dead(self, selector: Selector, by: By = LOCAL) -> answers.Dead:
        """Dead jobs by cause."""
        wanted = msgspec.structs.replace(await self._meant(selector), state="dead", limit=None)
        if wanted.where is None:
            return answers.Dead((await self._store.causes(wanted))[: selector.limit])
        search, stored = await self._searched(wanted, by, jobs=True)
        causes = by_cause(
            (j.rule, j.action, j.target, j.reason, j.id, j.ended_at or 0)
            for one in stored
            for j in one.jobs
        )
        return answers.Dead(causes[: selector.limit], *_examined(search))

    async def audit(
        self, since: int | None, until: int | None, limit: int, cursor: str | None = None
    ) -> answers.AuditLines:
        """Lines of the audit."""
        before = reached_by(cursor, "audit", Place)
        if before is not None:  # several may have that time: look again from there on
            until = before[1] + 1 if until is None else min(until, before[1] + 1)
        found = await self._store.audited(since, until, limit + 100)
        if before is not None:
            found = tuple(line for line in found if (line.at, line.id) < (before[1], before[0]))
        return answers.AuditLines(*_page("audit", found, limit, lambda line: (line.id, line.at)))

    async def generations(self, limit: int) -> answers.Generations:
        """The newest kept generations."""
        found = await self._store.generations(limit)
        return answers.Generations(found, self._live.current.ruleset.generation)

    async def replays(self, limit: int) -> answers.Replays:
        """The newest replays."""
        return answers.Replays(await self._store.replays(limit))

    # -- what is handed over

    async def export(
        self, selector: Selector, cursor: str | None = None, by: By = LOCAL
    ) -> answers.ExportPage:
        """What is selected, whole, oldest first: a page, which may be empty before the last."""
        ruleset = self._live.current.ruleset
        search = SubjectSearch(self._store, selector, ruleset, by, evaluator=self._evaluator)
        if (reached := reached_by(cursor, "export", str)) is None:
            await search.check()
        page = await search.after(reached)
        found = []
        for data in page.found:
            record = await self._store.delivery(data.stored.delivery.id)
            if record is not None and not data.shared:  # it may have gone meanwhile
                found.append(msgspec.Raw(encode_json(exported(data, record, ruleset))))
        following = None if page.reached is None else cursor_of("export", page.reached)
        return answers.ExportPage(tuple(found), following, *_examined(search))

    # -- one thing

    async def show(self, identity: str) -> DeliveryRecord:
        """
        The delivery of this id, or the beginning of one; of a job's id, its delivery with that
        job alone. Without `dlv_` or `job_` it is a delivery, and if there is none a job. Its
        `provider` is the name that its endpoint gives the sender.

        Raises:
            NotFound: nothing has it.
            Ambiguous: several have, or it is too short.
        """
        found = await look_up(self._store, identity)
        if not isinstance(found, DeliveryRecord):
            found = with_job_alone(await self.record(found.delivery), found)
        d = found.delivery
        name = self._live.current.ruleset.provider_name(d.endpoint, d.provider)
        return msgspec.structs.replace(found, delivery=msgspec.structs.replace(d, provider=name))

    async def record(self, prefix: str) -> DeliveryRecord:
        """A delivery, whole, by its id or the beginning of it. Raises as `show`."""
        whole = prefix if prefix.startswith("dlv_") else f"dlv_{prefix}"
        return present(await self._store.delivery(whole), f"delivery {prefix}")

    async def delivery(self, prefix: str) -> answers.OneDelivery:
        """A delivery without its body. Raises as `show`."""
        return delivery_answer(await self.record(prefix), self._live.current.ruleset)

    async def job(self, prefix: str) -> answers.OneJob:
        """A job and its attempts. Raises as `show`."""
        whole = prefix if prefix.startswith("job_") else f"job_{prefix}"
        job = present(await self._store.job(whole), f"job {prefix}")
        found = await self._store.attempts(Selector(ids=(job.id,), limit=10_000))
        return answers.OneJob(job, found[::-1])

    async def generation(self, prefix: str) -> Generation:
        """A generation's text. Raises NotFound."""
        return present(await self._store.generation(prefix), f"generation {prefix}")

    async def replay(self, id_: str) -> Replay:
        """One replay, without what it named. Raises NotFound."""
        found = present(await self._store.replay(id_), f"replay {id_}")
        return msgspec.structs.replace(found, items=None)

    # -- the rules in force

    async def rules(self) -> answers.RuleList:
        """The rules in force, their jobs and what was counted of them until now."""
        await self._write_counts()
        ruleset = self._live.current.ruleset
        jobs, counts = await self._store.counts(), await self._store.rule_counts()
        return answers.RuleList(
            ruleset.generation, rows.rule_rows(ruleset, jobs, counts, self._clock.now())
        )

    async def targets(self) -> answers.TargetList:
        """Every target, as it stands."""
        counts = await self._store.target_counts()
        return answers.TargetList(target_rows(self._live.current, self._targets_now(), counts))

    async def overview(self) -> Overview:
        """Everything at one glance; some seconds old at most, where there is much of it."""
        return await self._overview.get()

    async def _look(self) -> Overview:
        await self._write_counts()
        targets = (await self.targets()).targets
        nodes = (await self.nodes()).nodes
        return await overview(
            self._store, self._live, targets, nodes, self._server_now(), self._clock.now()
        )

    async def tokens(self) -> TokenList:
        """Who may call the admin listener."""
        return await token_list(self._store, self._live.current.ruleset)

    async def dead_count(self) -> int:
        """How many jobs are dead."""
        return (await self._store.open_states()).get("dead", 0)

    async def nodes(self) -> NodeList:
        """The nodes that share the store; none, if only one can have it."""
        if not self.shared:
            return NodeList((), None)
        nodes, loads = await self._store.nodes(), await self._store.node_loads()
        newest = await self._store.in_force()
        in_force = newest.generation if newest else None
        return NodeList(node_rows(nodes, loads, self._clock.now()), in_force)

    async def explain(self, prefix: str, number: int) -> tuple[str | None, dict[str, Any]]:
        """
        Event `number` of a stored delivery by the generation that decided it: why no rule was
        evaluated, or the event with every rule beside it, as JSON values for `encode_json`.

        Raises:
            NotFound: the delivery, the event or the generation is not there.
        """
        record = await self.record(prefix)
        ruleset = await self.ruleset_of(record.delivery.generation)
        return await asyncio.to_thread(_explained, record, ruleset, number)

    async def tried(self, record: DeliveryRecord, number: int, text: str, by: By) -> Trace:
        """
        The verdict of a condition on one event of a delivery, by the rules in force.

        Raises:
            ExpressionError: it is wrong.
            NotFound: there is no such event.
            ConditionBusy, ConditionEnded: it waited or took too long, or took too much memory.
        """
        ruleset, expression = self._live.current.ruleset, compiled(text)
        for fault in unknown_names(expression, ruleset):
            raise fault
        if self._evaluator is None:
            return tried(expression, record, number, ruleset)
        asked = TryAsked(record.delivery.id, number, text)
        try:
            found = await self._evaluator.ask(asked, Trace, ruleset, by, LIMIT_S)
        except Stopped as stopped:
            raise ConditionEnded(f"the condition was ended {stopped}") from None
        return each_value(found, msgspec.Raw)

    async def ruleset_of(self, generation: str) -> Ruleset:
        """The rules of a generation. Raises NotFound when they cannot be had any more."""
        if generation == self._live.current.ruleset.generation:
            return self._live.current.ruleset
        if (known := self._rebuilt.get(generation)) is not None:
            return known
        kept = await self._store.generation(generation)
        found = await asyncio.to_thread(self._rebuild, kept) if kept else None
        if found is None:
            raise NotFound(f"generation {generation[:16]}, which decided, cannot be read any more")
        while len(self._rebuilt) >= _RULESETS_KEPT:
            self._rebuilt.pop(next(iter(self._rebuilt)))
        self._rebuilt[generation] = found
        return found

    # -- what lists have in common

    async def _page_of(
        self, selector: Selector, cursor: str | None, name: str
    ) -> tuple[int, Selector]:
        """The page's length, and the selector that also finds whether there is another page."""
        limit = PAGE if selector.limit is None else selector.limit
        wanted = await self._meant(selector)
        before = reached_by(cursor, name, str)
        return limit, msgspec.structs.replace(wanted, limit=limit + 1, before=before)

    async def _meant(self, selector: Selector) -> Selector:
        """
        With whole ids.

        Raises:
            NotFound: an id is unknown, too short, or fits several.
            UsageError: another name is unknown.
        """
        await check_names(selector, self._live.current.ruleset, self._store)
        return msgspec.structs.replace(selector, ids=await whole_ids(self._store, selector.ids))

    async def _searched(
        self, wanted: Selector, by: By, *, jobs: bool
    ) -> tuple[Search, list[Stored]]:
        """What the condition of a selector holds for."""
        ruleset = self._live.current.ruleset
        search = Search(self._store, wanted, ruleset, by, jobs=jobs, evaluator=self._evaluator)
        return search, [one async for one in search.newest()]

    async def _summaries(self, ids: Sequence[str]) -> tuple[DeliverySummary, ...]:
        """A list's lines of these deliveries."""
        pages = [
            await self._store.deliveries(Selector(ids=tuple(ids[start : start + PAGE]), limit=PAGE))
            for start in range(0, len(ids), PAGE)
        ]
        return tuple([line for page in pages for line in page])


def delivery_answer(record: DeliveryRecord, ruleset: Ruleset) -> answers.OneDelivery:
    """Everything about a delivery but its body."""
    d = record.delivery
    known = msgspec.structs.asdict(d) | msgspec.structs.asdict(record)
    known["provider"] = ruleset.provider_name(d.endpoint, d.provider)
    known["body_bytes"] = len(d.body)
    return msgspec.convert(known, answers.OneDelivery, from_attributes=True)


def _explained(
    record: DeliveryRecord, ruleset: Ruleset, number: int
) -> tuple[str | None, dict[str, Any]]:
    delivery = record.delivery
    if (provider := ruleset.providers.get(delivery.provider)) is None:
        raise NotFound(f"these rules have no provider {delivery.provider!r}, which sent it")
    reading = provider.read_stored(delivery)
    if (reason := unrouted(delivery, reading)) is not None:
        return reason, {}
    chosen = reading.events[number : number + 1]
    if not chosen:
        raise NotFound(f"it has no event {number}: its events are 0 to {len(reading.events) - 1}")
    ids = {entry.index: entry.id for entry in record.events}
    [event] = Explainer(ruleset).events(delivery, chosen, ids)
    return None, event_json(event)


def _examined(search: Search | SubjectSearch | None) -> tuple[int, str | None]:
    """Of a search by condition: `failed` and `reason` of its answer."""
    if search is None or search.where is None:
        return 0, None
    return search.where.failed, search.where.reason


def _page(
    name: str, found: Sequence[T], limit: int, place: Callable[[T], Any]
) -> tuple[tuple[T, ...], str | None]:
    """The page of the list `name`, and the cursor of the one after it if more follow."""
    page = tuple(found[:limit])
    return page, cursor_of(name, place(page[-1])) if len(found) > limit else None
