"""
Which W3C trace a delivery, and all that comes of it, belongs to.

Its ids follow from those of the delivery and its jobs, so nothing is stored for it: whichever
process accepts, tries, tries again or replays, comes to the same.
"""

import hashlib
import re
from collections.abc import Callable
from typing import NamedTuple

from router.model.delivery import Delivery
from router.model.headers import header_of
from router.model.job import Job

HEADER, VARIABLE = "traceparent", "TRACEPARENT"
"""Where a request, and where a command, says what it is part of."""
UNSAMPLED, SAMPLED = "00", "01"
_SENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})"
)

Traceparent = Callable[[Delivery, Job], str]
"""What the present attempt of a job says it is part of."""


class SpanIds(NamedTuple):
    """A span by the ids of its trace and its own, and the trace's flags: lower-case hex digits."""

    trace: str
    span: str
    flags: str = UNSAMPLED

    def __str__(self) -> str:
        return f"00-{self.trace}-{self.span}-{self.flags}"


def of_delivery(delivery: str) -> SpanIds:
    """The span in which a delivery was accepted: the first of its own trace."""
    digest = _digest(delivery, 24)
    return SpanIds(digest[:32], digest[32:])


def of_attempt(job: str, number: int) -> str:
    """The id of an attempt's span."""
    return _digest(f"{job}/{number}", 8)


def of_sender(delivery: Delivery) -> SpanIds | None:
    """The span that the sender says it sent the delivery in; None: it says nothing valid."""
    sent = header_of(delivery.headers, HEADER)
    found = _SENT.fullmatch(sent) if sent else None
    return SpanIds(*found.groups()) if found else None


def passed_on(delivery: Delivery, job: Job) -> str:
    """The sender's trace goes on, or one of the delivery's own begins that nobody records."""
    trace, flags = _digest(job.delivery, 24)[:32], UNSAMPLED
    if (sender := of_sender(delivery)) is not None:
        trace, _, flags = sender
    return f"00-{trace}-{of_attempt(job.id, job.attempt)}-{flags}"


def _digest(text: str, size: int) -> str:
    """The quickest there is that is spread evenly: samplers go by the ids of traces."""
    return hashlib.blake2s(text.encode(), digest_size=size).hexdigest()
