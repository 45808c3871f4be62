"""Makes the jobs of replays, step by step: each step is stored whole, so a kill costs nothing."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from router import log
from router.clock import Clock
from router.errors import RouterError, StoreUnavailable
from router.model.job import NewJob
from router.model.operations import Replay, ReplayStep
from router.operator.new_jobs import NewJobs
from router.operator.replay_source import Batch, Finder
from router.operator.requests import ReplayRequest
from router.rules.live import LiveRef
from router.store.protocol import Store

PAUSE_S = 0.02
"""Between two steps: whoever sends us something now goes first."""
RETRY_S = 1.0
UNFINISHED_MAX = 1_000
TRIES = 30
"""How often a step is tried while the store cannot commit; then the next start goes on."""

Wake = Callable[[str, int], None]


class Making:
    """
    The replays whose jobs are being made by this process.

    `wake` is told of every target that has new due work.
    """

    def __init__(
        self, *, store: Store, live: LiveRef, clock: Clock, again: NewJobs, wake: Wake
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._again = again
        self._wake = wake
        self._log = log.get("replay")
        self._tasks: dict[str, asyncio.Task[Replay]] = {}
        self._set_by = 0  # by what the clock has been set, in milliseconds, all in all

    def shift(self, ms: int) -> None:
        """Somebody set the clock: paces go on by the new one."""
        self._set_by += ms

    def finder(self, asked: ReplayRequest) -> Finder:
        """Finds what was asked for by today's rules. Raises UsageError."""
        return Finder(self._store, self._again, asked, self._live.current.ruleset)

    async def go_on(self, replay: Replay, patience_s: float | None = None) -> Replay:
        """
        Make the replay's jobs; returns it when they are made, or after `patience_s` as it stands
        then, while it goes on.
        """
        task = self._tasks.get(replay.id)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._make(replay))
            self._tasks[replay.id] = task
            task.add_done_callback(partial(self._ended, replay.id))
        await asyncio.wait({task}, timeout=patience_s)
        if task.done():
            return task.result()
        return await self._store.reads.replay(replay.id) or replay

    async def resume(self) -> int:
        """
        Go on with what an earlier process began; returns how many replays that are.

        One that cannot go on by today's rules is said, and stays as it is.
        """
        unfinished = await self._store.reads.replays(UNFINISHED_MAX, making=True)
        for one in unfinished:
            replay = await self._store.reads.replay(one.id)
            if replay is not None:
                with contextlib.suppress(RouterError):  # said by _ended
                    await self.go_on(replay, 0)
        return len(unfinished)

    async def close(self) -> None:
        """Stop between two steps; the next start goes on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, replay: str, task: asyncio.Task[Replay]) -> None:
        self._tasks.pop(replay, None)
        if not task.cancelled() and task.exception() is not None:
            words = f"{task.exception()}; `router cancel --replay {replay}` ends it"
            self._log.error("a replay stands still", replay=replay, error=words)

    async def _make(self, replay: Replay) -> Replay:
        asked = ReplayRequest.from_json(replay.asked)
        finder, paces = self.finder(asked), _Paces(replay.due, self._set_by)
        failures = 0
        while replay.state == "making":
            try:
                replay = await self._step(finder, replay, paces, asked)
                failures = 0
                if replay.state == "making":
                    await self._clock.sleep(PAUSE_S)
            except StoreUnavailable:
                failures += 1
                if failures == TRIES:
                    raise
                await self._clock.sleep(RETRY_S)
        return replay

    async def _step(
        self, finder: Finder, replay: Replay, paces: "_Paces", asked: ReplayRequest
    ) -> Replay:
        batch = await finder.batch(replay)
        due = paces.by(self._set_by)
        step = ReplayStep(
            replay=replay.id,
            after=replay.reached,
            reached=batch.reached,
            last=batch.last,
            work=_paced(batch, due, self._clock.now(), asked.rate),
            due=due,
            skipped=batch.skipped,
            passed=batch.passed,
            earlier=batch.earlier or None,
            once=not asked.again,
        )
        done = await self._store.replay_step(step, now=self._clock.now())
        if done is None:  # cancelled meanwhile, or a commit of unknown outcome was one
            found = await self._store.reads.replay(replay.id) or _gone(replay)
            paces.be(found.due, self._set_by)
            return found
        paces.due = due
        for target, due_at in _earliest(step.work).items():
            self._wake(target, due_at)
        return msgspec.structs.replace(done, items=replay.items)


class _Paces:
    """When each target's next job of a replay is due, by the clock as it was when that was said."""

    def __init__(self, due: Mapping[str, float], set_by: int) -> None:
        self.be(due, set_by)

    def be(self, due: Mapping[str, float], set_by: int) -> None:
        """Go on from these, which are by the clock as it is now."""
        self.due, self._set_by = dict(due), set_by

    def by(self, set_by: int) -> dict[str, float]:
        """A copy by the clock as it is now."""
        if set_by != self._set_by:
            self.due = {target: at + set_by - self._set_by for target, at in self.due.items()}
            self._set_by = set_by
        return dict(self.due)


def _gone(replay: Replay) -> Replay:
    return msgspec.structs.replace(replay, state="cancelled")


def _paced(
    batch: Batch, due: dict[str, float], now: int, rate: float | None
) -> tuple[tuple[str, tuple[NewJob, ...]], ...]:
    """The work with its due times, one after another for each target; `due` goes on with them."""
    work = []
    for stored, jobs in batch.work:
        paced = []
        for job in jobs:
            at = max(float(now), due.get(job.target, 0.0))
            if rate is not None:
                due[job.target] = at + 1000 / rate
            paced.append(msgspec.structs.replace(job, due_at=int(at)))
        work.append((stored.delivery.id, tuple(paced)))
    return tuple(work)


def _earliest(work: tuple[tuple[str, tuple[NewJob, ...]], ...]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for _, jobs in work:
        for job in jobs:
            found[job.target] = min(job.due_at, found.get(job.target, job.due_at))
    return found
