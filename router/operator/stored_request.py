"""A stored delivery as the request it was."""

from router.model.delivery import Delivery, InboundRequest


def as_request(delivery: Delivery) -> InboundRequest:
    """The stored delivery as the request it was, for reading again (never for verifying)."""
    return InboundRequest(
        delivery.method,
        delivery.path.encode("latin-1"),
        delivery.query.encode("latin-1"),
        tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in delivery.headers),
        delivery.body,
        delivery.peer,
        delivery.received_at,
    )
