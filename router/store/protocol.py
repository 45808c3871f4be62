"""
The Store protocols, one for each user: what it promises is the same whichever store stands behind.

Every write is durable when its call returns. No verb leaves a transaction open, and none assumes a
process-local lock. Every verb may raise StoreUnavailable; after that the outcome is unknown and
the caller must assume neither. Times are Unix milliseconds.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, Protocol

from router.errors import RouterError
from router.model.activity import ActivityCount
from router.model.erasure import Erasure, ErasureStep
from router.model.job import ActionKind, Group, NewJob, Settlement
from router.model.operations import Audit, Replay, ReplayStep
from router.model.share import NO_REPORT, Division, ShareReport, Shares
from router.store.reads import DispatchReads, FactReads, StoreReads
from router.store.removal import Pruned, RedactionStep, Retain
from router.store.values import (
    Acceptance,
    Accepted,
    Beats,
    Died,
    Duplicate,
    Generation,
    Heard,
    LeaseBatch,
    NodeCard,
    Recovered,
    RuleCount,
    Selector,
    Settled,
    VacuumRoom,
    untold,
)


class FactStore(FactReads, Protocol):
    """Facts to be read and written: what must outlive a restart, and is no delivery."""

    async def remember(self, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
        """
        Keep small JSON values by name, until they are given again; None forgets one. All or none
        of those given together are kept.
        """


class TargetStore(FactStore, Protocol):
    """Facts, and which targets are paused: each has one, under a name that begins `paused/`."""

    async def pause_target(self, target: str, *, reason: str, by: str, at: int) -> int:
        """
        Make the open jobs of a target wait, and keep since when (ledger time), why and by whom: a
        Pause. Returns how many wait now that did not. Of one that is paused that is all that
        changes. Running jobs go on.
        """

    async def resume_target(self, target: str, *, now: int) -> int:
        """
        A target is paused no more: release its jobs that wait for nothing else, due at `now` at the
        earliest; returns how many changed.
        """


class IntakeStore(Protocol):
    """What intake needs."""

    @property
    def reads(self) -> DispatchReads:
        """What has been committed, as far as jobs are run by it."""

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        """
        Commit and sync delivery, keys and the jobs of new events in one transaction.

        The unique index of the keys decides what is new. If every event has keys and all are
        known, nothing is stored but a later count on the first delivery, and the answer waits
        until that first delivery is itself committed.

        A delivery that is there already, by its id, is answered as it was when it was stored: a
        call of unknown outcome may be made again.
        """

    def accept_all(
        self, group: Sequence[Acceptance]
    ) -> Awaitable[Sequence[Accepted | Duplicate | RouterError]]:
        """
        As `accept`, of several in their order, in one transaction as far as possible: what became
        of each. One that cannot be stored fails alone. It is asked for at the call.
        """

    async def revive(self, selector: Selector, *, now: int, audit: Audit | None = None) -> int:
        """
        Make dead jobs available again with a fresh retry schedule; returns how many. Successors
        that were cancelled because of them wait again; their run queues for its group anew.

        Of the runs of one original only the newest: one that a replay has made again is passed
        over, unless it is named by its own id and no state is selected.
        """


class NodeStore(Protocol):
    """
    The nodes that run on one ledger. Each has a number of its own for every start: its leases are
    `<number>/<text>`. `shared`: there may be several nodes; else no verb here has anything to do.
    """

    shared: bool

    async def join(self, card: NodeCard) -> str:
        """A number that no node has or had, without a `/`; it lives from now on."""

    async def beat(
        self, node: str, card: NodeCard, report: ShareReport = NO_REPORT
    ) -> Beats | None:
        """
        Say that this node lives, what it is now, and what it makes of its shares; returns who else
        lives. None: it has been declared gone, and must join anew.
        """

    async def declare_gone(self, node: str, beats: int) -> bool:
        """
        Mark a node as gone for ever unless it has beaten since it was seen with `beats`; whether it
        is gone now. Its leases are for `recover`, its claims for whoever asks.
        """

    async def claim(self, name: str, node: str, ttl_ms: int) -> bool:
        """
        Whether this node, and no other, has the claim of that name from now on for `ttl_ms`: it was
        free, or its own, or it had expired, or its holder is gone. A node that is gone gets none.
        """

    def listen(self, heard: Heard) -> None:
        """
        Have `heard` called, on the loop, soon after another node has committed what dispatch should
        know. It may be missed: whoever wants to know for sure asks now and then.
        """

    async def divide(
        self, node: str, division: Division, *, generation: str, ttl_ms: int
    ) -> Shares | None:
        """
        Divide the shares of all nodes anew, in one transaction in which this node has the claim
        `shares` and its generation is in force; returns its own. None, and nothing has changed: it
        does not have the claim, or other rules are in force.

        A node that is gone counts as long as jobs run under its leases.
        """


class DispatchStore(TargetStore, Protocol):
    """What dispatch needs: leases and settlements."""

    @property
    def reads(self) -> DispatchReads:
        """What has been committed, as far as jobs are run by it."""

    def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
        kinds: Mapping[str, ActionKind] = {},
    ) -> Awaitable[LeaseBatch]:
        """
        Take up to `slots[target]` due jobs of each target, oldest due first, and record their
        next attempt: state running, attempt + 1, `started_at` now, lease as given. Jobs of a
        replay are taken when no other job of their target is due.

        `fresh` names jobs of a target that go before all others; one that is not due is passed
        over. It is asked for at the call.

        Of a target in `kinds` only jobs of that kind are taken, up to the first of another one.
        """

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        """
        Write an attempt's end if its lease still holds the job; see `Settled`. A call of unknown
        outcome may be made again. `charged` adds one to the job's count and clears `deaths`; an
        uncharged `available` (shutdown) leaves both.

        In the same transaction the job's successors are freed or cancelled, and the turn of a run
        that has ended goes to the next one of its group. So is `own` accepted, a delivery of the
        router's own about this end; what its jobs cancel is among the answer's.
        """

    def settle_all(
        self, group: Sequence[tuple[Settlement, Acceptance | None]]
    ) -> Awaitable[Sequence[Settled | RouterError]]:
        """
        As `settle`, of several in their order, in one transaction as far as possible: what became
        of each. One that cannot be stored fails alone. It is asked for at the call.
        """

    async def recover(
        self,
        *,
        nodes: Collection[str],
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        """
        Reclaim the running jobs whose leases are of these `nodes`, which run no more.

        Each gets an `interrupted` attempt, uncharged; the third death in a row makes the job dead,
        `crash_loop`. Those with two deaths are due one by one, `APART_MS` apart: the one that ends
        the process shall be alone then. Jobs of a (rule, action) in `on_interrupt_dead` are dead at
        once, `interrupted`. What `died` says of each dead one is accepted with it.
        """


class OperatorStore(IntakeStore, TargetStore, Protocol):
    """The operator's verbs, and the upkeep that goes by itself."""

    @property
    def reads(self) -> StoreReads:
        """Its reading half: what has been committed."""

    async def begin_replay(self, replay: Replay, audit: Audit | None = None) -> Replay:
        """
        Keep a new replay; if one of this id is known, that one is returned and nothing changes.
        The audit's line gets the replay's id, so that each step adds to its count.
        """

    async def replay_step(self, step: ReplayStep, *, now: int) -> Replay | None:
        """
        Make the jobs of a step, and note how far the replay has come, in one transaction;
        returns it. A delivery that is gone is skipped. None, and nothing is made: the replay is
        not making jobs, or does not stand at `step.after`.

        Of a step that makes things `once`, a job is passed over if the one it repeats has been
        made again meanwhile; or, of a delivery routed again, if one of its generation is there.
        """

    async def add(self, delivery: str, jobs: Sequence[NewJob]) -> int:
        """
        Make new jobs for a stored delivery (replay); returns how many.

        Jobs that replay several of one run are a run again, in the same order and group; a
        predecessor that is not among them counts as having ended as wanted. The replay of a run
        that halts its group takes its turn over.
        """

    async def cancel(
        self, selector: Selector, *, reason: str, now: int, audit: Audit | None = None
    ) -> int:
        """
        Cancel jobs that are available, waiting or retryable; returns how many. Successors follow.
        With `selector.replay` that replay makes no more jobs.

        Dead jobs that halt a group are cancelled too if they are named, or selected as `dead`:
        then the group goes on.
        """

    async def hold(self, paused: frozenset[str], *, generation: str, now: int = 0) -> int:
        """
        Make the open jobs of these rules, and of the paused targets, wait, and release those of all
        others that wait for nothing else; returns how many changed. Running ones go on. What is
        released is due at `now` at the earliest.

        Nothing changes unless `generation`, whose rules these are, is in force for all nodes, or
        none has been put in force yet.
        """

    async def regroup(
        self, groups: Mapping[str, Group | None], *, generation: str, now: int
    ) -> int:
        """
        Apply the concurrency groups of today's rules (None: the rule has none) to the runs that
        have or await a turn; returns how many changed. Rules not named keep what they had.
        `generation` as for `hold`.
        """

    async def keep_clock(self) -> int:
        """
        Keep by how much the store's clock is ahead of ledger time, and the ledger time last seen;
        returns by how many milliseconds the first has changed. No job moves.
        """

    async def keep_generation(self, generation: Generation) -> None:
        """Keep a ruleset's text; a known id changes nothing."""

    async def put_in_force(self, generation: str, *, by: str, at: int) -> None:
        """
        Put the generation of the node `by` in force for all nodes. A node that restarts with the
        generation it had leaves those of others in force. `at` is wall time.

        A generation that no living node of a shared store has is passed over when it is a minute
        old, for limits at once: the one that was put in force before it decides.
        """

    async def count_rules(self, counts: Sequence[RuleCount]) -> None:
        """Add these to what is kept of the same rules; the earlier `counted_since` stays."""

    async def count_activity(self, counts: Sequence[ActivityCount]) -> None:
        """Add these to what was counted of the same; `most` becomes the greater of both."""

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        """
        One bounded step of retention. Never removes a delivery with an open job, nor a live key.
        Activity goes by its own ages.
        """

    async def erase(self, step: ErasureStep, *, now: int) -> Erasure | None:
        """
        Take out deliveries, or events of them, with all that came of them, and note how far the
        erasure has come, in one transaction; returns it. It is kept as a fact, `erase/` and its id.
        Keys stay, so that what is delivered again runs nothing.

        Deliveries that have open jobs, or were changed since they were read, are left: they are
        among those that it is `waiting` for then. One that is gone is passed over. None, and
        nothing has changed: the erasure does not stand at `step.before`.
        """

    async def blank(self, texts: Sequence[str], after: str = "") -> str | None:
        """
        One bounded step of replacing these texts where they stand in reasons and in what operators
        asked; returns where the next one goes on, None: that was all.
        """

    async def empty_journal(self, name: str) -> bool:
        """
        Have the journal emptied, if the store has one of its own; whether it was since this was
        first asked by this name. As long as some other program reads the store it is not.
        """

    async def vacuum_room(self) -> VacuumRoom:
        """What `vacuum` takes. Raises UsageError: it is not for a router to do."""

    async def vacuum(self) -> None:
        """
        Write all of the store's file anew: then nothing of what was removed is in unused parts of
        it, once the journal is emptied. Every write waits meanwhile. Raises StoreUnavailable,
        UsageError: nothing was changed.
        """

    async def redact(self, step: RedactionStep, *, now: int) -> int:
        """
        Write a step of redacting in one transaction; returns how many deliveries were rewritten.
        One of which a job is open, or that has more jobs or attempts than when it was read, is left
        as it is and looked at again. The rows' old bytes are overwritten.
        """

    async def note(self, audit: Audit) -> None:
        """Add a line to the audit, for a change that is none of the ledger."""


class Store(DispatchStore, OperatorStore, NodeStore, Protocol):
    """
    The whole, for whoever opens and closes it.

    `failure` is set, with the reason, when the store will never write again; serving then ends.
    `fingerprint_key` is random, and the same for all nodes; empty where there is only one.
    """

    failure: asyncio.Future[str]
    fingerprint_key: bytes

    @property
    def reads(self) -> StoreReads:
        """Its reading half: what has been committed."""

    async def ready(self) -> None:
        """Prove that a write can commit now, else raise StoreUnavailable."""

    def journal_bytes(self) -> int:
        """How long the journal is."""

    async def close(self) -> None:
        """Finish queued writes, checkpoint, release the lock."""
