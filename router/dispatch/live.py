"""What dispatch is given: what the live ruleset says of jobs and targets, and its own bounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from router.dispatch.protocol import Render
from router.dispatch.slots import MOST, TOTALS, Limits
from router.model.job import ActionKind, Job
from router.model.retry import RetryPolicy
from router.store.values import Died, untold

SWEEP_S, SHARED_SWEEP_S = 5.0, 1.0
"""How often the store is asked what is due; where other nodes make work and pause targets too."""


class OtherRules(Protocol):
    """The rules of other nodes of a shared store, as far as jobs want them here."""

    def knows(self, job: Job) -> bool:
        """Whether the job may begin here: its action is at hand."""

    async def fetch(self, jobs: Sequence[Job]) -> None:
        """Have the actions of these jobs at hand, if it can be; never raises."""

    async def fetch_running(self) -> None:
        """The same of all jobs that run anywhere. Raises StoreUnavailable."""


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """
    The live ruleset as dispatch sees it; each is called again for every attempt.

    `generation_of` names the ruleset whose action runs a job. `kind_of` tells a target's kind
    before its first job is seen (None: unknown, one job is leased to find out). `reads` are the
    actions whose results a job's action wants; called for jobs that come after others.
    `targets` are all that the rules name or call, and share with other nodes.
    `dead_if_interrupted` holds the (rule, action) pairs with `on_interrupt: dead`. `died` makes the
    router's own event of a job that is about to be dead. `others`: jobs may be of rules that this
    node does not have; one that it cannot come to know is left to others.
    """

    render: Render
    retry_of: Callable[[Job], RetryPolicy]
    limits: Limits
    generation_of: Callable[[Job], str] = lambda job: job.generation
    kind_of: Callable[[str], ActionKind | None] = lambda _target: None
    targets: Callable[[], frozenset[str]] = frozenset
    dead_if_interrupted: Callable[[], frozenset[tuple[str, str]]] = frozenset
    reads: Callable[[Job], frozenset[str]] = lambda _job: frozenset()
    died: Died = untold
    others: OtherRules | None = None


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """
    Bounds and times in seconds. `hand_over` jobs wait in memory at most; above `body_bytes` of
    large bodies held by running jobs no more begin; leasing stops above `unsettled` results that
    the store has not taken; a result is offered for `patience_s`. That of one whose action never
    waits is written with the next deliveries, or `settle_within_s` later.
    `guard_s` past its own time limit an action is taken for defective and cancelled.
    `dry` says that the actions given only describe what they would do, `held` that no job runs
    until `end_hold`, `shared` that other nodes run jobs of the same store: of targets' limits only
    this node's shares hold then.
    """

    totals: Mapping[ActionKind, int] = field(default_factory=lambda: TOTALS)
    hand_over: int = 512
    body_bytes: int = MOST
    unsettled: int = 1024
    sweep_s: float = SWEEP_S
    patience_s: float = 600.0
    settle_within_s: float = 0.002
    guard_s: float = 10.0
    dry: bool = False
    held: bool = False
    shared: bool = False
