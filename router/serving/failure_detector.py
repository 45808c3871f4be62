"""Which nodes are gone, judged by their beats. No I/O, no clock."""

import math
from collections.abc import Sequence

from router.store.values import NodeSeen

GONE_S = 15.0
"""How long a node's beats stand still before it is taken for gone."""
CLOSED_S = 3.0
"""The same of a node whose connection is known to be closed."""
GAP_S = 5.0
"""Between two answers of the store; after more the observation begins anew."""


class FailureDetector:
    """
    Observes the beats of all other nodes. Only time in which the store answers this node counts:
    who cannot reach the store cannot tell who else does. Times are seconds of monotonic time.

    The end of an outage finds every connection closed. That a connection is closed means nothing
    then, until those that live have had the time to open it again.
    """

    def __init__(self) -> None:
        self.next_look = math.inf  # when one whose connection is closed may be gone, at the soonest
        self._still: dict[str, tuple[int, float]] = {}
        self._answered: float | None = None
        self._closed_counts_from = -math.inf

    def gone(
        self, others: Sequence[NodeSeen], *, now: int, asked: float, answered: float
    ) -> tuple[NodeSeen, ...]:
        """Those that are gone, of all that the store named when it was asked; `now` is its time."""
        if self._answered is not None and asked - self._answered > GAP_S:
            self.interrupted(asked)
        since = {one.number: (one.beats, self._since(one, now, answered)) for one in others}
        self._answered, self._still = answered, since
        gone = tuple(one for one in others if self._is_gone(one, asked))
        closed = [one for one in others if one not in gone and self._counts_as_closed(one, asked)]
        soonest = [self._still[one.number][1] + CLOSED_S for one in closed]
        self.next_look = min(soonest, default=math.inf)
        return gone

    def interrupted(self, now: float) -> None:
        """The store did not answer: what was observed before does not count any more."""
        self._still.clear()
        self.next_look = math.inf
        self._closed_counts_from = now + GONE_S

    def _since(self, one: NodeSeen, now: int, answered: float) -> float:
        """
        From when it has stood still for sure: from this answer, or, if it beat since the last one,
        from that beat, of which the store knows the time.
        """
        beats, since = self._still.get(one.number, (None, answered))
        if beats == one.beats:
            return since
        if beats is None or self._answered is None:
            return answered
        return max(self._answered, min(answered, answered - (now - one.last_beat_at) / 1000))

    def _is_gone(self, one: NodeSeen, asked: float) -> bool:
        closed = self._counts_as_closed(one, asked)
        return asked - self._still[one.number][1] >= (CLOSED_S if closed else GONE_S)

    def _counts_as_closed(self, one: NodeSeen, asked: float) -> bool:
        return one.closed and asked >= self._closed_counts_from
