"""What an expression sees: the roots of one event."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from router.expressions import Definitions, Expression, rfc3339
from router.model.delivery import Delivery, DeliveryEvent
from router.model.headers import joined_headers

_QUERY_FIELDS_MAX = 1000
_BY_ID = "/wh_"
ROOTS = frozenset(
    {
        "event", "action", "payload", "headers", "query", "path", "endpoint", "provider", "var",
        "def", "delivery",
    }
)  # fmt: skip
"""The names that every event has; its sender may add some."""


def delivery_roots(
    delivery: Delivery, variables: Mapping[str, Any], provider: str | None = None
) -> dict[str, Any]:
    """The roots that all events of one delivery share; `provider` is as its endpoint calls it."""
    return {
        "headers": joined_headers(delivery.headers),
        "query": query_fields(delivery.query),
        "path": shown_path(delivery.path),
        "endpoint": delivery.endpoint,
        "provider": provider or delivery.provider,
        "var": variables,
    }


def event_scope(
    shared: Mapping[str, Any],
    delivery: Delivery,
    event: DeliveryEvent,
    defines: Mapping[str, Expression],
) -> dict[str, Any]:
    """The roots of one event, its definitions lazy."""
    scope: dict[str, Any] = {
        **shared,
        **event.fields,
        "event": event.name,
        "action": event.action,
        "payload": event.payload,
        "delivery": {
            "id": delivery.id,
            "event_id": event.id,
            "received_at": rfc3339(delivery.received_at),
            "index": event.index,
            "count": delivery.event_count,
            "verified_by": delivery.verified_by,
            "replay_of": delivery.replay_of,
        },
    }
    if defines:
        scope["def"] = Definitions(defines, scope)
    return scope


def shown_path(path: str) -> str | None:
    """
    The path of a request as it came; None where it says nothing but the id of the endpoint, which
    may be all that keeps strangers out, and for the router's own events.
    """
    return path if path and _BY_ID not in path else None


def query_fields(query: str) -> dict[str, str]:
    """Query fields by name; of repeats the last; at most 1,000 are read."""
    if not query:
        return {}
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        return {}
    return dict(fields)
