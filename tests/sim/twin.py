"""The plain model beside the store: what it is asked when the store has done a verb."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from router.clock import Clock
from router.model.job import ENDED, Job, Settlement
from router.model.operations import ReplayStep
from router.store.sqlite.reader import open_reader
from router.store.values import Selector, node_of
from tests.conformance.model_store import ModelStore
from tests.sim.filed import Twin, at_once
from tests.sim.steps import History, Retried

ATTEMPTS_MOST = 6
"""Of the rules' schedule of three delays, two more after a temporary failure, and the first."""
EVERYTHING = Selector(limit=100_000)
TWINNED = frozenset(
    {
        "accept", "accept_all", "lease", "settle", "settle_all", "recover", "revive", "cancel",
        "hold", "regroup", "put_in_force", "pause_target", "resume_target", "add", "begin_replay",
        "replay_step",
    }
)  # fmt: skip
READ = frozenset({"results", "targets", "job", "jobs", "lost_nodes", "lost_leases"})


class Then(Clock):
    """A clock that stands where a verb began: the store dates its rows by that."""

    def __init__(self) -> None:
        self.at = 0

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.at / 1000

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the model does not wait")


class Twins:
    """The model, and how it is asked."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.then = Then()
        self.model = ModelStore(self.then)

    def of_verb(self, name: str, now: int, args: Any, named: Any) -> Twin | None:
        """What asks the model the same, once the writer has done it."""
        if name not in TWINNED:
            return None
        noted = {
            "settle": self._settle,
            "settle_all": self._settle_all,
            "recover": self._recover,
            "revive": self._revive,
            "replay_step": self._replay_step,
        }.get(name)

        def ask() -> Coroutine[Any, Any, Any]:
            self.then.at = now
            verb: Any = noted or getattr(self.model, name)
            answer: Coroutine[Any, Any, Any] = verb(*args, **named)
            return answer

        return ask

    # What each commit means for the promises, noted as it happens: nobody may live to hear of it.

    async def _settle(self, settlement: Settlement, own: Any = None) -> Any:
        before = self.model._jobs[settlement.job]
        settled = await self.model.settle(settlement, own)
        history = self.history
        history.put_to_the_test(18)
        if (settled.fate == "held") != (
            before.state == "running" and before.lease == settlement.lease
        ):
            history.broken(18, f"{settlement} was taken from {before}")
        if settled.fate != "held":
            return settled
        if before.charged >= ATTEMPTS_MOST:
            history.broken(19, f"{before.id} is charged an attempt more than its schedule has")
        if settlement.attempt.outcome == "interrupted":
            history.given_back[settlement.job] += 1
        if settlement.state == "retryable" and settlement.due_at is not None:
            history.due[settlement.job] = settlement.due_at
            delay = settlement.due_at - settlement.attempt.ended_at
            outcome = history.outcomes.get((settlement.job, settlement.attempt.number))
            history.retries.append(Retried(settlement.job, delay, before.charged, outcome))
        if settlement.state in ENDED:
            history.ends.setdefault(settlement.job, []).append(settlement.state)
        return settled

    async def _settle_all(self, group: Sequence[tuple[Settlement, Any]]) -> list[Any]:
        return [await self._settle(settlement, own) for settlement, own in group]

    async def _recover(self, **named: Any) -> Any:
        running = [job for job in self.jobs() if job.state == "running"]
        left = [job for job in running if node_of(job.lease or "") in named["nodes"]]
        recovered = await self.model.recover(**named)
        for job in left:
            self.history.put_to_the_test(17)
            self.history.reclaimed[job.id] += 1
            if self.model._jobs[job.id].state == "running":
                self.history.broken(17, f"{job.id} runs on though its owner is dead")
        return recovered

    async def _revive(self, *args: Any, **named: Any) -> Any:
        dead = [job.id for job in self.jobs() if job.state == "dead"]
        count = await self.model.revive(*args, **named)
        for id_ in dead:
            if self.model._jobs[id_].state != "dead":
                self.history.revived[id_] += 1
                self.history.due.pop(id_, None)
        return count

    async def _replay_step(self, step: ReplayStep, *, now: int) -> Any:
        replay = await self.model.replay_step(step, now=now)
        for _, jobs in step.work if replay is not None else ():
            for job in jobs:
                self.history.paces.setdefault((step.replay, job.target), []).append(job.due_at)
                self.history.made_by[job.id] = step.replay
        return replay

    def jobs(self) -> list[Job]:
        """Every job as it is now."""
        return list(self.model._jobs.values())

    def job(self, id_: str) -> Job:
        return self.model._jobs[id_]

    def of(self, delivery: str) -> list[Job]:
        return [job for job in self.jobs() if job.delivery == delivery]

    def compare(self, path: Path, history: History) -> None:
        """Read the whole ledger as its file tells it: the model must know it to be so."""
        reported, expected = asyncio.run(self._both(path))
        if reported != expected:
            pairs = zip(reported, expected, strict=False)
            one = next(
                (pair for pair in pairs if pair[0] != pair[1]), (len(reported), len(expected))
            )
            history.wrong.append(f"at the end the file says {one[0]}, the model {one[1]}")
        for record in reported:
            history.jobs |= {job.id: job for job in record.jobs}
            for attempt in record.attempts:
                history.attempts.setdefault(attempt.job, []).append(attempt)

    async def _both(self, path: Path) -> tuple[list[Any], list[Any]]:
        reader = open_reader(str(path))
        try:
            ids = [one.id for one in await reader.deliveries(EVERYTHING)]
            reported = [_record(await reader.delivery(id_)) for id_ in ids]
        finally:
            await reader.close()
        model = [one.id for one in at_once(self.model.deliveries(EVERYTHING))]
        return reported, [_record(at_once(self.model.delivery(id_))) for id_ in model]


def _record(record: Any) -> Any:
    """How often a copy came is counted in memory first, and may be lost with it."""
    return msgspec.structs.replace(record, duplicates=0, last_seen_at=None)
