"""
What the Store protocols take and give. Times are Unix milliseconds.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import ActionKind, Attempt, Job, NewJob, Work
from router.model.selector import FIELDS, Criteria
from router.model.share import Given, Shares


class EventEntry(msgspec.Struct, frozen=True):
    """What the ledger keeps of an event beside its delivery's body; see `Acceptance`."""

    index: int
    id: str
    name: str
    action: str | None = None
    keys: tuple[bytes, ...] = ()
    keys_until: int = 0


class Acceptance(msgspec.Struct, frozen=True):
    """
    One delivery to make durable, with its events and their jobs.

    An event is new when none of its keys is known and live; keys are expired at `keys_until`.
    """

    delivery: Delivery
    events: tuple[DeliveryEvent, ...]
    jobs: tuple[NewJob, ...]
    keys_until: int = 0


class Accepted(msgspec.Struct, frozen=True):
    """
    Stored and synced. `new` are the event indexes that were not known; only their jobs exist.

    None stands for "all of them", the usual case. `cancelled` has the reason of each job that a
    concurrency group cancelled, of this delivery or of an older one.
    """

    delivery: str
    new: frozenset[int] | None = None
    cancelled: tuple[str, ...] = ()


def narrowed(job: NewJob, events: Sequence[DeliveryEvent], new: frozenset[int]) -> NewJob | None:
    """
    What is left of a job when only the events `new` are: itself, a run of fewer events of a
    batch, or None.
    """
    if not job.covers:
        return job if job.event_index in new else None
    if not (kept := tuple(i for i in job.covers if i in new)) or kept == job.covers:
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


OnCommit = Callable[[int, float], None]
"""Told of every transaction: how many things it was about, and its seconds."""


def uncounted(_writes: int, _seconds: float) -> None:
    """Nobody counts commits."""


Heard = Callable[[Collection[str]], None]
"""Told of targets with new due work; none: there may be any, or targets were paused or resumed."""


def unheard(_targets: Collection[str]) -> None:
    """Nobody listens."""


Claimed = Callable[[str, int], Awaitable[bool]]
"""
Whether it is this node that does, for so many milliseconds from now on, what one does for all; by
name. May raise StoreUnavailable.
"""


CLOCK_SEEN = "clock/seen"
"""The fact that keeps the ledger time last seen."""
CLOCK_DOUBT = "clock/doubt"
"""The fact that keeps the last `Doubt` of the clock."""
CLAIM_MS = 30_000
"""What one node does for all is left to it for so long after it last said so."""


async def alone(_name: str, _ttl_ms: int) -> bool:
    """There is no other node."""
    return True


class Settled(msgspec.Struct, frozen=True):
    """
    What became of a settlement: its lease `held` the job and the end is written; it was written
    `already`, by a call whose answer was lost; or the lease was `lost` and nothing changed.
    True unless it was lost.

    `freed` are the target and due time of each job that needs no longer wait, `cancelled` the
    reasons of those that will not run: successors of the job, or the rest of a superseded run.
    """

    fate: Literal["held", "already", "lost"] = "held"
    freed: tuple[tuple[str, int], ...] = ()
    cancelled: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.fate != "lost"


HELD, ALREADY, LOST = Settled(), Settled("already"), Settled("lost")


def node_of(lease: str) -> str:
    """The node that took a lease: leases are `<node>/<number>`."""
    return lease.partition("/")[0]


Fingerprints = Mapping[str, tuple[str, ...]]
"""
By the name of a secret: its fingerprint, then those of the secrets that stand in a list with it.
They are for nodes to compare, and never shown.
"""


class NodeCard(msgspec.Struct, frozen=True):
    """
    What a node says of itself: its name, the router's version and the generation of its rules.
    `started_at` is when its process began (0: not said yet), `skew_ms` by how much its machine's
    clock is ahead of the store's, `unready` why it is to get no requests.
    """

    name: str
    version: str
    generation: str
    started_at: int = 0
    skew_ms: int = 0
    unready: str | None = None
    secrets: Fingerprints = {}


STOPPING = "it is stopping"
"""Why a node that was told to stop is to get no requests: one that is gone then was not lost."""


