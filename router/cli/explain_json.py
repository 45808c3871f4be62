"""An explanation as JSON: all of it, numbers digit for digit."""

from typing import Any

from router.cli.explain_input import Explanation
from router.rules.explain_json import event_json


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Values for `encode_json`."""
    d, record = found.delivery, found.record
    return {
        "delivery": d.id or None,
        "received_at": d.received_at,
        "endpoint": d.endpoint,
        "provider": d.provider,
        "verified_by": d.verified_by,
        "state": d.state,
        "flags": list(d.flags),
        "duplicates": record.duplicates if record else 0,
        "last_seen_at": record.last_seen_at if record else None,
        "by": found.by,
        "generation": found.generation,
        "decided_by": d.generation,
        "reason": found.reason,
        "events": [event_json(e) for e in found.events],
    }
