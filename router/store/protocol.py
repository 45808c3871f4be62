"""
The Store protocol: one verb a state transition, every write durable when its call returns.

No verb leaves a transaction open, and none assumes a process-local lock. Every verb may raise
StoreUnavailable; after that the outcome is unknown and the caller must assume neither.
Times are Unix milliseconds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from router.model.delivery import Delivery
from router.model.job import Attempt, Job, JobState, NewJob, Settlement


class EventEntry(msgspec.Struct, frozen=True):
    """
    What the ledger keeps of an event beside its delivery's body.

    An event is new when none of its `keys` is known and live; keys are expired at `keys_until`.
    """

    index: int
    id: str
    name: str
    action: str | None = None
    keys: tuple[bytes, ...] = ()
    keys_until: int = 0


class Acceptance(msgspec.Struct, frozen=True):
    """One delivery to make durable, with its events, their keys and their jobs."""

    delivery: Delivery
    events: tuple[EventEntry, ...]
    jobs: tuple[NewJob, ...]


class Accepted(msgspec.Struct, frozen=True):
    """
    Stored and synced. `new` are the event indexes that were not known; only their jobs exist.

    None stands for "all of them", the usual case.
    """

    delivery: str
    new: frozenset[int] | None = None


def narrowed(job: NewJob, events: Sequence[EventEntry], new: frozenset[int]) -> NewJob | None:
    """
    What is left of a job when only the events `new` are: itself, a run of fewer events of a
    batch, or None.
    """
    if not job.covers:
        return job if job.event_index in new else None
    kept = tuple(i for i in job.covers if i in new)
    if not kept or kept == job.covers:
        return job if kept else None
    first = next(e for e in events if e.index == kept[0])
    return msgspec.structs.replace(
        job, covers=kept, event_index=first.index, event_id=first.id, event=first.name
    )


class Duplicate(msgspec.Struct, frozen=True):
    """Every event was known; `delivery` is the one that brought the first of them."""

    delivery: str


class Leased(msgspec.Struct, frozen=True):
    """A job held by its `lease`, its attempt recorded, with all that rendering needs."""

    job: Job
    delivery: Delivery


class LeaseBatch(msgspec.Struct, frozen=True):
    """
    What `lease` got. `next_due` tells, for each target asked for, when its next job not handed
    out here is due (None: it has none).
    """

    jobs: tuple[Leased, ...]
    next_due: Mapping[str, int | None]


class Recovered(msgspec.Struct, frozen=True):
    """What `recover` mended: jobs made available again, jobs dead by `crash_loop`."""

    reclaimed: int
    dead: int


class Generation(msgspec.Struct, frozen=True):
    """A ruleset's text and everything else its hash covers; `id` is that hash."""

    id: str
    text: str
    context: dict[str, Any]
    created_at: int


class Selector(msgspec.Struct, frozen=True):
    """
    The one selector of every listing and operator's verb. None: any.

    `ids` are prefixes of 8 or more characters, of deliveries or jobs. `event` and `rule` are
    exact. `state` is a job state, or for deliveries a delivery state. `since` is included, `until`
    is not. Without a `limit` lists show 50 and verbs take all.
    """

    ids: tuple[str, ...] = ()
    endpoint: str | None = None
    rule: str | None = None
    event: str | None = None
    state: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None


class DeliverySummary(msgspec.Struct, frozen=True):
    """A delivery as a list shows it: no body, but its events, copies and jobs by state."""

    id: str
    endpoint: str
    provider: str
    received_at: int
    state: str
    events: tuple[str, ...]
    event_count: int
    body_bytes: int
    verified_by: str | None
    duplicates: int
    last_seen_at: int | None
    jobs: dict[str, int]
    flags: tuple[str, ...]
    replay_of: str | None


class DeliveryRecord(msgspec.Struct, frozen=True):
    """A delivery with everything that came of it, jobs and attempts in order."""

    delivery: Delivery
    events: tuple[EventEntry, ...]
    duplicates: int
    last_seen_at: int | None
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]