class NodeSeen(msgspec.Struct, frozen=True):
    """
    A node as the store knows it. `beats` counts how often it has said that it lives, at
    `last_beat_at` for the last time; `closed`: its connection is known to be closed.
    """

    number: str
    card: NodeCard
    beats: int
    last_beat_at: int
    closed: bool = False
    gone: bool = False


class VacuumRoom(msgspec.Struct, frozen=True):
    """
    The bytes of a store whose file is to be written anew, how many bytes of its disk that takes
    for a while, and how many are free.
    """

    held: int
    needed: int
    free: int


LATE_S = 10.0
"""
How long a node starts work after a beat. Others take over its jobs no sooner than
`serving.failure_detector.GONE_S` after it: no clock is so wrong that both happen at once.
"""


class NodeLoad(msgspec.Struct, frozen=True):
    """What a node may use of targets' limits, and how many jobs run under its leases, by target."""

    given: Given = {}
    running: Mapping[str, int] = {}


class Beats(msgspec.Struct, frozen=True):
    """
    The store's time, and every other node that is not gone. `shares` is what the node was given
    last; None: the version that it goes by.
    """

    now: int
    others: tuple[NodeSeen, ...] = ()
    shares: Shares | None = None


class LeaseBatch(msgspec.Struct, frozen=True):
    """
    What `lease` got: jobs held by it, their attempts recorded, with all that rendering needs.
    `next_due` is, of each target that was named, when its next job not handed out here is due
    (None: it has none). `kinds` has the targets whose jobs end before one of another kind than was
    asked for, and that kind.
    """

    jobs: tuple[Work, ...]
    next_due: Mapping[str, int | None]
    kinds: Mapping[str, ActionKind] = {}


MAX_DEATHS = 3
"""Deaths in a row that end a job: `crash_loop`."""
APART_MS = 1_000
"""Between the due times of jobs whose next death is their last."""


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


NEW_MS = 60_000
"""So long a generation counts that no living node has said to have: its node may not have yet."""


class InForce(msgspec.Struct, frozen=True):
    """A generation was put in force for all nodes, and when (wall time); `seq` counts from 1."""

    seq: int
    generation: str
    at: int


class Selector(Criteria, frozen=True):
    """
    The criteria of every listing and operator's verb, with what is named.

    `ids` are prefixes of 4 or more characters, of deliveries or jobs. `before` is the id that
    ended the page before: only older ones are listed. Without a `limit` lists show 50 and verbs
    take all.
    """

    ids: tuple[str, ...] = ()
    before: str | None = None

    @classmethod
    def of(cls, criteria: Criteria | None, ids: tuple[str, ...] = ()) -> "Selector":
        """The criteria, and what is named."""
        given = {name: getattr(criteria, name) for name in FIELDS} if criteria else {}
        return cls(**given, ids=ids)


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


class RuleCount(msgspec.Struct, frozen=True):
    """
    What a rule did since `counted_since`: events it was evaluated for, matched (`shadowed`: in
    shadow) and erred on. `last_matched_at` counts shadow matches too.
    """

    rule: str
    evaluated: int
    matched: int
    errored: int
    shadowed: int
    counted_since: int
    last_matched_at: int | None = None


AUDIT_LINES = 100_000
"""The newest lines of the audit that are kept, whatever their age."""


class ListedGeneration(msgspec.Struct, frozen=True):
    """A kept generation without its text, of which only the size is known."""

    id: str
    created_at: int
    characters: int


LIMIT_MAX = 100
"""Deliveries in one answer of `following`."""


class FeedQuery(msgspec.Struct, frozen=True):
    """
    What is wanted of the ledger after a place.

    `since` counts without a cursor: `start`, `now`, or Unix milliseconds. No `endpoints` or
    `events`: all of them; a delivery is wanted if one of its events is. `history`: with all its
    jobs.
    """

    cursor: str | None = None
    since: str = "start"
    endpoints: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    limit: int = 20
    history: bool = False


class Following(msgspec.Struct, frozen=True):
    """
    What comes after a place. `cursor` is where the next question goes on, `more`: at once.

    `removed` deliveries (of any endpoint) between the two places are gone; None: some may be, and
    the store does not number them. `other`: the place is
    of another ledger, or of a later copy of this one; what came after it is found by its time.
    """

    deliveries: tuple[Stored, ...]
    cursor: str
    more: bool
    removed: int | None
    other: bool = False
