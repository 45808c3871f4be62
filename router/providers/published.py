"""
What a sender publishes of its events: a file beside its definition.

`python -m tests.shapes make` makes it:

    {"source": ["package 1.2"],
     "events": {"Group": {"pull_request": ["opened", "closed"], "push": []}},
     "types": {"1": {"fields": {"ref": "string"}}},
     "payloads": {"push": "1"}}

`types` are shapes (`router/typing/shapes.py`); `payloads` names each event's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from router.providers.definition import Definition, EventGroup
from router.typing.shapes import Pieces

Catalogue = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Groups of events with their actions."""


class PublishedFile(msgspec.Struct, frozen=True):
    """The file; its shapes stay text until some rule needs one."""

    source: tuple[str, ...]
    events: Catalogue
    types: msgspec.Raw
    payloads: dict[str, str]

    def types_read(self) -> dict[str, Any]:
        """The pieces by name."""
        return msgspec.json.decode(self.types, type=dict[str, Any])


def with_published(definition: Definition, text: bytes) -> tuple[Definition, Pieces]:
    """
    The definition with all events that are published, and the shapes of their payloads.

    What it has itself stays first, in its order and with its marks; new events and actions follow.
    """
    file = msgspec.json.decode(text, type=PublishedFile)
    own = {name for group in definition.events for name in group.names}
    more = (
        EventGroup(group, (name,), actions)
        for group, events in file.events.items()
        for name, actions in events.items()
        if name not in own
    )
    actions = {event: found for each in file.events.values() for event, found in each.items()}
    extended = (one for group in definition.events for one in _extended(group, actions))
    whole = msgspec.structs.replace(definition, events=(*extended, *more))
    return whole, Pieces(file.types_read, file.payloads)


def _extended(group: EventGroup, actions: Mapping[str, tuple[str, ...]]) -> Iterator[EventGroup]:
    """The group, its events with new actions by themselves."""
    known = {*group.actions, *group.assumed_actions}
    for name in group.names:
        new = tuple(action for action in actions.get(name, ()) if action not in known)
        yield msgspec.structs.replace(group, names=(name,), actions=(*group.actions, *new))
