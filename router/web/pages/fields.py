"""What of one event a condition may read: each path as it is written there, and its value."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

FIELDS_MAX = 400
DEPTH_MAX = 8
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALWAYS = ("payload", "event", "action", "headers", "query", "endpoint", "delivery")


class EventField(msgspec.Struct, frozen=True):
    """A path of the rule language, and what it gives for this event."""

    path: str
    value: Any


def fields_of(scope: Mapping[str, Any]) -> tuple[EventField, ...]:
    """
    The fields of an event that have a value, the payload's first, at most FIELDS_MAX. Of a list its
    first element stands for all; the operator's own names are there without their values.
    """
    found: list[EventField] = []
    for root in (*_ALWAYS, *sorted(scope.keys() - {*_ALWAYS, "var", "def", "path", "provider"})):
        for one in _leaves(root, scope.get(root), 0):
            if len(found) == FIELDS_MAX:
                return tuple(found)
            found.append(one)
    return tuple(found)


def _leaves(path: str, value: Any, depth: int) -> Iterator[EventField]:
    if isinstance(value, dict) and depth < DEPTH_MAX:
        for name, inner in value.items():
            yield from _leaves(f"{path}.{_spelled(name)}", inner, depth + 1)
    elif isinstance(value, list) and value and depth < DEPTH_MAX:
        yield EventField(f"length({path})", len(value))
        yield from _leaves(f"{path}[0]", value[0], depth + 1)
    elif value is not None or depth:
        yield EventField(path, value)


def _spelled(name: str) -> str:
    """A name below a dot; other than plain ones stand in double quotes, with JSON's escapes."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name)
