"""
The Store protocol: one verb a state transition, every write durable when its call returns.

No verb leaves a transaction open, and none assumes a process-local lock. Every verb may raise
StoreUnavailable; after that the outcome is unknown and the caller must assume neither.
Times are Unix milliseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from router.model.delivery import Delivery, DeliverySummary
from router.model.job import Attempt, Group, Job, JobState, NewJob, Settlement
from router.model.operations import Audit, Cause, Change, Planned, Replay, ReplayStep
from router.model.target import TargetCounts
from router.store.upkeep import Pruned, Retain, RuleCount


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

    None stands for "all of them", the usual case. `cancelled` has the reason of each job that a
    concurrency group cancelled, of this delivery or of an older one.
    """

    delivery: str
    new: frozenset[int] | None = None
    cancelled: tuple[str, ...] = ()


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


Died = Callable[[Job, Attempt], Acceptance | None]
"""
What the router itself has to say of a job that is dead, as a delivery of its own; None: nothing.
It is quick, raises nothing, and may be called in a store's own thread, within a transaction.
"""


def untold(_job: Job, _attempt: Attempt) -> None:
    """Nobody wants to know."""


class Settled(msgspec.Struct, frozen=True):
    """
    What became of a settlement; true if its lease still `held` the job.

    `freed` are the target and due time of each job that needs no longer wait, `cancelled` the
    reasons of those that will not run: successors of the job, or the rest of a superseded run.
    """

    held: bool = True
    freed: tuple[tuple[str, int], ...] = ()
    cancelled: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.held


HELD, LOST = Settled(), Settled(held=False)


class Leased(msgspec.Struct, frozen=True):
    """A job held by its `lease`, its attempt recorded, with all that rendering needs."""

    job: Job
    delivery: Delivery


class LeaseBatch(msgspec.Struct, frozen=True):
    """
    What `lease` got. `next_due` tells, for each target asked for, when its next job not handed
    out here is due (None: it has none); `corrupt` are jobs found unreadable since the last lease.
    """

    jobs: tuple[Leased, ...]
    next_due: Mapping[str, int | None]
    corrupt: tuple[str, ...] = ()


APART_MS = 1_000


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

    `before` is the id that ended the page before: only older ones are listed.
    `ids` are prefixes of 4 or more characters, of deliveries or jobs. `event` and `rule` are
    exact. `state` is a job state, or for deliveries a delivery state. `since` is included, `until`
    is not. Without a `limit` lists show 50 and verbs take all. `replay` is the id of the replay
    that made the jobs, `cause` the key of a `Cause`.

    `where` is the text of a condition on the delivery; a store refuses it (UsageError), as whoever
    can read deliveries evaluates it: `router.operator.search`.
    """

    ids: tuple[str, ...] = ()
    endpoint: str | None = None
    rule: str | None = None
    event: str | None = None
    state: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    before: str | None = None
    where: str | None = None
    replay: str | None = None
    cause: str | None = None


NameKind = Literal["endpoint", "rule", "cause"]
"""What a selector names that stored work may have though today's rules do not."""


class DeliveryRecord(msgspec.Struct, frozen=True):
    """A delivery with everything that came of it, jobs and attempts in order."""

    delivery: Delivery
    events: tuple[EventEntry, ...]
    duplicates: int
    last_seen_at: int | None
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]


class Stored(msgspec.Struct, frozen=True):
    """
    A delivery to be looked at, with those of its jobs that were asked for. `at` is its place: a
    page after it goes on with the next. `history`, if asked for, has all its jobs in the order
    they were made.
    """

    at: str
    delivery: Delivery
    events: tuple[EventEntry, ...]
    jobs: tuple[Job, ...] = ()
    history: tuple[Job, ...] = ()


