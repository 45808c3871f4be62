"""What is new in what arrives: who claims a key first has it."""

from collections.abc import Iterable

from router.model.delivery import DeliveryEvent
from router.model.job import NewJob
from router.store.values import Acceptance, Accepted, Duplicate, narrowed

Receipt = Accepted | Duplicate

Claim = tuple[bytes, str, int]
"""A key, the delivery that claims it, and until when."""


def claimed(group: Iterable[Acceptance]) -> tuple[dict[bytes, Claim], int]:
    """What a group claims, of copies within it the first; and how many keys it names."""
    claims: dict[bytes, Claim] = {}
    total = 0
    for acceptance in group:
        id_, until = acceptance.delivery.id, acceptance.keys_until
        for event in acceptance.events:
            for key in event.keys:
                total += 1
                claims.setdefault(key, (key, id_, until))
    return claims, total


def judge(acceptance: Acceptance, known: dict[bytes, str], kept: dict[bytes, Claim]) -> Receipt:
    """
    One acceptance, by the owners of the keys that are `known`; the keys of its new events become
    known to those that follow, and are `kept`.
    """
    id_, events = acceptance.delivery.id, acceptance.events
    owners = [_take(event, id_, acceptance.keys_until, known, kept) for event in events]
    new = frozenset([e.index for e, owner in zip(events, owners, strict=True) if owner is None])
    if events and not new:
        return Duplicate(next(owner for owner in owners if owner is not None))
    return Accepted(id_, None if len(new) == len(events) else new)


def _take(
    event: DeliveryEvent,
    delivery: str,
    until: int,
    known: dict[bytes, str],
    kept: dict[bytes, Claim],
) -> str | None:
    """The owner of the event's first known key; None: it was new and its keys are now taken."""
    for key in event.keys:
        if key in known:
            return known[key]
    for key in event.keys:
        known[key] = delivery
        kept[key] = (key, delivery, until)
    return None


def new_parts(
    acceptance: Acceptance, new: frozenset[int] | None
) -> tuple[tuple[DeliveryEvent, ...], tuple[NewJob, ...]]:
    """Its events that are `new` (None: all), and what is left of its jobs."""
    if new is None:
        return acceptance.events, acceptance.jobs
    left = [narrowed(job, acceptance.events, new) for job in acceptance.jobs]
    events = tuple([event for event in acceptance.events if event.index in new])
    return events, tuple([job for job in left if job is not None])
