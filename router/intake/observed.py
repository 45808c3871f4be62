"""What intake has its observer know."""

from router.model.delivery import Delivery, Refused
from router.model.observed import Observed
from router.rules.live import LiveEndpoint
from router.rules.plan import Plan
from router.store.values import Acceptance, Accepted, Duplicate


class DeliveryRouted(Observed, frozen=True):
    """A delivery was read and matched in so many seconds; only every so often that is measured."""

    seconds: float
    delivery: Delivery
    plan: Plan


class DeliveryStored(Observed, frozen=True):
    """
    A delivery is stored, or was known, and its jobs are on their way. `secret` is the name of the
    one that proved it; `seconds` have passed since its group began to be judged.
    """

    endpoint: LiveEndpoint
    accepted: Acceptance
    plan: Plan
    receipt: Accepted | Duplicate
    secret: str | None
    seconds: float

    @property
    def delivery(self) -> Delivery:
        """As it was to be stored."""
        return self.accepted.delivery


class HandshakeAnswered(Observed, frozen=True):
    """
    A sender's handshake was answered; it is stored and routed nowhere. `visit` is the address that
    a proved one wants fetched.
    """

    endpoint: str
    peer: str
    visit: str | None = None


class RequestRefused(Observed, frozen=True):
    """
    A request was refused. `endpoint` None: there is none at its address. `judged`: it was whole
    and an endpoint's. `probe`: it was one of `router doctor`'s own.
    """

    endpoint: str | None
    refused: Refused
    peer: str
    judged: bool
    probe: bool


class VersionDiffered(Observed, frozen=True):
    """A delivery was made by another API version than its endpoint expects."""

    endpoint: str
    version: str
    expected: str


class CommitFailed(Observed, frozen=True):
    """A delivery could not be stored, and was answered so."""

    endpoint: str
    error: Exception
    delivery: Delivery


class IntakeDefect(Observed, frozen=True):
    """A request was answered 503 for a defect of ours, or for want of memory."""

    endpoint: str
    error: Exception


class ReviveFailed(Observed, frozen=True):
    """The dead jobs of a delivery that came again could not be revived."""

    delivery: str
    error: Exception
