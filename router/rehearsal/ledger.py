"""What a trial remembers: deliveries, dedupe keys and jobs, in memory, for that trial alone."""

import msgspec

from router.model.delivery import Delivery
from router.model.job import Job, NewJob, Settlement, committed
from router.rehearsal.clock import VirtualClock
from router.rehearsal.runs import TrialRuns
from router.store.protocol import (
    Acceptance,
    Accepted,
    Duplicate,
    EventEntry,
    Selector,
    narrowed,
)

_DUE = ("available", "retryable")


class TrialStore:
    """The verbs of the Store that intake asks for, and what the trial's own loop needs."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._keys: dict[bytes, tuple[str, int]] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.jobs: dict[str, Job] = {}
        self.runs = TrialRuns(self.jobs)

    # -- what intake asks -----------------------------------------------------------------------

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        """As the Store protocol says."""
        delivery = acceptance.delivery
        owners = [self._take(event, delivery.id) for event in acceptance.events]
        known = [owner for owner in owners if owner is not None]
        if known and len(known) == len(owners):
            return Duplicate(known[0])
        new = frozenset(
            e.index for e, owner in zip(acceptance.events, owners, strict=True) if owner is None
        )
        self.deliveries[delivery.id] = delivery
        left = [narrowed(planned, acceptance.events, new) for planned in acceptance.jobs]
        runs: dict[str, list[NewJob]] = {}
        for job in filter(None, left):
            self.jobs[job.id] = committed(job, delivery, delivery.received_at)
            if job.run is not None:
                runs.setdefault(job.run, []).append(job)
        for jobs in runs.values():
            self.runs.add(jobs, self._clock.now())
        return Accepted(delivery.id, new if known else None)

    def _take(self, event: EventEntry, delivery: str) -> str | None:
        now = self._clock.now()
        for key in event.keys:
            if key in self._keys and self._keys[key][1] > now:
                return self._keys[key][0]
        for key in event.keys:
            self._keys[key] = (delivery, event.keys_until)
        return None

    async def revive(self, selector: Selector, *, now: int) -> int:
        """The dead jobs of the deliveries named: what `on_redelivery: revive` asks."""
        dead = [j for j in self.jobs.values() if j.state == "dead" and j.delivery in selector.ids]
        for job in dead:
            self.jobs[job.id] = msgspec.structs.replace(
                job, state="available", due_at=now, charged=0, reason=None
            )
        self.runs.reopened([job.id for job in dead], now)
        return len(dead)

    async def targets(self) -> dict[str, int]:
        """Nobody waits to be woken here."""
        return {}

    # -- what the trial's loop asks -------------------------------------------------------------

    def next_due(self) -> Job | None:
        """The job that is due first, of several the oldest."""
        waiting = [job for job in self.jobs.values() if job.state in _DUE]
        return min(waiting, key=lambda job: job.due_at, default=None)

    def begin(self, job: Job) -> Job:
        """The job with its next attempt begun."""
        begun = msgspec.structs.replace(
            job,
            state="running",
            attempt=job.attempt + 1,
            lease=f"rehearsal/{job.attempt + 1}",
            started_at=self._clock.now(),
        )
        self.jobs[job.id] = begun
        return begun

    def settle(self, settlement: Settlement) -> None:
        """Write an attempt's end."""
        job = self.jobs[settlement.job]
        self.jobs[job.id] = msgspec.structs.replace(
            job,
            state=settlement.state,
            due_at=job.due_at if settlement.due_at is None else settlement.due_at,
            reason=settlement.reason,
            lease=None,
            charged=job.charged + settlement.charged,
        )
        self.runs.ended(job.id, settlement.attempt.result, self._clock.now())
