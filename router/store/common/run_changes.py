"""What happens to runs, whoever keeps them: chains followed, turns given."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from router.model.job import Group, NewJob, Turn
from router.store.common import chains
from router.store.common.chains import Member
from router.store.common.states import TURN_HALTED, TURN_HAS, TURN_WAITS

ON_BUSY: Final = {"queue": 0, "latest": 1, "drop": 2}
ON_DEAD: Final = {"continue": 0, "halt": 1}
UNLIMITED: Final = 2**31

RunId: TypeAlias = Any
"""What a store knows a run by."""
Key: TypeAlias = Any
"""A group: its turn's key, or what the store makes of that."""
JobIds: TypeAlias = Any
"""Some jobs, as a store names them."""


class NewRun(msgspec.Struct, frozen=True):
    """
    A run to add: its jobs and what its store writes of each. `origin` is the run it replays;
    `takes_over` the halted one whose turn it inherits.
    """

    jobs: Sequence[NewJob]
    rows: Sequence[Any]
    turn: Turn | None
    origin: RunId = None
    takes_over: RunId = None

    def members(self) -> list[Member]:
        """Its jobs as they are added: those of a group wait for its turn."""
        actions = {job.action for job in self.jobs}
        turn = 0 if self.turn is None else chains.TURN
        return [_member(job, turn | _waits(job, actions)) for job in self.jobs]


def _waits(job: NewJob, actions: set[str]) -> int:
    needed = any(need.action in actions for need in job.after)
    paused = chains.PAUSED if job.state == "waiting" else 0
    return paused | chains.PREDECESSORS if needed else paused


def _member(job: NewJob, waits: int) -> Member:
    state = "waiting" if waits else job.state
    begun = 1 if job.state == "running" else 0
    return Member(job.action, state, job.due_at, job.target, waits, job.after, begun)


class Run:
    """
    A run as stored, with its jobs by what their store knows them by. Without a `key` it is in no
    group; `turn` says where it stands there.
    """

    def __init__(
        self,
        id_: RunId,
        key: Key | None,
        turn: int | None,
        on_busy: int | None,
        on_dead: int | None,
        members: Mapping[Any, Member],
    ) -> None:
        self.id, self.key, self.turn = id_, key, turn
        self.latest, self.halts = on_busy == ON_BUSY["latest"], bool(on_dead)
        self.numbers, self.members = list(members), list(members.values())
        self._written = [msgspec.structs.astuple(member) for member in self.members]

    def changed(self) -> list[tuple[Any, Member]]:
        """The members that are not as they were when this was last asked."""
        before = self._written
        self._written = [msgspec.structs.astuple(member) for member in self.members]
        both = zip(self.numbers, self.members, before, self._written, strict=True)
        return [(n, member) for n, member, old, new in both if old != new]


class RunRows(Protocol):
    """
    The runs that a store keeps, within one transaction. Runs of a key are in the order in which
    they came.
    """

    async def insert(self, new: NewRun) -> RunId:
        """Add a run and its jobs; in its group it waits."""

    async def load(self, run: RunId) -> Run | None:
        """A run with its jobs, in their order; None: it is there no more."""

    async def write(self, changed: Sequence[tuple[Any, Member]]) -> None:
        """Write down jobs that changed."""

    async def set_turn(self, run: Run, turn: int | None) -> None:
        """Write down where a run stands in its group."""

    async def held(self, key: Key) -> int:
        """How many runs of a key have their turn, or keep it for a dead job."""

    async def next(self, key: Key) -> RunId | None:
        """The run of a key that waits longest, if a turn is free for it."""

    async def standing(self, key: Key, turn: int) -> Sequence[RunId]:
        """Every run of a key that stands there."""

    async def is_awaited(self, run: Run) -> bool:
        """Whether a newer run of its key waits."""

    async def of_jobs(self, jobs: JobIds) -> Sequence[RunId]:
        """The runs of these jobs, each once, the oldest first."""

    async def regroup(self, groups: Mapping[str, Group]) -> tuple[int, Iterable[Key]]:
        """
        Write these groups, by rule, to its runs that have or await a turn and another group; how
        many those were, and the keys of the rules concerned. A run that no longer halts its group
        leaves it.
        """

    async def forget(self, which: str, values: Any) -> Iterable[Key]:
        """Remove the runs that a condition selects; the keys of those that halted their group."""