class Pruned(msgspec.Struct, frozen=True):
    """What one step of upkeep removed."""

    deliveries: int
    keys: int
    generations: int


class Retain(msgspec.Struct, frozen=True):
    """
    What upkeep may remove: deliveries whose jobs have all ended before these times.

    A delivery goes when the longest of the times that apply to its jobs' states has passed
    (`cancelled` as `succeeded`; a delivery without jobs as `unmatched`). `finished_before`, when
    set, also removes any finished delivery received before it (the size cap), oldest first.
    """

    succeeded_before: int
    unmatched_before: int
    dead_before: int
    finished_before: int | None = None
    limit: int = 1000


class Store(Protocol):
    """The ledger."""

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        """
        Commit and sync delivery, keys and the jobs of new events in one transaction.

        The unique index of the keys decides what is new. If every event has keys and all are
        known, nothing is stored but a later count on the first delivery, and the answer waits
        until that first delivery is itself committed.
        """
        ...

    async def lease(self, slots: Mapping[str, int], *, lease: str, now: int) -> LeaseBatch:
        """
        Take up to `slots[target]` due jobs of each target, oldest due first, and record their
        next attempt: state running, attempt + 1, `started_at` now, lease as given.
        """
        ...

    async def settle(self, settlement: Settlement) -> bool:
        """
        Write an attempt's end if its lease still holds the job; False: it did not, nothing
        changed. `charged` adds one to the job's count and clears `deaths`; an uncharged
        `available` (shutdown) leaves both.
        """
        ...

    async def recover(
        self, *, alive: str, now: int, on_interrupt_dead: frozenset[tuple[str, str]]
    ) -> Recovered:
        """
        Reclaim every running job whose lease does not begin with `alive` (the live boot's id).

        Each gets an `interrupted` attempt, uncharged; `deaths` grows; the third in a row makes
        the job dead, `crash_loop`. Jobs of a (rule, action) in `on_interrupt_dead` are dead at
        once, `interrupted`.
        """
        ...

    async def targets(self) -> Mapping[str, int]:
        """Every target with an available or retryable job, and its earliest due time."""
        ...

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        """Make new jobs for a stored delivery (replay); returns how many."""
        ...

    async def cancel(self, selector: Selector, *, reason: str, now: int) -> int:
        """Cancel jobs that are available, waiting or retryable; returns how many."""
        ...

    async def revive(self, selector: Selector, *, now: int) -> int:
        """Make dead jobs available again with a fresh retry schedule; returns how many."""
        ...

    async def hold(self, paused: frozenset[str]) -> int:
        """
        Make the available and retryable jobs of these rules wait, and release the waiting jobs
        of all others; returns how many changed. Running ones go on.
        """
        ...

    async def keep_generation(self, generation: Generation) -> None:
        """Keep a ruleset's text; a known id changes nothing."""
        ...

    async def generation(self, prefix: str) -> Generation | None:
        """The generation with this id, or with this unique prefix of it."""
        ...

    async def latest_generation_with(self, rule: str) -> tuple[str, ...]:
        """Ids of kept generations that jobs of this rule name, newest first."""
        ...

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        """Newest first."""
        ...

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        """
        By id or unique prefix (8 or more characters after `dlv_`, or the whole); None: unknown.

        Raises:
            NotFound: the prefix fits several.
        """
        ...

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        """Newest first."""
        ...

    async def job(self, prefix: str) -> Job | None:
        """As `delivery`, for a job."""
        ...

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        """Jobs by rule and state."""
        ...

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        """
        One bounded step of retention. Never removes a delivery with an open job, nor a live key.
        """
        ...

    async def size(self) -> int:
        """Bytes the store holds on disk, journal included."""
        ...

    async def ready(self) -> None:
        """Prove that a write can commit now, else raise StoreUnavailable."""
        ...

    async def close(self) -> None:
        """Finish queued writes, checkpoint, release the lock."""
        ...
