"""The code host's events, from its OpenAPI description of webhooks and the community's schemas."""

import json
from pathlib import Path
from typing import Any

from tests.shapes.json_schema import SchemaReader
from tests.shapes.published import Known, Published
from tests.shapes.seen import Seen, opened, together

USERS_NAME = ("custom_properties", "client_payload", "inputs", "payload")
"""Objects whose fields users name."""


def published(described: Path, schemas: Path) -> Published:
    """All events of the description; of these the schemas know more fields."""
    document: Any = json.loads((described / "generated" / "api.github.com.json").read_bytes())
    found = _described(document)
    for event, seen in _schemas(json.loads((schemas / "schema.json").read_bytes())):
        found.setdefault(event, []).append(seen)
    payloads = {event: opened(together(each), USERS_NAME) for event, each in found.items()}
    versions = (json.loads((at / "package.json").read_bytes()) for at in (described, schemas))
    return Published(
        sources=tuple(f"{one['name']} {one['version']} (npm)" for one in versions),
        events=tuple(Known(event, _actions(payloads[event])) for event in sorted(payloads)),
        payloads=payloads,
    )


def _described(document: Any) -> dict[str, list[Seen]]:
    reader = SchemaReader(document)
    found: dict[str, list[Seen]] = {}
    for hook in document["webhooks"].values():
        content = hook["post"]["requestBody"]["content"]
        event = hook["post"]["x-github"]["subcategory"].replace("-", "_")
        seen = reader.seen(next(iter(content.values()))["schema"])
        found.setdefault(event, []).append(seen)
    return found


def _schemas(document: Any) -> list[tuple[str, Seen]]:
    reader = SchemaReader(document)
    names = [one["$ref"].rpartition("/")[2] for one in document["oneOf"]]
    seen = ((name, reader.seen(document["definitions"][name])) for name in names)
    return [(name.removesuffix("_event").removesuffix("$event"), one) for name, one in seen]


def _actions(payload: Seen) -> tuple[str, ...]:
    action = (payload.fields or {}).get("action")
    return tuple(sorted(action.words)) if action else ()
