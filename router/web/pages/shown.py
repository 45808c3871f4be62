"""A stored delivery as a page shows it: pure values, everything bounded."""

import msgspec

from router.legible import pretty
from router.model.delivery import RECOVERED, Delivery
from router.model.packed import plain_body
from router.store.values import DeliveryRecord

BODY_SHOWN = 16_384
BODY_MAX = 1_048_576
"""Bytes of a body that are shown at first, and at most; beyond there is the file."""


class Body(msgspec.Struct, frozen=True):
    """Text of a body; `cut`: there is more, `whole`: that more can be shown too."""

    text: str
    cut: bool
    whole: bool


def shown_body(body: bytes, *, whole: bool) -> Body:
    """The body for reading: JSON indented, other text as it is, binary as escapes."""
    if len(body) > BODY_MAX:
        return Body(pretty(body[:BODY_SHOWN]), cut=True, whole=False)
    text = pretty(body)
    if whole or len(text) <= BODY_SHOWN:
        return Body(text, cut=False, whole=False)
    return Body(text[:BODY_SHOWN], cut=True, whole=True)


def root(delivery: Delivery, *, splits: bool) -> str:
    """What its body is to a condition: of `payload[]` each item is the payload of one event."""
    if not splits:
        return "payload"
    return "payload[]" if plain_body(delivery, 0).lstrip()[:1] == b"[" else "body"


def verified(delivery: Delivery) -> str:
    """How it was proved genuine."""
    if delivery.verified_by is None:
        return "not at all: the endpoint is unsigned"
    if RECOVERED in delivery.flags:
        return f"fetched from its sender's API with secret {delivery.verified_by!r}"
    return f"by secret {delivery.verified_by!r}"


def dedupe(record: DeliveryRecord) -> str:
    """What of it was new, and what came again."""
    total = record.delivery.event_count
    known = total - len(record.events)
    new = "new" if known <= 0 else f"{known} of {total} events were known already, so not routed"
    if not (copies := record.duplicates):
        return f"{new}; received once"
    again = "copy" if copies == 1 else "copies"
    return f"{new}; {copies} {again} received and dropped"
