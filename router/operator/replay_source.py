"""What a replay is of, some deliveries at a time, and what it would make, counted before."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from router.errors import NotFound
from router.model.job import Job, NewJob
from router.model.operations import ActionJobs, Item, Planned, Replay
from router.model.selector import Criteria
from router.operator.conditions import Evaluator
from router.operator.new_jobs import NewJobs
from router.operator.originals import OriginalRuns, routed
from router.operator.requests import By, ReplayRequest
from router.operator.search import Search
from router.rules.ruleset import Ruleset
from router.store.protocol import OperatorStore
from router.store.values import Selector, Stored

STEP_DELIVERIES = 100
STEP_JOBS = 2_000
"""What one step makes: so much that commits are few, so little that accepting hardly waits."""


class ReplayBatch(msgspec.Struct):
    """
    Deliveries with their new jobs; `reached` is where the next batch goes on. `passed` and
    `earlier` as of a replay.
    """

    reached: str
    work: list[tuple[Stored, list[NewJob]]] = []
    skipped: int = 0
    last: bool = False
    passed: int = 0
    earlier: str = ""

    def pass_over(self, made: Job) -> None:
        """Leave out what a replay has made already: this job, or the first of several."""
        self.passed += 1
        self.earlier = max(self.earlier, made.id)

    @property
    def full(self) -> bool:
        jobs = sum(len(new) for _, new in self.work)
        return len(self.work) >= STEP_DELIVERIES or jobs >= STEP_JOBS


class ReplaySource:
    """Finds the work of one replay; `evaluator` as of a Search. Raises as that."""

    def __init__(
        self,
        store: OperatorStore,
        again: NewJobs,
        request: ReplayRequest,
        ruleset: Ruleset,
        by: By,
        *,
        evaluator: Evaluator | None,
    ) -> None:
        self._store = store
        self._again = again
        self._request = request
        self._of_jobs = request.of_jobs
        selector = Selector.of(request.selector)
        self._search = Search(
            store.reads, selector, ruleset, by, jobs=self._of_jobs, originals=True,
            evaluator=evaluator,
        )  # fmt: skip

    async def batch(self, replay: Replay) -> ReplayBatch:
        """The next deliveries with their new jobs."""
        if replay.items is not None or self._request.selector is None:
            return await self._named(replay.items or (), int(replay.reached or 0))
        return await self._found(replay.reached)

    async def items(self) -> tuple[Item, ...]:
        """Everything that the search finds, newest first and up to its limit; by delivery."""
        found: dict[str, list[str]] = {}
        async for stored in self._search.newest():
            jobs = found.setdefault(stored.delivery.id, [])
            jobs += [job.id for job in stored.jobs]
        return tuple([(d, tuple(found[d]) if self._of_jobs else None) for d in sorted(found)])

    async def _named(self, items: Sequence[Item], begin: int) -> ReplayBatch:
        batch = ReplayBatch(str(begin))
        for place, (delivery, jobs) in enumerate(items[begin:], begin + 1):
            batch.reached = str(place)
            if (record := await self._store.reads.delivery(delivery)) is None:
                batch.skipped += 1
            else:
                chosen = () if jobs is None else tuple([j for j in record.jobs if j.id in jobs])
                stored = Stored(str(place), record.delivery, record.events, chosen, record.jobs)
                await self._add(batch, stored, whole=jobs is None)
            if batch.full:
                break
        batch.last = int(batch.reached) >= len(items)
        return batch

    async def _found(self, reached: str) -> ReplayBatch:
        batch = ReplayBatch(reached)
        page = await self._search.after(reached or None, STEP_DELIVERIES)
        for stored in page.found:
            batch.reached = stored.at
            await self._add(batch, stored, whole=not self._of_jobs)
            if batch.full and stored is not page.found[-1]:
                return batch
        batch.reached = page.reached or batch.reached
        batch.last = page.reached is None
        return batch

    async def _add(self, batch: ReplayBatch, stored: Stored, *, whole: bool) -> None:
        await asyncio.sleep(0)  # reading a body takes its time: others have their turn
        if not whole:
            self._repeat(batch, stored, stored.jobs)
        elif self._request.recorded:
            self._repeat(batch, stored, [job for job in stored.history if job.replay_of is None])
        else:
            self._route(batch, stored)

    def _repeat(self, batch: ReplayBatch, stored: Stored, jobs: Sequence[Job]) -> None:
        """These jobs once more, but those that have been made again."""
        runs = OriginalRuns(stored.history)
        made: list[NewJob] = []
        for job in jobs:
            if (newest := runs.newest(job)).id == job.id or self._request.again:
                made.append(self._again.job(job))
            else:
                batch.pass_over(newest)
        if made or not jobs:
            batch.work.append((stored, made))

    def _route(self, batch: ReplayBatch, stored: Stored) -> None:
        """What today's rules want of a delivery, unless it has been routed by them already."""
        try:
            if (made := routed(stored, self._again.generation)) and not self._request.again:
                batch.pass_over(made)
            else:
                batch.work.append((stored, self._again.delivery(stored.delivery)))
        except NotFound:
            batch.skipped += 1


def frozen(selector: Criteria, now: int) -> Criteria:
    """The selection as it is now: what comes later than this millisecond is not part of it."""
    if selector.until is not None and selector.until <= now:
        return selector
    return msgspec.structs.replace(selector, until=now + 1)


LOOKED_AT = 10_000
"""Deliveries that a plan looks at; of a larger selection it says `at least`."""


async def plan(finder: ReplaySource, replay: Replay, rate: float | None) -> Planned:
    """Count what would be made."""
    parts: Counter[tuple[str, str, str]] = Counter()
    times: list[int] = []
    total, redacted = ReplayBatch(replay.reached), 0
    while not total.last and len(times) + total.passed < LOOKED_AT:
        batch = await finder.batch(replay)
        replay = msgspec.structs.replace(replay, reached=batch.reached)
        for stored, jobs in batch.work:
            times.append(stored.delivery.received_at)
            redacted += stored.delivery.redacted is not None
            parts.update((job.rule, job.action, job.target) for job in jobs)
        total.skipped += batch.skipped
        total.passed += batch.passed
        total.earlier = max(total.earlier, batch.earlier)
        total.last = batch.last
    return Planned(
        len(times),
        parts.total(),
        total.skipped,
        tuple([ActionJobs(*key, count) for key, count in parts.most_common()]),
        min(times, default=None),
        max(times, default=None),
        _seconds(parts, rate),
        total.last,
        total.passed,
        total.earlier or None,
        redacted,
    )


def joined(plans: Sequence[Planned]) -> Planned:
    """One plan of several, each of other jobs; a delivery in two of them counts twice."""
    if len(plans) == 1:
        return plans[0]
    parts: Counter[tuple[str, str, str]] = Counter()
    for one in plans:
        parts.update({(p.rule, p.action, p.target): p.jobs for p in one.parts})
    times = [at for one in plans for at in (one.first_at, one.last_at) if at is not None]
    return Planned(
        sum(one.deliveries for one in plans),
        parts.total(),
        parts=tuple([ActionJobs(*key, count) for key, count in parts.most_common()]),
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        passed=sum(one.passed for one in plans),
        redacted=sum(one.redacted for one in plans),
        earlier=max((one.earlier for one in plans if one.earlier is not None), default=None),
    )


def _seconds(parts: Counter[tuple[str, str, str]], rate: float | None) -> float:
    by_target: Counter[str] = Counter()
    for (_, _, target), count in parts.items():
        by_target[target] += count
    return (max(by_target.values()) - 1) / rate if rate and by_target else 0.0
