"""A body that has not arrived, as its sender would send it and the router would read it."""

import secrets

from router.clock import SystemClock
from router.errors import UsageError
from router.model.delivery import Delivery, InboundRequest
from router.providers import Provider, Reading
from router.rules.ruleset import Ruleset


def as_arriving(
    ruleset: Ruleset, endpoint: str, event: str, body: bytes
) -> tuple[Delivery, Reading]:
    """
    The delivery it would become at this endpoint, and what is read of it.

    Raises:
        UsageError: `event` cannot be an event's name there.
    """
    found = ruleset.endpoints[endpoint]
    provider = ruleset.providers[found.provider]
    # One event stands for a batch of one where the sender sends batches.
    whole = b"[" + body + b"]" if provider.splits and body.lstrip()[:1] == b"{" else body
    request = _request(provider, event, whole, found.addresses[0])
    reading = provider.read(request)
    delivery = Delivery(
        id="",
        endpoint=endpoint,
        provider=found.provider,
        received_at=request.received_at,
        method=request.method,
        path=request.raw_path.decode("latin-1"),
        query="",
        headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers),
        body=request.body,
        verified_by=None,
        state=reading.state,
        event_count=len(reading.events),
        generation=ruleset.generation,
    )
    return delivery, reading


def _request(provider: Provider, event: str, body: bytes, address: str) -> InboundRequest:
    now = SystemClock().now()
    try:
        made = provider.prove(
            event=event,
            body=body,
            key=provider.invent_secret(secrets.token_bytes).sign,  # nobody verifies it
            delivery_id=secrets.token_hex(16),
            now_ms=now,
            address=address,
        )
        sent = tuple((n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in made.headers)
    except ValueError as error:  # UnicodeEncodeError is one too
        raise UsageError(f"{event!r} cannot be an event's name here: {error}") from None
    return InboundRequest(
        "POST", address.encode("latin-1"), made.query.encode("ascii"), sent, made.body, "", now
    )
