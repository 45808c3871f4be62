"""What came of a trial."""

from typing import Literal

import msgspec

from router.dispatch.observed import AttemptEnded, Defect, StoreFailed
from router.intake.observed import DeliveryStored, RequestRefused
from router.intake.reply import Reply
from router.kinds.kind import ActionCall
from router.model.delivery import Delivery
from router.model.observed import Observed
from router.model.trial import ActionKey
from router.refusals import PROBE
from router.rules.plan import Plan
from router.store.values import Accepted

End = Literal["success", "retry", "dead"]
_ENDS: dict[str, End] = {"succeeded": "success", "retryable": "retry", "dead": "dead"}


class TrialRecord(msgspec.Struct):
    """
    Answers in the order of sending, and the reasons behind those that are no 2xx; the rules
    that matched, and those of them that are only shadows; each action's calls, attempt by
    attempt, when those of each of its jobs began, and how they ended; why jobs are dead or
    cancelled.
    """

    answers: list[Reply] = []
    refusals: list[str] = []
    hits: dict[str, None] = {}
    errors: dict[str, None] = {}
    matched: list[str] = []
    shadow: list[str] = []
    calls: dict[ActionKey, list[ActionCall]] = {}
    begun: dict[ActionKey, dict[str, list[int]]] = {}
    ends: dict[ActionKey, set[End]] = {}
    dead: dict[ActionKey, str] = {}
    cancelled: dict[ActionKey, str] = {}
    deliveries: list[Delivery] = []
    defect: Exception | None = None

    @property
    def statuses(self) -> list[int]:
        """Those of the answers."""
        return [reply.status for reply in self.answers]

    def observe(self, happened: Observed) -> None:
        """What intake and dispatch have their observer know."""
        match happened:
            case RequestRefused():
                self.refusals.append(PROBE if happened.probe else happened.refused.reason)
            case DeliveryStored(receipt=Accepted()):
                self.planned(happened.delivery, happened.plan)
            case AttemptEnded(job, settlement):
                key, attempt = (job.rule, job.action), settlement.attempt
                self.begun.setdefault(key, {}).setdefault(job.id, []).append(attempt.started_at)
                if (end := _ENDS.get(settlement.state)) is not None:
                    self.ends.setdefault(key, set()).add(end)
            case Defect() | StoreFailed():  # ours, which no test may pass over
                self.defect = happened.error

    def planned(self, delivery: Delivery, plan: Plan) -> None:
        """The rules that matched, whatever their mode, and those that could not be evaluated."""
        self.deliveries.append(delivery)
        for found in plan.matches:
            self.hits |= dict.fromkeys(r.id for r in (*found.live, *found.shadow, *found.paused))
            self.errors |= dict.fromkeys(rule for rule, _ in found.errors)
