"""States and outcomes as the stores write them: by number."""

from router.model.delivery import DeliveryState
from router.model.job import AttemptOutcome, JobState

STATES: tuple[JobState, ...] = (
    "available",
    "retryable",
    "waiting",
    "running",
    "dead",
    "succeeded",
    "cancelled",
)
AVAILABLE, RETRYABLE, WAITING, RUNNING, DEAD, SUCCEEDED, CANCELLED = range(7)
STATE = {name: number for number, name in enumerate(STATES)}

OUTCOMES: tuple[AttemptOutcome, ...] = (
    "succeeded",
    "failed",
    "dead",
    "interrupted",
    "dry",
    "skipped",
)
OUTCOME = {name: number for number, name in enumerate(OUTCOMES)}

DELIVERY_STATES: tuple[DeliveryState, ...] = ("routed", "unmatched", "unparsed", "too_complex")
DELIVERY_STATE: dict[str, int] = {name: number for number, name in enumerate(DELIVERY_STATES)}

TURN_WAITS, TURN_HAS, TURN_HALTED = range(3)
"""Where a run stands in its group; NULL: it has left it, or has none."""
