"""What dispatch has its observer know, beside `model.target.TargetChange`."""

from router.model.job import Job, Settlement
from router.model.observed import Observed
from router.store.values import Acceptance


class AttemptEnded(Observed, frozen=True):
    """An attempt is over, and that is written; with it `own`, the router's own event of it."""

    job: Job
    settlement: Settlement
    own: Acceptance | None


class LeaseLost(Observed, frozen=True):
    """An attempt is over whose lease another one has by now: nothing was written."""

    job: Job


class JobsCancelled(Observed, frozen=True):
    """A job's end cancelled others, for these reasons."""

    job: Job
    reasons: tuple[str, ...]


class Defect(Observed, frozen=True):
    """An action or the rendering of a call raised what it should not: a defect of ours."""

    job: Job
    error: Exception


class StoreFailed(Observed, frozen=True):
    """A call to the store failed."""

    verb: str
    error: Exception
