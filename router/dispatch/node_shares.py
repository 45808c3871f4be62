"""This node's shares of targets' limits: what it goes by, what it says of them, how all divide."""

from collections.abc import Callable, Sequence

from router.clock import Clock
from router.dispatch.division import divided
from router.dispatch.lease_plan import LeasePlan
from router.dispatch.live import DispatchRules
from router.dispatch.slots import Slots
from router.kinds import KINDS
from router.model.job import ActionKind
from router.model.settings import TargetLimits
from router.model.share import ShareReport, ShareRow, Shares, TargetUse

USES_MOST = 500
"""Targets in one report: those that jobs run of, then others."""
LEAST: ActionKind = min(
    (name for name, kind in KINDS.items() if not kind.local),
    key=lambda name: KINDS[name].limits.concurrency,
)
"""A target of unknown kind has the limits of the kind that has the least."""


class NodeShares:
    """
    Where several nodes run jobs of the same targets: `slots` go by what this one was given, and
    whoever waits for a share in the `plan` is looked at again when there is one. While the node
    `starts` nothing it wants nothing.
    """

    def __init__(
        self,
        slots: Slots,
        plan: LeasePlan,
        live: DispatchRules,
        clock: Clock,
        *,
        starts: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        self._slots, self._plan, self._live, self._clock = slots, plan, live, clock
        self._starts, self._changed = starts, changed
        self._version = 0

    def take_over(self, shares: Shares) -> None:
        """Go by these from now on, unless they are older than those it goes by."""
        if shares.version > self._version:
            self._version, self._slots.given = shares.version, shares.given
            self._plan.share_came(self._clock.ledger())
            self._changed()

    def forget(self) -> None:
        """It is another node now, which was given nothing yet."""
        self._version, self._slots.given = 0, {}

    def report(self) -> ShareReport:
        """By what it goes, what runs here, and what would if it might."""
        running = self._slots.held()
        uses = {target: TargetUse(count, count) for target, count in running.items()}
        for target in self._plan.waiting() if self._starts() else ():
            if len(uses) >= USES_MOST and target not in uses:
                continue
            count = running.get(target, 0)
            uses[target] = TargetUse(count, max(count, self._limits(target).concurrency))
        return ShareReport(self._version, uses)

    def divided(self, rows: Sequence[ShareRow]) -> list[ShareRow]:
        """The rows of all nodes that change when the limits of today's rules are divided anew."""
        return divided(rows, self._limits, self._live.targets())

    def _limits(self, target: str) -> TargetLimits:
        return self._live.limits(target, self._live.kind_of(target) or LEAST)
