"""Which targets may start how many jobs now, and so from which to lease."""

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from router.dispatch.breakers import Breakers
from router.dispatch.due import DueTimes
from router.dispatch.slots import Slots
from router.kinds import KINDS
from router.model.job import ActionKind

LOOK = 512
"""Ready targets looked at in one round: more than can be held back by slots of their own."""
PROBES = 16
"""Targets of unknown kind leased from in one round, one job each."""


class Share(NamedTuple):
    """Of a target, of this kind if that is known: how many jobs to lease for held slots."""

    kind: ActionKind | None
    room: int


Wanted = dict[str, Share]
"""What to lease, by target."""


class LeasePlan:
    """
    Targets with work that is due, those of each kind in turn.

    `due` has the due time of each; `owed` are targets whose due jobs wait for their rate.
    Of targets whose share this node has not, due jobs are known until another node has run them.
    """

    def __init__(
        self,
        slots: Slots,
        breakers: Breakers,
        kinds: Iterable[ActionKind],
        kind_of: Callable[[str], ActionKind | None],
    ) -> None:
        self._slots, self._breakers, self._kind_of = slots, breakers, kind_of
        self.due = DueTimes()
        self._kinds: dict[str, ActionKind] = {}
        self._ready: dict[ActionKind, dict[str, None]] = {kind: {} for kind in kinds}
        self._unknown: dict[str, None] = {}
        self._asked: Counter[str] = Counter()  # leases under way
        self.owed: set[str] = set()
        self._unshared: dict[str, int] = {}  # no share of these, and after which look it was seen
        self._looks = 0

    def learn(self, target: str, kind: ActionKind) -> None:
        """A job of this kind was seen there."""
        self._kinds[target] = kind

    def kind_of(self, target: str) -> ActionKind | None:
        """The kind of a target's jobs, if it is known."""
        return self._kinds.get(target) or self._kind_of(target)

    def freed(self, target: str, kind: ActionKind) -> bool:
        """
        A slot of a target came free; True: it may be leased for. While a lease of the same target
        is under way nobody knows what that leaves: more is taken to be due.
        """
        if target in self._asked:
            self._ready[kind][target] = None
        return bool(self._ready[kind])

    def answered(self, target: str) -> None:
        """A lease of this target is under way no more."""
        self._asked[target] -= 1
        if not self._asked[target]:
            del self._asked[target]

    # -- shares ----------------------------------------------------------------------------------

    def waiting(self) -> Iterator[str]:
        """Targets with due jobs that could not start, and limits to share."""
        yield from self._unshared
        yield from self._unknown
        yield from self.owed
        for kind, ready in self._ready.items():
            if not KINDS[kind].local:
                yield from ready

    def share_came(self, now: int) -> None:
        """Whose share is there now may start."""
        for target in [t for t in self._unshared if not self._slots.withheld(t, None)]:
            del self._unshared[target]
            self.due.put(target, now)

    def look(self) -> int:
        """The store is about to be asked which targets have due jobs; the number of this look."""
        self._looks += 1
        return self._looks

    def looked(self, number: int, found: Container[str]) -> None:
        """What it had `found` is all that waited before that look."""
        gone = [t for t, seen in self._unshared.items() if seen < number and t not in found]
        for target in gone:
            del self._unshared[target]

    # -- leasing ---------------------------------------------------------------------------------

    def take(self, now: int) -> Wanted:
        """What to lease now; the slots are held from here on."""
        for target in self.due.take(now):
            kind = self.kind_of(target)
            if self._slots.withheld(target, kind):
                self._unshared[target] = self._looks
            else:
                (self._unknown if kind is None else self._ready[kind])[target] = None
        wanted: Wanted = {}
        for kind in self._ready:
            self._take_of(kind, now, wanted)
        for target in tuple(islice(self._unknown, PROBES)):
            del self._unknown[target]
            wanted[target] = Share(None, 1)
        self._asked.update(wanted.keys())
        return wanted

    def _take_of(self, kind: ActionKind, now: int, wanted: Wanted) -> None:
        ready, slots = self._ready[kind], self._slots
        if not ready:
            return
        share = max(1, slots.left(kind) // len(ready))
        for target in tuple(islice(ready, LOOK)):
            if slots.left(kind) <= 0:
                return
            if target in wanted:  # for another kind, which its oldest job may be of
                continue
            if target in self._breakers.unhealthy and not self._passes(target, now):
                del ready[target]
                continue
            room = min(share, slots.room(target, kind))
            wait = 0.0 if room else slots.rate_wait(target, kind)
            if room:
                slots.take(target, kind, room)
                wanted[target] = Share(kind, room)
            elif wait > 0:
                self.owed.add(target)
                self.due.put(target, now + math.ceil(wait * 1000))
            elif slots.withheld(target, kind):
                self._unshared[target] = self._looks
            else:
                continue
            del ready[target]

    def _passes(self, target: str, now: int) -> bool:
        """Whether an unhealthy target may be called at all; if not, when to look again is noted."""
        breaker = self._breakers.tick(target, now)
        if breaker is None or not breaker.blocked:
            return True
        if breaker.state == "failing":
            self.due.put(target, breaker.next_probe)
        return False
