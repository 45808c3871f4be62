"""Jobs that are handed over in memory: leases reserved for them, their start once committed."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from router.dispatch.leases import Leases
from router.dispatch.settling import EndQueue
from router.dispatch.slots import SMALL, Slots
from router.model.job import ActionKind, Job, Work
from router.model.packed import body_size

PUMP = 64
"""Handed-over jobs started in one turn of the loop."""


class HandOver:
    """
    Intake's verbs. At most `most` jobs are in memory; each holds its slot from its reservation on.
    A handed-over job is to `begin`; one that must not, or not any more, is `put_back`.
    """

    def __init__(
        self,
        *,
        most: int,
        slots: Slots,
        leases: Leases,
        settling: EndQueue,
        may_start: Callable[[str, ActionKind], bool],
        begin: Callable[[Work], None],
        put_back: Callable[[Job], None],
        freed: Callable[[], None],
    ) -> None:
        self._most, self._slots = most, slots
        self._leases, self._settling = leases, settling
        self._may_start, self._begin = may_start, begin
        self._put_back, self._freed = put_back, freed
        self._reserved: dict[str, tuple[str, ActionKind]] = {}
        self._handed: deque[Work] = deque()

    def reserve(self, target: str, kind: ActionKind) -> str | None:
        """
        A lease for a job about to be committed, if it could start at once; None: commit it
        `available` and `wake` its target. Every lease given is handed over or released.
        """
        self._settling.flush()  # so that one commit carries both
        in_memory = len(self._reserved) + len(self._handed) + self._settling.unsettled
        if in_memory >= self._most or not self._may_start(target, kind):
            return None
        self._slots.take(target, kind)
        lease = self._leases.token()
        self._reserved[lease] = (target, kind)
        return lease

    def release(self, lease: str, *, unsure: bool = False) -> None:
        """
        Give a reserved lease back. `unsure`: the commit failed without saying whether it did,
        so a job may hold this lease; it is looked for and made available.
        """
        held = self._reserved.pop(lease, None)
        if held is not None:
            self._slots.give(*held, unused=True)
            self._freed()
        if unsure:
            self._leases.lost.lease(lease)

    def hand_over(self, works: Sequence[Work]) -> None:
        """Start jobs that were just committed under reserved leases, soon but not in this call."""
        idle = not self._handed
        for work in works:
            if self._reserved.pop(work.job.lease or "", None) is None:
                self._leases.lost.job(work.job)  # released before: nobody may run it under this
                continue
            self._handed.append(work)
            if (size := body_size(work.delivery)) > SMALL:
                self._slots.bodies.take(work.job, size)
        if idle and self._handed:
            asyncio.get_running_loop().call_soon(self._pump)

    def give_back_all(self) -> None:
        """What was handed over and has not begun is available again."""
        while self._handed:
            self._put_back(self._handed.popleft().job)

    def _pump(self) -> None:
        """Start some of what was handed over; the rest in the loop's next turn."""
        handed = self._handed
        for _ in range(min(PUMP, len(handed))):
            self._begin(handed.popleft())
        if handed:
            asyncio.get_running_loop().call_soon(self._pump)
