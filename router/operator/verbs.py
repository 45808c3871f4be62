"""The operator's verbs on stored work; each leaves a line in the audit."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

import msgspec

from router.clock import Clock
from router.dispatch.breakers import Breakers
from router.errors import UsageError
from router.model.ids import Ids
from router.model.job import Job
from router.model.operations import Change, Item, Planned, Replay
from router.model.selector import Criteria
from router.model.subscription import is_subscription, scopes_name
from router.operator import answers, retention
from router.operator.audit import AuditTrail
from router.operator.conditions import Evaluator
from router.operator.erase_verbs import EraseVerbs
from router.operator.erasing import Eraser
from router.operator.id_lookup import look_up, present, whole_ids
from router.operator.known_names import check_names
from router.operator.new_jobs import NewJobs, provider_of
from router.operator.originals import OriginalRuns
from router.operator.replay_source import frozen, joined, plan
from router.operator.replay_steps import ReplayMaker, Wake
from router.operator.requests import (
    LOCAL,
    BackupNote,
    By,
    ChangeRequest,
    PruneRequest,
    RememberRequest,
    ReplayRequest,
)
from router.operator.search import Search
from router.operator.target_verbs import TargetVerbs
from router.operator.tokens import TokenLedger, TokenVerbs
from router.rules.live import LiveRef
from router.store.protocol import OperatorStore
from router.store.values import Claimed, Selector, alone

IDS_AT_ONCE = 100
FIRST_REPLAYS = 100
"""So many of the latest replays are searched for the targets they still keep busy."""
PATH_MAX = 4_096


class StoreVerbs(TargetVerbs, TokenVerbs, EraseVerbs):
    """
    Acts on stored work. `replays` are those whose jobs are being made, `erasures` those under way.

    `wake` is called with every target that has new due work.
    `patience_s` is how long `replay` and `erase` wait until they are done, None: as long as it
    takes. `erased` is called when somebody was erased: memory may still hold what it has received.
    `evaluator` as of StoreQuestions.
    """

    def __init__(  # noqa: PLR0913 - each is a part of its own, and named
        self,
        *,
        store: OperatorStore,
        live: LiveRef,
        clock: Clock,
        ids: Ids,
        wake: Wake,
        breakers: Breakers,
        patience_s: float | None = None,
        claimed: Claimed = alone,
        erased: Callable[[], None] = lambda: None,
        evaluator: Evaluator | None = None,
    ) -> None:
        self.audit = AuditTrail(store, clock, ids)
        self.tokens = TokenLedger(store, clock)
        self._breakers = breakers
        self._store = store
        self._live = live
        self._clock = clock
        self._wake = wake
        self._ids = ids
        self._patience_s = patience_s
        self._evaluator = evaluator
        again = NewJobs(live, clock, ids)
        self.replays = ReplayMaker(
            store=store, live=live, clock=clock, again=again, wake=wake, claimed=claimed,
            evaluator=evaluator,
        )  # fmt: skip
        self.erasures = Eraser(
            store=store, live=live, clock=clock, wake=wake, claimed=claimed, erased=erased,
            evaluator=evaluator,
        )  # fmt: skip

    # -- replays

    async def plan_replay(self, request: ReplayRequest, by: By = LOCAL) -> answers.OperatorPlan:
        """
        What `replay` would do; changes nothing. With the plan's `until` in its selector `replay`
        does exactly that: what comes later is no part of it.

        Raises: as `replay`.
        """
        request.check()
        await self._known(request, by)
        replay, request = await self._prepared(request, by)
        planned = await plan(self.replays.finder(request, by), replay, request.rate)
        return await self._plan(planned, request.selector)

    async def replay(self, request: ReplayRequest, by: By = LOCAL) -> answers.ReplayProgress:
        """
        Make new jobs from stored deliveries, ignoring dedupe.

        A delivery is routed again by the present rules; a job, or jobs selected by rule, state or
        cause, are made again as event x rule x action. A replay of a known name goes on where it
        was; what it has made is not made again.

        Raises:
            NotFound: an id is unknown.
            Forbidden: it has a condition, and `by` may not see payloads.
            UsageError: nothing was selected, or the name stands for another replay.
        """
        request.check()
        if (replay := await self._known(request, by)) is None:
            fresh, request = await self._prepared(request, by)
            fresh = msgspec.structs.replace(fresh, due=await self._busy(request))
            line = self.audit.line(by, "replay", request.as_json(), fresh.id)
            replay = await self._store.begin_replay(fresh, line)
            self.audit.log(line)
        return await self._progress(await self.replays.go_on(replay, self._patience_s))

    async def replayed(self, id_: str) -> answers.ReplayProgress:
        """How far a replay is. Raises NotFound."""
        return await self._progress(present(await self._store.reads.replay(id_), f"replay {id_}"))

    async def _known(self, request: ReplayRequest, by: By) -> Replay | None:
        """
        The replay of this name, if it is this one. Raises UsageError: it is another; and as
        `condition_of`, before anything is looked at.
        """
        self.replays.finder(request, by)
        if request.name is None:
            return None
        replay = await self._store.reads.replay(request.name)
        if replay is not None and not request.is_same(ReplayRequest.from_json(replay.asked)):
            raise UsageError(f"{request.name} is the name of another replay; choose another name")
        return replay

    async def _prepared(self, request: ReplayRequest, by: By) -> tuple[Replay, ReplayRequest]:
        """A new replay of this, its selection frozen."""
        now = self._clock.now()
        items: tuple[Item, ...] | None = None
        if request.selector is None:
            items = await self._items(request)
        else:
            await check_names(request.selector, self._live.current.ruleset, self._store.reads)
            selector = frozen(request.selector, now)
            request = msgspec.structs.replace(request, selector=selector)
            if selector.limit is not None:
                items = await self.replays.finder(request, by).items()
        return Replay(
            request.name or self._ids.new("rpl", now), request.as_json(), now, items
        ), request

    async def _items(self, request: ReplayRequest) -> tuple[Item, ...]:
        """What the ids name, in their order. Raises NotFound."""
        whole: dict[str, None] = {}
        single: dict[str, list[str]] = {}
        for written in request.ids:
            found = await look_up(self._store.reads, written)
            if isinstance(found, Job):
                single.setdefault(found.delivery, []).append(found.id)
            else:
                if not request.recorded:
                    provider_of(found.delivery, self._live.current.ruleset)
                whole[found.delivery.id] = None
        alone = [(d, tuple(jobs)) for d, jobs in single.items() if d not in whole]
        return (*[(d, None) for d in whole], *alone)

    async def _busy(self, request: ReplayRequest) -> dict[str, float]:
        """When replays that go on leave each target free; what is named by id waits for none."""
        if request.ids or request.rate is None:
            return {}
        now = self._clock.ledger()
        found: dict[str, float] = {}
        for replay in await self._store.reads.replays(FIRST_REPLAYS):
            for target, at in replay.due.items():
                if at > now and replay.state != "cancelled":
                    found[target] = max(at, found.get(target, 0.0))
        return found

    async def _progress(self, replay: Replay) -> answers.ReplayProgress:
        known = msgspec.structs.asdict(replay)
        known["earlier"] = await self._earlier(replay.earlier)
        due = [int(at) + self._clock.offset for at in replay.due.values()]
        known["last_due_at"] = max(due, default=None)
        return msgspec.convert(known, answers.ReplayProgress)

    # -- changes of jobs that there are

    async def plan_change(
        self, verb: Change, request: ChangeRequest, by: By = LOCAL
    ) -> answers.OperatorPlan:
        """
        What `cancel` or `revive` would change; as `plan_replay`. A replay is cancelled whole,
        whatever it makes meanwhile.

        Raises: as they do.
        """
        newer = await self._newer(request) if verb == "revive" else {}
        planned, selector = await self._planned(verb, request, by)
        return await self._plan(planned, selector, newer)

    async def cancel(self, request: ChangeRequest, by: By = LOCAL) -> answers.Cancelled:
        """
        Cancel jobs that have not ended and are not running.

        Raises:
            Forbidden: it has a condition, and `by` may not see payloads.
            NotFound: there is no such id, or replay.
            UsageError: nothing was selected.
        """
        cancel = partial(self._store.cancel, reason="cancelled by operator")
        return answers.Cancelled(await self._change("cancel", cancel, request, by))

    async def revive(self, request: ChangeRequest, by: By = LOCAL) -> answers.Revived:
        """
        Make dead jobs available again with a fresh schedule. One that a replay has made again is
        revived only if it is named.

        Raises: as `cancel`.
        """
        newer = await self._newer(request)
        planned, _ = await self._planned("revive", request, by)
        count = await self._change("revive", self._store.revive, request, by)
        return answers.Revived(count, planned.passed, await self._earlier(planned.earlier), newer)

    async def _change(
        self, verb: Change, change: Callable[..., Awaitable[int]], request: ChangeRequest, by: By
    ) -> int:
        """Change what the request chooses; how many jobs that were."""
        line, now = self.audit.line(by, verb, request.as_json()), self._clock.ledger()
        chosen = await self._chosen(verb, request, by)
        count = sum([await change(one, now=now, audit=line) for one in chosen])
        if count:  # they may start, or what they kept waiting
            self.audit.log(line, count)
            for target, due_at in (await self._store.reads.targets()).items():
                self._wake(target, due_at)
        return count

    async def _newer(self, request: ChangeRequest) -> dict[str, tuple[str, str]]:
        """Id and state of the newest run of each job that is named and has been made again."""
        found: dict[str, tuple[str, str]] = {}
        for written in request.ids:
            job = await look_up(self._store.reads, written)
            if isinstance(job, Job) and (of := await self._store.reads.delivery(job.delivery)):
                newest = OriginalRuns(of.jobs).newest(job)
                if newest.id != job.id:
                    found[job.id] = newest.id, newest.state
        return found

    async def _planned(
        self, verb: Change, request: ChangeRequest, by: By
    ) -> tuple[Planned, Criteria | None]:
        """What would change, and the selection to repeat for exactly that."""
        if (selector := request.selector) is not None and selector.replay is None:
            selector = frozen(selector, self._clock.now())
        chosen = await self._chosen(verb, msgspec.structs.replace(request, selector=selector), by)
        return joined([await self._store.reads.planned(one, verb) for one in chosen]), selector

    async def _chosen(self, verb: Change, request: ChangeRequest, by: By) -> list[Selector]:
        """The same as selections that the store can read alone: without a condition."""
        request.check()
        chosen = Selector.of(request.selector, await whole_ids(self._store.reads, request.ids))
        await check_names(chosen, self._live.current.ruleset, self._store.reads)
        if chosen.where is None:
            return [chosen]
        if chosen.replay is not None:
            raise UsageError("a replay is cancelled whole: leave --where out")
        found = [job async for job in self._fitting(verb, chosen, by)]
        state = "dead" if verb == "revive" else chosen.state  # found, not named
        return [
            Selector(ids=tuple(found[start : start + IDS_AT_ONCE]), state=state)
            for start in range(0, len(found), IDS_AT_ONCE)
        ]

    async def _fitting(self, verb: Change, selector: Selector, by: By) -> AsyncIterator[str]:
        """Ids of the selected jobs that the condition fits and that can be changed so."""
        states = {"dead"} if verb == "revive" else {"available", "retryable", "waiting"}
        if selector.ids or selector.state == "dead":  # as without a condition
            states.add("dead")
        unlimited = msgspec.structs.replace(selector, limit=None)
        search = Search(
            self._store.reads, unlimited, self._live.current.ruleset, by, jobs=True,
            evaluator=self._evaluator,
        )  # fmt: skip
        count = 0
        async for stored in search.newest():
            for job in stored.jobs:
                if job.state in states and count != selector.limit:
                    alone = Selector(ids=(job.id,), state="dead")
                    count += verb == "cancel" or (  # to revive: nothing was made of it since
                        (await self._store.reads.planned(alone, "revive")).jobs > 0
                    )
                    yield job.id
            if count == selector.limit:
                return

    async def _plan(
        self,
        planned: Planned,
        selector: Criteria | None,
        newer: Mapping[str, tuple[str, str]] = {},
    ) -> answers.OperatorPlan:
        values = msgspec.structs.asdict(planned) | {
            "earlier": await self._earlier(planned.earlier),
            "newer": newer,
        }
        return answers.OperatorPlan(**values, until=selector.until if selector else None)

    async def _earlier(self, job: str | None) -> answers.EarlierReplay | None:
        """The replay that made a job which was passed over for it."""
        replay = None if job is None else await self._store.reads.made_by(job)
        return None if replay is None else answers.EarlierReplay(replay.id, replay.created_at)

    # -- the rest

    async def prune(self, request: PruneRequest, by: By = LOCAL) -> answers.PruneProgress:
        """
        A bounded piece of retention, now.

        Raises:
            UsageError: the age is negative.
        """
        if request.older_than is not None and request.older_than < 0:
            raise UsageError("older_than is a number of milliseconds")
        now, older = self._clock.ledger(), request.older_than
        before = None if older is None else now - older
        retain = retention.retain(self._live.current.ruleset, now, finished_before=before)
        done = await retention.prune(self._store, retain, clock=self._clock)
        await self.audit.note(by, "prune", msgspec.to_builtins(request), done.deliveries)
        return done

    async def remember(self, request: RememberRequest, by: By = LOCAL) -> answers.Remembered:
        """
        Keep what the command line found out, so that it need not wait for the store's lock.

        Raises:
            UsageError: a name is not that of its subscription.
        """
        if not all(map(is_subscription, request.facts.items())):
            raise UsageError("facts are subscriptions by name")
        scopes = {scopes_name(granted.base): granted for granted in request.scopes}
        facts = {**request.facts, **scopes}
        line = self.audit.line(by, "remember", {"facts": sorted(facts)})
        await self._store.remember(msgspec.to_builtins(facts), line)
        self.audit.log(line, len(facts))
        return answers.Remembered(len(facts))

    async def backed_up(self, note: BackupNote, by: By = LOCAL) -> answers.Noted:
        """Note in the audit a backup that was made beside the server."""
        asked = {"path": note.path[:PATH_MAX], "bytes": note.bytes}
        await self.audit.note(by, "backup", asked, 0)
        return answers.Noted(1)