class RunChanges:
    """
    What happens to runs at the ledger time `now`, within the open transaction, and what comes of
    it for others: `freed` are targets and due times of jobs that may start now; `cancelled` the
    reasons of jobs that never will.
    """

    def __init__(self, rows: RunRows, now: int) -> None:
        self.rows, self._now = rows, now
        self.freed: list[tuple[str, int]] = []
        self.cancelled: list[str] = []

    def outcome(self) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
        """What was freed and cancelled since this was last asked, in order."""
        freed, cancelled = tuple(sorted(self.freed)), tuple(sorted(self.cancelled))
        self.freed, self.cancelled = [], []
        return freed, cancelled

    async def add(self, new: NewRun) -> None:
        """Add a run, and decide whether it has its turn."""
        run = await self.rows.insert(new)
        if new.turn is not None:
            await self._enter(run, new.turn, new.takes_over)

    async def _enter(self, run: RunId, turn: Turn, takes_over: RunId) -> None:
        """A new run meets those of its key that are there: the table of concurrency groups."""
        rows, group = self.rows, turn.group
        if takes_over is not None:
            if (halted := await self.rows.load(takes_over)) is not None:
                await rows.set_turn(halted, None)
            await self._give_turn(run)
        elif group.on_busy == "drop" and await rows.held(turn.key) >= group.limit:
            await self._cancel_rest(await self.rows.load(run), chains.BUSY)
        elif group.on_busy == "latest":
            await self._only_newest(run, turn)
        await self.advance(turn.key)

    async def _only_newest(self, run: RunId, turn: Turn) -> None:
        """Older runs of the key that wait are superseded, and those that hold a turn and yield."""
        rows = self.rows
        for older in await rows.standing(turn.key, TURN_WAITS):
            if older != run:
                await self._cancel_rest(await self.rows.load(older), chains.SUPERSEDED)
        for id_ in await rows.standing(turn.key, TURN_HAS):
            if await rows.held(turn.key) < turn.group.limit:
                return
            if (holder := await self.rows.load(id_)) is not None and chains.yields(holder.members):
                await self._cancel_rest(holder, chains.SUPERSEDED)

    async def _cancel_rest(self, run: Run | None, reason: str) -> None:
        """Cancel what is left of a run; it has no turn any more."""
        if run is not None:
            chains.cancel_rest(run.members, reason)
            await self._write(run)
            await self.rows.set_turn(run, None)

    async def follow(self, id_: RunId) -> None:
        """A job of this run has ended or is between its attempts: see what that means."""
        if (run := await self.rows.load(id_)) is None:
            return
        chains.follow(run.members, self._now)
        await self._write(run)
        if run.turn is None or run.key is None:
            return
        if chains.ended(run.members):
            dead = any(member.state == "dead" for member in run.members)
            halts = run.halts and run.turn != TURN_WAITS and dead
            await self.rows.set_turn(run, TURN_HALTED if halts else None)
            if halts:
                return
        elif run.latest and run.turn == TURN_HAS and await self._is_superseded(run):
            await self._cancel_rest(run, chains.SUPERSEDED)
        else:
            return
        await self.advance(run.key)

    async def _is_superseded(self, run: Run) -> bool:
        return chains.yields(run.members) and await self.rows.is_awaited(run)

    async def follow_jobs(self, jobs: JobIds) -> None:
        """These jobs were changed by a verb: see to their runs."""
        for id_ in await self.rows.of_jobs(jobs):
            await self.follow(id_)

    async def reopen(self, jobs: JobIds) -> None:
        """These jobs were dead and are not: their runs go on."""
        for id_ in await self.rows.of_jobs(jobs):
            if (run := await self.rows.load(id_)) is None:
                continue
            chains.wait_again(run.members)
            queues = run.key is not None and run.turn in (None, TURN_WAITS)
            if queues:  # it gave its turn back, so it queues for another
                for member in run.members:
                    if not member.ended and member.state != "running":
                        member.hold(chains.TURN)
            await self._write(run)
            if run.key is not None:
                await self.rows.set_turn(run, TURN_WAITS if queues else TURN_HAS)
                await self.advance(run.key)
            await self.follow(id_)

    async def _write(self, run: Run) -> None:
        """Write down the members that changed, and note what that means for others."""
        if not (changed := run.changed()):
            return
        for _, member in changed:
            if member.state == "cancelled":
                self.cancelled.append((member.reason or "").partition(":")[0])
            elif member.state in ("available", "retryable"):
                self.freed.append((member.target, member.due_at))
        await self.rows.write(changed)

    async def advance(self, key: Key) -> None:
        """Give the turns of a key that are free to the runs that wait longest."""
        while (following := await self.rows.next(key)) is not None:
            await self._give_turn(following)

    async def _give_turn(self, id_: RunId) -> None:
        if (run := await self.rows.load(id_)) is None:
            return
        for member in run.members:
            if member.waits & chains.TURN:
                member.free(chains.TURN, self._now)
        await self._write(run)
        await self.rows.set_turn(run, TURN_HAS)

    async def regroup(self, groups: Mapping[str, Group | None]) -> int:
        """Apply today's groups to the runs that have or await a turn."""
        none = Group(UNLIMITED, "queue", "continue")
        today = {rule: group or none for rule, group in groups.items()}
        changed, keys = await self.rows.regroup(today)
        for key in keys:
            await self.advance(key)
        return changed

    async def forget(self, which: str, values: Any) -> None:
        """The jobs of the runs that this condition selects are about to be removed, so they are."""
        for key in await self.rows.forget(which, values):
            await self.advance(key)


def to_turn(key: str, value: str, at_once: int, on_busy: int, on_dead: int) -> Turn:
    """A run's turn from its columns."""
    busy = next(word for word, number in ON_BUSY.items() if number == on_busy)
    dead = next(word for word, number in ON_DEAD.items() if number == on_dead)
    return Turn(key, value, Group(at_once, busy, dead))  # type: ignore[arg-type]  # words of a Literal


def group_columns(group: Group) -> tuple[int, int, int]:
    """A group in its columns: at_once, on_busy, on_dead."""
    return group.limit, ON_BUSY[group.on_busy], ON_DEAD[group.on_dead]
