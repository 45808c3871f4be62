"""The operator's verbs: replay, cancel, revive; each leaves a line in the audit."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from router import log
from router.clock import Clock
from router.errors import NotFound, UsageError
from router.model.ids import Ids
from router.model.job import Job
from router.model.operations import Audit, Change, Item, Planned, Replay
from router.operator.id_lookup import whole_ids
from router.operator.known_names import check_names
from router.operator.new_jobs import NewJobs
from router.operator.originals import OriginalRuns
from router.operator.planning import joined, plan
from router.operator.replay_request import LOCAL, By, ReplayRequest, said
from router.operator.replay_source import frozen
from router.operator.replay_steps import Making, Wake
from router.operator.search import Search
from router.rules.live import LiveRef
from router.store.protocol import Store
from router.store.values import Selector

IDS_AT_ONCE = 100
FIRST_REPLAYS = 100
"""So many of the latest replays are asked which targets they still keep busy."""

Act = Callable[[Selector], Awaitable[int]]


class Operator:
    """
    Acts on stored work.

    `wake` is told of every target that has new due work (a no-op when no server runs).
    `patience_s` is how long `replay` waits for its jobs to be made, None: until they are.
    """

    def __init__(
        self,
        *,
        store: Store,
        live: LiveRef,
        clock: Clock,
        ids: Ids,
        wake: Wake,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._ids = ids
        self._wake = wake
        self._patience_s = patience_s
        self._log = log.get("audit")
        again = NewJobs(live, clock, ids)
        self._making = Making(store=store, live=live, clock=clock, again=again, wake=wake)

    async def replay(self, asked: ReplayRequest, by: By = LOCAL) -> Replay:
        """
        Make new jobs from stored deliveries, ignoring dedupe.

        A delivery is routed anew by the present rules; a job, or jobs selected by rule, state or
        cause, are made again as event x rule x action. A replay of a known name goes on where it
        was; what it has made is not made again.

        Raises:
            NotFound: an id is unknown.
            UsageError: nothing was selected, or the name stands for another replay.
        """
        asked.check()
        replay = await self._known(asked)
        if replay is None:
            fresh, asked = await self._prepared(asked)
            fresh = msgspec.structs.replace(fresh, due=await self._busy(asked))
            audit = self._audit(by, "replay", asked.as_json(), fresh.id)
            replay = await self._store.begin_replay(fresh, audit)
            self._say(audit)
        return await self._making.go_on(replay, self._patience_s)

    async def plan(self, asked: ReplayRequest) -> tuple[Planned, ReplayRequest]:
        """
        What `replay` would do, and the request to repeat for exactly that; changes nothing.

        Raises: as `replay`.
        """
        asked.check()
        await self._known(asked)
        replay, asked = await self._prepared(asked)
        return await plan(self._making.finder(asked), replay, asked.rate), asked

    def shift(self, ms: int) -> None:
        """Somebody set the clock: paces of replays go on by the new one."""
        self._making.shift(ms)

    async def resume(self) -> int:
        """Go on with the replays that an earlier process began; returns how many."""
        return await self._making.resume()

    async def close(self) -> None:
        """Stop making jobs of replays; the next start goes on."""
        await self._making.close()

    async def cancel(self, ids: Sequence[str], selector: Selector | None, by: By = LOCAL) -> int:
        """
        Cancel jobs that have not ended and are not running; returns how many.

        Raises:
            NotFound: there is no such replay.
            UsageError: nothing was selected.
        """
        audit = self._audit(by, "cancel", _told(ids, selector))
        now = self._clock.now()
        count = await self._change(
            "cancel",
            ids,
            selector,
            lambda chosen: self._store.cancel(
                chosen, reason="cancelled by operator", now=now, audit=audit
            ),
        )
        if count:  # what they kept waiting may start
            self._say(audit, count)
            await self._wake_all()
        return count

    async def revive(self, ids: Sequence[str], selector: Selector | None, by: By = LOCAL) -> int:
        """
        Make dead jobs available again with a fresh schedule; returns how many. One that a replay
        has made again is opened only if it is named: see `newer`.
        """
        audit = self._audit(by, "revive", _told(ids, selector))
        now = self._clock.now()
        count = await self._change(
            "revive",
            ids,
            selector,
            lambda chosen: self._store.revive(chosen, now=now, audit=audit),
        )
        if count:
            self._say(audit, count)
        await self._wake_all()
        return count

    async def newer(self, ids: Sequence[str]) -> dict[str, Job]:
        """The newest run of each job that is named and has been made again."""
        found: dict[str, Job] = {}
        for one in await whole_ids(self._store.reads, ids):
            job = await self._store.reads.job(one) if one.startswith("job_") else None
            record = None if job is None else await self._store.reads.delivery(job.delivery)
            if job is not None and record is not None:
                newest = OriginalRuns(record.jobs).newest(job)
                if newest.id != job.id:
                    found[job.id] = newest
        return found

    async def planned(
        self, verb: Change, ids: Sequence[str], selector: Selector | None
    ) -> tuple[Planned, Selector | None]:
        """
        What `cancel` or `revive` would change, and the selection to repeat for exactly that: what
        comes later is no part of it. A replay is cancelled whole, whatever it makes meanwhile.

        Raises: as they do.
        """
        if selector is not None and selector.replay is None:
            selector = frozen(selector, self._clock.now())
        chosen = await self._chosen(verb, ids, selector)
        return joined([await self._store.reads.planned(one, verb) for one in chosen]), selector

    async def remember(self, facts: dict[str, Any], by: By = LOCAL) -> None:
        """Keep facts by name."""
        audit = self._audit(by, "remember", {"facts": sorted(facts)})
        await self._store.remember(facts, audit)
        self._say(audit, len(facts))

    async def note(self, verb: str, asked: dict[str, Any], by: By, count: int) -> None:
        """Add a line to the audit for a change that is none of the ledger: a reload, a pause."""
        audit = msgspec.structs.replace(self._audit(by, verb, asked), count=count)
        await self._store.note(audit)
        self._say(audit, count)

    # -- replays ---------------------------------------------------------------------------------

    async def _known(self, asked: ReplayRequest) -> Replay | None:
        """The replay of this name, if it is this one. Raises UsageError: it is another."""
        if asked.name is None:
            return None
        replay = await self._store.reads.replay(asked.name)
        if replay is not None and not asked.is_same(ReplayRequest.from_json(replay.asked)):
            raise UsageError(f"{asked.name} is the name of another replay; give this one its own")
        return replay

    async def _prepared(self, asked: ReplayRequest) -> tuple[Replay, ReplayRequest]:
        """A new replay of this, its selection frozen."""
        now = self._clock.now()
        told = asked.as_json()
        items: tuple[Item, ...] | None = None
        if asked.selector is not None:
            await check_names(asked.selector, self._live.current.ruleset, self._store.reads)
            selector = frozen(asked.selector, now)
            asked = msgspec.structs.replace(asked, selector=selector)
            told = asked.as_json()
            finder = self._making.finder(asked)  # a wrong condition is told at once
            if selector.limit is not None:
                items = await finder.items()
        else:
            items = await self._items(asked)
        name = asked.name or self._ids.new("rpl", now)
        return Replay(name, told, now, items), asked

    async def _items(self, asked: ReplayRequest) -> tuple[Item, ...]:
        """What the ids name, in their order. Raises NotFound."""
        whole: dict[str, None] = {}
        single: dict[str, list[str]] = {}
        for one in await whole_ids(self._store.reads, asked.ids):
            if one.startswith("job_"):
                job = await self._store.reads.job(one)
                if job is not None:
                    single.setdefault(job.delivery, []).append(one)
            else:
                await self._check_delivery(one, recorded=asked.recorded)
                whole[one] = None
        alone = [(d, tuple(jobs)) for d, jobs in single.items() if d not in whole]
        return (*[(d, None) for d in whole], *alone)

    async def _check_delivery(self, id_: str, *, recorded: bool) -> None:
        """Raises NotFound: today's rules cannot read it."""
        record = await self._store.reads.delivery(id_)
        known = self._live.current.ruleset.providers
        if not recorded and record is not None and record.delivery.provider not in known:
            provider = record.delivery.provider
            raise NotFound(f"the rules file no longer has the provider {provider!r}")

    async def _busy(self, asked: ReplayRequest) -> dict[str, float]:
        """When replays that go on leave each target free; what is named by id waits for none."""
        if asked.ids or asked.rate is None:
            return {}
        now = self._clock.now()
        found: dict[str, float] = {}
        for replay in await self._store.reads.replays(FIRST_REPLAYS):
            if replay.state != "cancelled":
                for target, at in replay.due.items():
                    if at > now:
                        found[target] = max(at, found.get(target, 0.0))
        return found

    # -- changes ---------------------------------------------------------------------------------

    async def _change(
        self, verb: Change, ids: Sequence[str], selector: Selector | None, act: Act
    ) -> int:
        return sum([int(await act(one)) for one in await self._chosen(verb, ids, selector)])

    async def _chosen(
        self, verb: Change, ids: Sequence[str], selector: Selector | None
    ) -> list[Selector]:
        """The same as selections that the store can read alone: without a condition."""
        if not ids and selector is None:
            raise UsageError("name a job or delivery, or select some (--rule, --state, --since …)")
        named = await whole_ids(self._store.reads, ids)
        chosen = msgspec.structs.replace(selector or Selector(), ids=named)
        await check_names(chosen, self._live.current.ruleset, self._store.reads)
        if chosen.where is None:
            return [chosen]
        if chosen.replay is not None:
            raise UsageError("a replay is cancelled whole: leave --where out")
        found = [job async for job in self._fitting(verb, chosen)]
        starts = range(0, len(found), IDS_AT_ONCE)
        some = [tuple(found[start : start + IDS_AT_ONCE]) for start in starts]
        state = "dead" if verb == "revive" else chosen.state  # found, not named
        return [Selector(ids=one, state=state) for one in some]

    async def _fitting(self, verb: Change, selector: Selector) -> AsyncIterator[str]:
        """Ids of the selected jobs that the condition fits and that can be changed so."""
        states = {"dead"} if verb == "revive" else {"available", "retryable", "waiting"}
        if selector.ids or selector.state == "dead":  # as without a condition
            states.add("dead")
        unlimited = msgspec.structs.replace(selector, limit=None)
        search = Search(self._store.reads, unlimited, self._live.current.ruleset, jobs=True)
        count = 0
        async for stored in search.newest():
            for job in stored.jobs:
                if job.state in states and count != selector.limit:
                    count += verb == "cancel" or await self._revivable(job)
                    yield job.id
            if count == selector.limit:
                return

    async def _revivable(self, job: Job) -> bool:
        """Whether nothing was made of it since."""
        plan = await self._store.reads.planned(Selector(ids=(job.id,), state="dead"), "revive")
        return plan.jobs > 0

    async def _wake_all(self) -> None:
        for target, due_at in (await self._store.reads.targets()).items():
            self._wake(target, due_at)

    # -- the audit -------------------------------------------------------------------------------

    def _audit(self, by: By, verb: str, asked: dict[str, Any], id_: str | None = None) -> Audit:
        now = self._clock.now()
        return Audit(id_ or self._ids.new("aud", now), now, by.who, verb, asked, peer=by.peer)

    def _say(self, audit: Audit, count: int | None = None) -> None:
        told: dict[str, Any] = {"id": audit.id, "who": audit.who, "asked": audit.asked}
        if audit.peer is not None:
            told["peer"] = audit.peer
        if count is not None:
            told["count"] = count
        self._log.info(audit.verb, **told)


def _told(ids: Sequence[str], selector: Selector | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if ids:
        told["ids"] = list(ids)
    if selector is not None:
        told["selector"] = said(selector)
    return told
