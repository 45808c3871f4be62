"""Leased jobs that have no slot yet, and how many more to lease so that a free slot finds one."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from router.clock import Clock
from router.dispatch.slots import Slots
from router.model.job import ActionKind, Job, Work
from router.store.values import MAX_DEATHS

FEW = 16
"""
Kinds of more slots are never leased ahead: others of theirs run while a commit is waited for.
"""
SHORT_S = 0.025
"""How long a target's last run took at most, for its next jobs to be leased ahead."""
KEEP_S = 1.0
"""How long a job that was leased ahead waits for its slot before it is given back."""
REST_S = 10.0
"""How long nothing is leased ahead for a target once something was given back."""


class _Kept(NamedTuple):
    """A job that was leased ahead, and until when it is kept."""

    work: Work
    until: float


class InHand:
    """
    Jobs that are leased before a slot is held for them.

    Some are of a kind that nobody expected of their target: they wait for a slot of that. Others
    were leased ahead, at most two for each slot that their target holds: between two short runs no
    commit is waited for. They are given back when their slot does not come at once, when the
    target is to `pass_on` what it frees, or when the rules say that they may not wait (`may_wait`).
    When one begins, the store is told (`said`) in a way that a power cut may undo. Whom that would
    harm is given back at once: one that must not begin twice, or whose next death is its last.
    """

    def __init__(
        self,
        slots: Slots,
        clock: Clock,
        totals: Mapping[ActionKind, int],
        *,
        said: Callable[[Job], bool],
        begin: Callable[[Work], None],
        give_back: Callable[[Job], None],
        pass_on: Callable[[str, ActionKind], bool],
        may_wait: Callable[[Job], bool],
    ) -> None:
        self._slots, self._clock = slots, clock
        self._said, self._begin, self._give_back = said, begin, give_back
        self._pass_on, self._may_wait = pass_on, may_wait
        self._few = frozenset(kind for kind, total in totals.items() if total <= FEW)
        self._parked: dict[ActionKind, deque[Work]] = {kind: deque() for kind in totals}
        self._ahead: dict[str, deque[_Kept]] = {}
        self._began: dict[tuple[str, int], float] = {}
        self._short: set[str] = set()
        self._rests: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    # -- of a kind that was not expected --------------------------------------------------------

    def park(self, work: Work) -> None:
        """It begins when a slot of its kind is free."""
        if not self._begun(work):
            self._parked[work.job.kind].append(work)

    def unpark(self, kind: ActionKind) -> None:
        """Begin parked jobs as far as there is room, each looked at once."""
        parked = self._parked[kind]
        for _ in range(len(parked)):
            if not parked:  # an action that never waits has landed, and so unparked the rest
                return
            work = parked.popleft()
            if not self._begun(work):
                parked.append(work)

    def unpark_all(self) -> None:
        """The same, of each kind."""
        for kind in self._parked:
            self.unpark(kind)

    # -- leased ahead ---------------------------------------------------------------------------

    def more(self, target: str, kind: ActionKind, room: int) -> int:
        """
        How many of a target's jobs to lease ahead when `room` more of them begin: none until half
        of them are wanted, so that a lease is worth its while.
        """
        if target not in self._short or self._slots.rated(target, kind) or self._slots.bodies.held:
            return 0
        held = self._slots.held_by(target, kind) + room
        wanted = 2 * held - len(self._ahead.get(target, ()))
        return wanted if wanted >= held else 0

    def keep(self, work: Work) -> None:
        """A job was leased ahead; one that must not wait is given back."""
        job = work.job
        if job.deaths + 1 >= MAX_DEATHS or not self._may_wait(job):
            self._rest(job.target)
            self._give_back(job)
            return
        if self._begun(work):
            return
        until = self._clock.monotonic() + KEEP_S
        self._ahead.setdefault(job.target, deque()).append(_Kept(work, until))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_S, self._expire)

    def begins(self, work: Work) -> Work | None:
        """A job's action begins now; None: it must not, as the store cannot be told."""
        job = work.job
        if job.started_at is None:
            job = replace(job, started_at=self._clock.now())
            if not self._said(job):
                return None
            work = replace(work, job=job)
        if job.kind in self._few:
            self._began[job.id, job.attempt] = self._clock.monotonic()
        return work

    def landed(self, job: Job) -> None:
        """It runs no more; how long it ran says whether its target's next ones may wait for it."""
        began = self._began.pop((job.id, job.attempt), None)
        if began is None:
            return
        now, target = self._clock.monotonic(), job.target
        if now < self._rests.get(target, now):
            return
        self._rests.pop(target, None)
        if now - began <= SHORT_S and self._may_wait(job):
            self._short.add(target)
        else:
            self._short.discard(target)

    def begin_next(self, target: str, kind: ActionKind) -> bool:
        """A slot of a target came free: begin the job that was leased ahead for it, if any."""
        ahead = self._ahead.get(target)
        if ahead is None:
            return False
        if self._pass_on(target, kind) or not self._may_wait(ahead[0].work.job):
            self.give_back_of(target)
            return False
        if not self._slots.room(target, kind):
            return False
        work = ahead.popleft().work  # before it begins: it may land at once
        if not ahead:
            del self._ahead[target]
        return self._begun(work)

    # -- both -----------------------------------------------------------------------------------

    def ruleset_changed(self) -> None:
        """Give back at once who may not wait any more; which runs are short is learned anew."""
        self._short.clear()
        for target, ahead in tuple(self._ahead.items()):
            if not all(self._may_wait(kept.work.job) for kept in ahead):
                self.give_back_of(target)
        for parked in self._parked.values():
            for _ in range(len(parked)):
                work = parked.popleft()
                if self._may_wait(work.job):
                    parked.append(work)
                else:
                    self._give_back(work.job)

    def give_back_of(self, target: str) -> None:
        """Jobs that were leased ahead for this target are available again."""
        for kept in self._ahead.pop(target, ()):
            self._rest(target)
            self._give_back(kept.work.job)

    def give_back_all(self) -> None:
        """Nothing more is begun: each of these jobs is available again."""
        for parked in self._parked.values():
            while parked:
                self._give_back(parked.popleft().job)
        for target in tuple(self._ahead):
            self.give_back_of(target)

    def _begun(self, work: Work) -> bool:
        job = work.job
        if not self._slots.room(job.target, job.kind):
            return False
        self._slots.take(job.target, job.kind)
        self._begin(work)
        return True

    def _rest(self, target: str) -> None:
        self._short.discard(target)
        self._rests[target] = self._clock.monotonic() + REST_S

    def _expire(self) -> None:
        """Give back what has been kept for too long, and look again when the next one may be."""
        now, self._timer = self._clock.monotonic(), None
        for target, ahead in tuple(self._ahead.items()):
            if ahead[0].until <= now:
                self.give_back_of(target)
        if self._ahead:
            wait = min(ahead[0].until for ahead in self._ahead.values()) - now
            self._timer = asyncio.get_running_loop().call_later(wait, self._expire)
