"""What goes from the ledger to an action."""

import msgspec

from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import Job


class Work(msgspec.Struct, frozen=True):
    """
    A leased job on its way to its action.

    `event` is the one that intake has read; None when the job comes from the backlog: rendering
    reads it from the delivery where it is wanted.
    """

    job: Job
    delivery: Delivery
    event: DeliveryEvent | None
