"""
The reading half of the Store protocols, one for each who asks: no question changes anything.

Every question may raise StoreUnavailable. Times are Unix milliseconds.
"""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from router.model.activity import ActivityCount
from router.model.delivery import DeliverySummary
from router.model.job import Attempt, Job, JobState
from router.model.operations import Audit, Cause, Change, Planned, Replay
from router.model.target import TargetCounts
from router.store.removal import Retain
from router.store.values import (
    DeliveryRecord,
    EventEntry,
    FeedQuery,
    Following,
    Generation,
    InForce,
    ListedGeneration,
    NameKind,
    NodeLoad,
    NodeSeen,
    Page,
    RuleCount,
    Selector,
)


class FactReads(Protocol):
    """Small JSON values by name."""

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        """Everything remembered under names that begin so, in the order of the names."""


class DispatchReads(FactReads, Protocol):
    """What dispatch asks."""

    async def results(self, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
        """
        The results of these actions of the job's run, each of its last attempt that ran. One that
        a replay left out is looked up in the run that was replayed. Absent: it never ran.
        """

    async def targets(self) -> Mapping[str, int]:
        """Every target with an available or retryable job, and its earliest due time."""

    async def lost_nodes(self, node: str) -> frozenset[str]:
        """
        Nodes that hold leases and run no more: they are gone, or never joined. `node` is who asks,
        and runs.
        """

    async def lost_leases(self, leases: Collection[str]) -> tuple[Job, ...]:
        """
        The jobs that run under these leases, in the order of their ids: the node that took them
        knows that nobody holds them. Their grant never came, or their end could not be written.
        """


class StoreReads(DispatchReads, Protocol):
    """The reading half, for pages, lists and the command line. `shared`: several nodes may."""

    shared: bool

    async def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        """Newest first."""

    async def delivery(self, prefix: str) -> DeliveryRecord | None:
        """
        By id or unique prefix (4 or more characters after `dlv_`, or the whole); None: unknown.

        Raises:
            NotFound: the prefix fits several, or is too short to tell.
        """

    async def jobs(self, selector: Selector) -> tuple[Job, ...]:
        """Newest first."""

    async def job(self, prefix: str) -> Job | None:
        """As `delivery`, for a job."""

    async def events(self, selector: Selector) -> tuple[EventEntry, ...]:
        """Events of the selected deliveries, newest delivery first."""

    async def attempts(self, selector: Selector) -> tuple[Attempt, ...]:
        """Ended attempts of the selected jobs, newest job first."""

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

    async def following(self, asked: FeedQuery) -> Following:
        """
        Deliveries in the order of their commits, after a place.

        Raises:
            UsageError: the cursor is none.
        """

    async def causes(self, selector: Selector) -> tuple[Cause, ...]:
        """The selected dead jobs by cause, the latest first."""

    async def names(self, kind: NameKind) -> tuple[str, ...]:
        """Every name of this kind that stored work has, in order; a cause's name is its key."""

    async def planned(self, selector: Selector, change: Change) -> Planned:
        """What that verb would change, counted as a plan; nothing is changed."""

    async def replay(self, id_: str) -> Replay | None:
        """A replay, by its whole id."""

    async def made_by(self, job: str) -> Replay | None:
        """The replay that made a job, without its items."""

    async def replays(self, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
        """Replays without their items, newest first; those still `making` jobs alone."""

    async def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        """Lines of the audit, newest first."""

    async def generation(self, prefix: str) -> Generation | None:
        """The generation with this id, or with this unique prefix of it."""

    async def latest_generation_with(self, rule: str) -> tuple[str, ...]:
        """Ids of kept generations that jobs of this rule name, newest first."""

    async def generations(self, limit: int) -> tuple[ListedGeneration, ...]:
        """Kept generations, newest first."""

    async def in_force(self) -> InForce | None:
        """What was put in force last for all nodes; None: nothing was yet."""

    async def target_counts(self) -> Mapping[str, TargetCounts]:
        """Open and dead jobs by target."""

    async def counts(self) -> Mapping[str, Mapping[JobState, int]]:
        """Jobs by rule and state."""

    async def open_states(self) -> Mapping[str, int]:
        """Jobs that have not ended, and dead ones, by state."""

    async def rule_counts(self) -> Mapping[str, RuleCount]:
        """What was counted, by rule; also of rules that are gone."""

    async def activity(self, span_s: int, since: int) -> tuple[ActivityCount, ...]:
        """
        What was counted by spans of so many seconds that began then or later, in their order: all
        names together, as "".
        """

    async def activity_by_name(self, span_s: int, since: int) -> tuple[ActivityCount, ...]:
        """The same spans together, by name; `at` is when the first of them began."""

    async def activity_by_hour(
        self, since: int, names: Collection[str]
    ) -> tuple[ActivityCount, ...]:
        """The quarters of these names, four together since then; `at` as above."""

    async def nodes(self) -> tuple[NodeSeen, ...]:
        """Nodes that have joined, the latest last; those that are gone for a while are left out."""

    async def node_loads(self) -> Mapping[str, NodeLoad]:
        """What nodes may use and what they run, by their numbers; also of some that are gone."""

    async def due_redactions(self, now: int, limit: int) -> tuple[str, ...]:
        """Deliveries that redacting looks at again by this ledger time, the earliest first."""

    async def size(self) -> int:
        """Bytes the store holds on disk, journal included."""


class StoreReader(StoreReads, Protocol):
    """The reading half alone, for whoever opens and closes it."""

    async def removable(self, retain: Retain, now: int) -> tuple[int, int]:
        """How many deliveries, and how many keys, retention would remove now; none is."""

    async def offset(self) -> int:
        """By how many milliseconds the store's wall time is ahead of ledger time."""

    async def close(self) -> None:
        """Close its connections."""
