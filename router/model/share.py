"""
Shares of targets' limits, where several nodes run jobs of the same targets.

Each node goes by what it was `given`, and says so by the version of that. Until it has, and until
no more runs there than it was given, what it had before counts: `held`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec


class TargetShare(msgspec.Struct, frozen=True, array_like=True):
    """Of a target's limits: jobs at once, and starts a second (None: no rate is set)."""

    concurrency: int = 0
    rate: float | None = 0.0

    @property
    def most(self) -> float:
        """Starts a second, infinite without a rate."""
        return math.inf if self.rate is None else self.rate


NO_SHARE = TargetShare()

Given: TypeAlias = Mapping[str, TargetShare]
"""Shares by target; of one that is not named there is none."""


def greater(one: TargetShare, other: TargetShare) -> TargetShare:
    """What whoever may go by either of them may use."""
    return TargetShare(
        max(one.concurrency, other.concurrency),
        one.rate if one.most >= other.most else other.rate,
    )


class TargetUse(msgspec.Struct, frozen=True, array_like=True):
    """Of a target: jobs that run on a node, and how many it would run now if it might."""

    running: int
    wanted: int


class ShareReport(msgspec.Struct, frozen=True):
    """What a node says with its beat: the version of the shares that it goes by, and its use."""

    version: int = 0
    uses: Mapping[str, TargetUse] = {}


NO_REPORT = ShareReport()


class Shares(msgspec.Struct, frozen=True):
    """What a node was given; each division that changes it makes the next version."""

    version: int = 0
    given: Given = {}


class ShareRow(msgspec.Struct, frozen=True):
    """
    A node as a division sees it. `held` is what it may use until it reports the version that it
    was given last. One that is `gone` counts as long as it holds leases.
    """

    node: str
    shares: Shares = Shares()
    held: Given = {}
    report: ShareReport = ShareReport()
    gone: bool = False

    @property
    def settled(self) -> bool:
        """Whether it goes by what it was given last."""
        return self.report.version == self.shares.version

    def in_use(self) -> Given:
        """What it may still be using of each target."""
        uses = self.report.uses if self.settled else {}
        before = {} if self.settled else self.held
        found = dict(self.shares.given)
        for target, held in before.items():
            found[target] = greater(held, found.get(target, NO_SHARE))
        for target, use in uses.items():
            if use.running:
                running = TargetShare(use.running, 0.0)
                found[target] = greater(running, found.get(target, NO_SHARE))
        return found


Division: TypeAlias = Callable[[Sequence[ShareRow]], Sequence[ShareRow]]
"""
From the rows of all nodes that live or are gone and hold leases, those that change, with their next
version. It is quick, raises nothing, and may be called more than once.
"""