class Page(msgspec.Struct, frozen=True):
    """Some of a selection; `reached` is where the next page goes on, None: that was all."""

    found: tuple[Stored, ...]
    reached: str | None


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

    async def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
    ) -> LeaseBatch:
        """
        Take up to `slots[target]` due jobs of each target, oldest due first, and record their
        next attempt: state running, attempt + 1, `started_at` now, lease as given. Jobs of a
        replay are taken when no other job of their target is due.

        `fresh` names jobs of a target that go before all others; one that is not due is passed
        over.
        """
        ...

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        """
        Write an attempt's end if its lease still holds the job; false: it did not, nothing
        changed. `charged` adds one to the job's count and clears `deaths`; an uncharged
        `available` (shutdown) leaves both.

        In the same transaction the job's successors are freed or cancelled, and the turn of a run
        that has ended goes to the next one of its group. So is `own` accepted, a delivery of the
        router's own about this end; what its jobs cancel is among the answer's.
        """
        ...

    async def results(self, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
        """
        The results of these actions of the job's run, each of its last attempt that ran. One that
        a replay left out is looked up in the run that was replayed. Absent: it never ran.
        """
        ...

    async def recover(
        self,
        *,
        alive: str,
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        """
        Reclaim every running job whose lease does not begin with `alive` (the live boot's id).

        Each gets an `interrupted` attempt, uncharged; the third death in a row makes the job dead,
        `crash_loop`. Those with two are due one by one, `APART_MS` apart: the one that ends the
        process shall be alone then. Jobs of a (rule, action) in `on_interrupt_dead` are dead at
        once, `interrupted`. What `died` says of each dead one is accepted with it, and with any
        job that a verb of this store finds unreadable from then on: it is dead, `corrupt`.
        """
        ...

    async def targets(self) -> Mapping[str, int]:
        """Every target with an available or retryable job, and its earliest due time."""
        ...

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        """
        Make new jobs for a stored delivery (replay); returns how many.

        Jobs that replay several of one run are a run again, in the same order and group; a
        predecessor that is not among them counts as having ended as wanted. The replay of a run
        that halts its group takes its turn over.
        """
        ...

    async def begin_replay(self, replay: Replay, audit: Audit | None = None) -> Replay:
        """
        Keep a new replay; if one of this id is known, that one is returned and nothing changes.
        The audit's line gets the replay's id, so that each step adds to its count.
        """
        ...

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        """
        Make the jobs of a step, and note how far the replay has come, in one transaction;
        returns it. A delivery that is gone is skipped. None, and nothing is made: the replay is
        not making jobs, or does not stand at `step.after`.

        Of a step that makes things `once`, a job is passed over if the one it repeats has been
        made again meanwhile; or, of a delivery routed anew, if one of its generation is there.
        """
        ...

    async def cancel(
        self, selector: Selector, *, reason: str, now: int, audit: Audit | None = None
    ) -> int:
        """
        Cancel jobs that are available, waiting or retryable; returns how many. Successors follow.
        With `selector.replay` that replay makes no more jobs.

        Dead jobs that halt a group are cancelled too if they are named, or selected as `dead`:
        then the group goes on.
        """
        ...

    async def planned(self, selector: Selector, change: Change) -> Planned:
        """What that verb would change, counted as a plan; nothing is changed."""
        ...

    async def revive(self, selector: Selector, *, now: int, audit: Audit | None = None) -> int:
        """
        Make dead jobs available again with a fresh retry schedule; returns how many. Successors
        that were cancelled because of them wait again; their run queues for its group anew.

        Of the runs of one original only the newest: one that a replay has made again is passed
        over, unless it is named by its own id and no state is selected.
        """
        ...

    async def hold(
        self, paused: frozenset[str], targets: frozenset[str] = frozenset(), *, now: int = 0
    ) -> int:
        """
        Make the open jobs of these rules and targets wait, and release those of all others that
        wait for nothing else; returns how many changed. Running ones go on. What is released is
        due at `now` at the earliest.
        """
        ...

    async def shift(self, total: int, *, boot: str, now: int) -> int:
        """
        Move due times of unfinished jobs, and paces of replays, until `boot` has moved them by
        `total` milliseconds (so never twice); returns how many jobs moved. Fact `clock`: `at` is
        `now`, by the new clock. Who asks goes by the old one until he has the answer, and by the
        new one from then on: what was on its way meanwhile is moved too.
        """
        ...

    async def regroup(self, groups: Mapping[str, Group | None], *, now: int) -> int:
        """
        Apply the concurrency groups of today's rules (None: the rule has none) to the runs that
        have or await a turn; returns how many changed. Rules not named keep what they had.
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
        By id or unique prefix (4 or more characters after `dlv_`, or the whole); None: unknown.

        Raises:
            NotFound: the prefix fits several, or is too short to tell.
        """
        ...

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        """Newest first."""
        ...

    async def job(self, prefix: str) -> Job | None:
        """As `delivery`, for a job."""
        ...

    async def page(
        self,
        selector: Selector,
        *,
        jobs: bool,
        newest: bool = False,
        after: str | None = None,
        whole: bool = False,
    ) -> Page:
        """
        Some of the selected deliveries, or of the selected `jobs` with their deliveries, after
        where a page ended; the limit is the caller's to count.

        Oldest first a delivery comes once, with all of its selected jobs; `newest` first, once
        for each job. `whole`: with the deliveries' histories; then a job is selected by `until`
        if it or its delivery came before that.
        """
        ...

    async def causes(self, selector: Selector) -> tuple[Cause, ...]:
        """The selected dead jobs by cause, the latest first."""
        ...

    async def names(self, kind: NameKind) -> tuple[str, ...]:
        """Every name of this kind that stored work has, in order; a cause's name is its key."""
        ...

    async def replay(self, id_: str) -> Replay | None:
        """A replay, by its whole id."""
        ...

    async def made_by(self, job: str) -> Replay | None:
        """The replay that made a job, without its items."""
        ...

    async def replays(self, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
        """Replays without their items, newest first; those still `making` jobs alone."""
        ...

    async def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        """Lines of the audit, newest first."""
        ...

    async def note(self, audit: Audit) -> None:
        """Add a line to the audit, for a change that is none of the ledger."""
        ...

    async def target_counts(self) -> Mapping[str, TargetCounts]:
        """Open and dead jobs by target."""
        ...

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        """Jobs by rule and state."""
        ...

    async def count_rules(self, counts: Sequence[RuleCount]) -> None:
        """Add these to what is kept of the same rules; the earlier `counted_since` stays."""
        ...

    async def rule_counts(self) -> Mapping[str, RuleCount]:
        """What was counted, by rule; also of rules that are gone."""
        ...

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        """
        One bounded step of retention. Never removes a delivery with an open job, nor a live key.
        """
        ...

    async def remember(self, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
        """
        Keep small JSON values by name, until they are given anew; None forgets one. All or none
        of those given together are kept.
        """
        ...

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        """Everything remembered under names that begin so, in the order of the names."""
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
