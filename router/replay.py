"""The operator's verbs: replay, cancel, revive."""

from collections.abc import Callable, Sequence

import msgspec

from router.clock import Clock
from router.errors import NotFound, UsageError
from router.model.delivery import Delivery, InboundRequest
from router.model.ids import Ids
from router.model.job import Job, NewJob
from router.model.settings import Dedupe, Endpoint
from router.rules.live import LiveRef
from router.rules.plan import Planner
from router.store.protocol import Selector, Store

REPLAY_MAX = 10_000
_UNGUARDED = Endpoint("", "", (), dedupe=Dedupe(mode="off"))


class Replayed(msgspec.Struct, frozen=True):
    """How many deliveries were replayed, and the jobs that made."""

    deliveries: int
    jobs: int
    dry_run: bool = False


class Operator:
    """
    Acts on stored work.

    `wake` is told of every target that has new due work (a no-op when no server runs).
    """

    def __init__(
        self,
        *,
        store: Store,
        live: LiveRef,
        clock: Clock,
        ids: Ids,
        wake: Callable[[str, int], None],
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._ids = ids
        self._wake = wake

    async def replay(
        self, ids: Sequence[str], selector: Selector | None, *, recorded: bool, dry_run: bool
    ) -> Replayed:
        """
        Make new jobs from stored deliveries, ignoring dedupe.

        A delivery is routed anew by the present rules; a job, or jobs selected by rule or state,
        are made again as event x rule x action. `recorded` repeats the jobs a delivery had.

        Raises:
            NotFound: an id is unknown.
            UsageError: nothing was selected, or more than 10,000 jobs.
        """
        wanted = await self._wanted(ids, selector, recorded=recorded)
        total = sum(len(jobs) for jobs in wanted.values())
        if total > REPLAY_MAX:
            raise UsageError(f"{total} jobs at once; narrow the selection to {REPLAY_MAX}")
        if not dry_run:
            for delivery, jobs in wanted.items():
                await self._store.add(delivery, jobs)
                for job in jobs:
                    self._wake(job.target, job.due_at)
        return Replayed(len(wanted), total, dry_run)

    async def cancel(self, ids: Sequence[str], selector: Selector | None) -> int:
        """Cancel jobs that have not ended and are not running; returns how many."""
        return await self._store.cancel(
            _merged(ids, selector), reason="cancelled by operator", now=self._clock.now()
        )

    async def revive(self, ids: Sequence[str], selector: Selector | None) -> int:
        """Make dead jobs available again with a fresh schedule; returns how many."""
        now = self._clock.now()
        count = await self._store.revive(_merged(ids, selector), now=now)
        for target in await self._store.targets():
            self._wake(target, now)
        return count

    async def _wanted(
        self, ids: Sequence[str], selector: Selector | None, *, recorded: bool
    ) -> dict[str, list[NewJob]]:
        wanted: dict[str, list[NewJob]] = {}
        for one in ids:
            if one.startswith("job_"):
                job = await self._store.job(one)
                if job is None:
                    raise NotFound(f"no job {one}")
                wanted.setdefault(job.delivery, []).append(self._again(job))
            else:
                await self._whole(one, wanted, recorded=recorded)
        if selector is not None:
            await self._selected(selector, wanted, recorded=recorded)
        if not ids and selector is None:
            raise UsageError("name a delivery or job, or select some (--rule, --state, --since …)")
        return wanted

    async def _selected(
        self, selector: Selector, wanted: dict[str, list[NewJob]], *, recorded: bool
    ) -> None:
        if selector.rule or selector.state:
            for job in await self._store.jobs(selector):
                wanted.setdefault(job.delivery, []).append(self._again(job))
            return
        for summary in await self._store.deliveries(selector):
            await self._whole(summary.id, wanted, recorded=recorded)

    async def _whole(self, prefix: str, wanted: dict[str, list[NewJob]], *, recorded: bool) -> None:
        record = await self._store.delivery(prefix)
        if record is None:
            raise NotFound(f"no delivery {prefix}")
        if recorded:
            jobs = [self._again(job) for job in record.jobs if job.replay_of is None]
        else:
            jobs = self._routed_anew(record.delivery)
        wanted.setdefault(record.delivery.id, []).extend(jobs)

    def _routed_anew(self, delivery: Delivery) -> list[NewJob]:
        live = self._live.current
        if delivery.provider not in live.ruleset.providers:
            raise NotFound(f"the rules file no longer has the provider {delivery.provider!r}")
        reading = live.ruleset.providers[delivery.provider].read(as_request(delivery))
        planner = Planner(live, self._ids, _never)
        again = msgspec.structs.replace(delivery, replay_of=delivery.id)
        plan = planner.plan(again, reading, _UNGUARDED, self._clock.now())
        generation = live.ruleset.generation
        return [
            msgspec.structs.replace(job, replay_of=delivery.id, generation=generation)
            for job in plan.jobs
        ]

    def _again(self, job: Job) -> NewJob:
        found = self._live.action_of(job)
        target = found[1].target if found else job.target
        now = self._clock.now()
        return NewJob(
            self._ids.new("job", now),
            job.event_index,
            job.event_id,
            job.event,
            job.rule,
            job.action,
            job.kind,
            target,
            now,
            replay_of=job.id,
            generation=self._live.current.ruleset.generation,
            covers=job.covers,
        )


def as_request(delivery: Delivery) -> InboundRequest:
    """The stored delivery as the request it was, for reading again (never for verifying)."""
    return InboundRequest(
        delivery.method,
        delivery.path.encode("latin-1"),
        delivery.query.encode("latin-1"),
        tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in delivery.headers),
        delivery.body,
        delivery.peer,
        delivery.received_at,
    )


def _merged(ids: Sequence[str], selector: Selector | None) -> Selector:
    if not ids and selector is None:
        raise UsageError("name a job or delivery, or select some (--rule, --state, --since …)")
    return msgspec.structs.replace(selector or Selector(limit=REPLAY_MAX), ids=tuple(ids))


def _never(_target: str, _kind: str) -> None:
    return None
