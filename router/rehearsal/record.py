"""What came of a trial."""

from typing import Any, Literal

import msgspec

from router.dispatch.live import Quiet
from router.kinds.kind import ActionCall
from router.log import Log
from router.metrics import Metrics
from router.model.delivery import Delivery
from router.model.job import Job, Settlement
from router.model.trial import ActionKey

End = Literal["success", "retry", "dead"]
_ENDS: dict[str, End] = {"succeeded": "success", "retryable": "retry", "dead": "dead"}


class TrialRecord(msgspec.Struct):
    """
    Statuses in the order of sending, and the reasons behind those that are no 2xx; the rules
    that matched, and those of them that are only shadows; each action's calls, attempt by
    attempt, and how its attempts ended; why jobs are dead or cancelled.
    """

    statuses: list[int] = []
    refusals: list[str] = []
    hits: dict[str, None] = {}
    errors: dict[str, None] = {}
    matched: list[str] = []
    shadow: list[str] = []
    calls: dict[ActionKey, list[ActionCall]] = {}
    ends: dict[ActionKey, set[End]] = {}
    dead: dict[ActionKey, str] = {}
    cancelled: dict[ActionKey, str] = {}
    deliveries: list[Delivery] = []
    defect: Exception | None = None


class AttemptRecorder(Quiet):
    """Records how attempts ended."""

    def __init__(self, seen: TrialRecord) -> None:
        self._seen = seen

    def settled(self, job: Job, settlement: Settlement, held: bool) -> None:
        """An attempt ended."""
        end = _ENDS.get(settlement.state)
        if held and end is not None:
            self._seen.ends.setdefault((job.rule, job.action), set()).add(end)

    def leaked(self, job: Job, error: Exception) -> None:
        """A defect of ours, which no test may pass over."""
        del job
        self._seen.defect = error

    def store_failed(self, verb: str, error: Exception) -> None:
        """Likewise: this store has no disk that could fail."""
        del verb
        self._seen.defect = error


class Hearing(Metrics):
    """Records which rules matched; counts nothing."""

    def __init__(self, seen: TrialRecord) -> None:  # no registry: nobody reads figures of a trial
        self._seen = seen

    def delivered(self, endpoint: str, result: str) -> None:
        """Nothing."""

    def refused(self, endpoint: str | None, reason: str) -> None:
        """Why a request was turned away."""
        del endpoint
        self._seen.refusals.append(reason)

    def acked(self, provider: str, seconds: float, within: float | None = None) -> None:
        """Nothing."""

    def routed(self, seconds: float) -> None:
        """Nothing."""

    def version_differed(self, endpoint: str) -> None:
        """Nothing."""

    def cancelled(self, reason: str) -> None:
        """Nothing."""

    def ungrouped(self, rule: str) -> None:
        """Nothing."""

    def secret_used(self, secret: str, at: int | None = None) -> None:
        """Nothing."""

    def rule_matched(self, rule: str, at: int) -> None:  # noqa: ARG002 - nothing is dated here
        """A rule matched, whatever its mode."""
        self._seen.hits[rule] = None

    def rule_shadowed(self, rule: str) -> None:
        """Nothing."""

    def rules_asked(self, pieces: object) -> None:
        """Nothing."""

    def rule_erred(self, rule: str) -> None:
        """A rule could not be evaluated."""
        self._seen.errors[rule] = None


class NoLog(Log):
    """Writes no line."""

    __slots__ = ()

    def at(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Nothing."""
