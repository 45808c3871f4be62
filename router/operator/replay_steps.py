"""Makes the jobs of replays, step by step: each step is stored whole, so a kill costs nothing."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from itertools import chain

import msgspec

from router import log
from router.clock import Clock
from router.errors import RouterError, StoreUnavailable
from router.model.job import NewJob
from router.model.operations import Replay, ReplayStep
from router.operator.conditions import Evaluator
from router.operator.new_jobs import NewJobs
from router.operator.replay_source import ReplayBatch, ReplaySource
from router.operator.requests import LOCAL, By, ReplayRequest
from router.rules.live import LiveRef
from router.store.protocol import OperatorStore
from router.store.values import CLAIM_MS, Claimed

PAUSE_S = 0.02
"""Between two steps: whoever sends us something now goes first."""
RETRY_S = 1.0
WATCH_S = 10.0
"""How often replays are looked for that nobody makes any more."""
UNFINISHED_MAX = 1_000
TRIES = 30
"""How often a step is tried while the store cannot commit; then the next start goes on."""

Wake = Callable[[str, int], None]


class ReplayMaker:
    """
    The replays whose jobs are being made by this process.

    `wake` is called with every target that has new due work. Which replays are `claimed` no other
    node makes; should two make one all the same, each step is stored once.
    """

    def __init__(
        self,
        *,
        store: OperatorStore,
        live: LiveRef,
        clock: Clock,
        again: NewJobs,
        wake: Wake,
        claimed: Claimed,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._store = store
        self._live = live
        self._clock = clock
        self._again = again
        self._wake = wake
        self._log = log.get("replay")
        self._claimed = claimed
        self._evaluator = evaluator
        self._stuck: set[str] = set()
        self._tasks: dict[str, asyncio.Task[Replay]] = {}

    def finder(self, request: ReplayRequest, by: By = LOCAL) -> ReplaySource:
        """Finds the requested work by today's rules. Raises: as `condition_of`."""
        return ReplaySource(
            self._store, self._again, request, self._live.current.ruleset, by,
            evaluator=self._evaluator,
        )  # fmt: skip

    async def go_on(self, replay: Replay, patience_s: float | None = None) -> Replay:
        """
        Make the replay's jobs; returns it when they are made, or after `patience_s` as it stands
        then, while it goes on.
        """
        if (task := self._tasks.get(replay.id)) is None:
            task = self._tasks[replay.id] = asyncio.create_task(self._make(replay))
            task.add_done_callback(partial(self._ended, replay.id))
        await asyncio.wait({task}, timeout=patience_s)
        if task.done():
            return task.result()
        return await self._store.reads.replay(replay.id) or replay

    async def resume(self) -> int:
        """
        Go on with what an earlier process or another node began and nobody makes; returns how many
        replays that are.

        One that cannot go on by today's rules is said, and stays as it is.
        """
        resumed = 0
        for one in await self._store.reads.replays(UNFINISHED_MAX, making=True):
            if one.id in self._tasks or one.id in self._stuck or not await self._mine(one.id):
                continue
            if (replay := await self._store.reads.replay(one.id)) is not None:
                resumed += 1
                with contextlib.suppress(RouterError):  # said by _ended
                    await self.go_on(replay, 0)
        return resumed

    async def watch(self) -> None:
        """Go on for ever with what other nodes have left unfinished."""
        while True:
            await self._clock.sleep(WATCH_S)
            try:
                if resumed := await self.resume():
                    self._log.info("replays go on", replays=resumed)
            except StoreUnavailable as error:
                self._log.error("unfinished replays could not be looked for", error=str(error))

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
            if not isinstance(task.exception(), StoreUnavailable):
                self._stuck.add(replay)

    async def _mine(self, replay: str) -> bool:
        return await self._claimed(f"replay/{replay}", CLAIM_MS)

    async def _make(self, replay: Replay) -> Replay:
        request = ReplayRequest.from_json(replay.asked)
        finder = self.finder(request)
        failures = 0
        while replay.state == "making":
            try:
                if not await self._mine(replay.id):  # another node makes it
                    return replay
                replay = await self._step(finder, replay, request)
                failures = 0
                if replay.state == "making":
                    await self._clock.sleep(PAUSE_S)
            except StoreUnavailable:
                failures += 1
                if failures == TRIES:
                    raise
                await self._clock.sleep(RETRY_S)
        return replay

    async def _step(self, finder: ReplaySource, replay: Replay, request: ReplayRequest) -> Replay:
        batch = await finder.batch(replay)
        due = dict(replay.due)
        step = ReplayStep(
            replay=replay.id,
            after=replay.reached,
            reached=batch.reached,
            last=batch.last,
            work=_paced(batch, due, self._clock.ledger(), request.rate),
            due=due,
            skipped=batch.skipped,
            passed=batch.passed,
            earlier=batch.earlier or None,
            once=not request.again,
        )
        done = await self._store.replay_step(step, now=self._clock.ledger())
        if done is None:  # cancelled meanwhile, or a commit of unknown outcome was one
            gone = msgspec.structs.replace(replay, state="cancelled")
            return await self._store.reads.replay(replay.id) or gone
        earliest: dict[str, int] = {}
        for job in chain.from_iterable(jobs for _, jobs in step.work):
            earliest[job.target] = min(job.due_at, earliest.get(job.target, job.due_at))
        for target, due_at in earliest.items():
            self._wake(target, due_at)
        return msgspec.structs.replace(done, items=replay.items)


def _paced(
    batch: ReplayBatch, due: dict[str, float], now: int, rate: float | None
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
