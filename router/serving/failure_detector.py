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
        self._still: dict[str, tuple[int, float]] = {}
        self._answered: float | None = None
        self._closed_counts_from = -math.inf

    def gone(
        self, others: Sequence[NodeSeen], *, asked: float, answered: float
    ) -> tuple[NodeSeen, ...]:
        """Those that are gone, of all that the store named when it was asked."""
        if self._answered is not None and asked - self._answered > GAP_S:
            self.interrupted(asked)
        self._answered = answered
        self._still = {one.number: (one.beats, self._since(one, answered)) for one in others}
        return tuple(one for one in others if self._is_gone(one, asked))

    def interrupted(self, now: float) -> None:
        """The store did not answer: what was observed before does not count any more."""
        self._still.clear()
        self._closed_counts_from = now + GONE_S

    def _since(self, one: NodeSeen, answered: float) -> float:
        beats, since = self._still.get(one.number, (None, answered))
        return since if beats == one.beats else answered

    def _is_gone(self, one: NodeSeen, asked: float) -> bool:
        closed = one.closed and asked >= self._closed_counts_from
        return asked - self._still[one.number][1] >= (CLOSED_S if closed else GONE_S)
