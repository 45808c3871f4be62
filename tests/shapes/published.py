"""What a sender publishes of its events, and the file that it becomes."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from tests.shapes.pieces import shaped
from tests.shapes.seen import Seen

FILES = Path(__file__).parents[2] / "router" / "providers" / "definitions" / "published"


class Known(msgspec.Struct, frozen=True):
    """An event that is published, with its actions."""

    name: str
    actions: tuple[str, ...] = ()
    group: str = "Others"


class Published(msgspec.Struct, frozen=True):
    """`sources` name packages or documents and their versions."""

    sources: tuple[str, ...]
    events: tuple[Known, ...]
    payloads: Mapping[str, Seen]


def written(found: Published) -> str:
    """The file: JSON, one piece a line, so that a difference can be read."""
    types, payloads = shaped(found.payloads)
    groups = groupby(sorted(found.events, key=lambda e: e.group), key=lambda e: e.group)
    events = {group: {e.name: e.actions for e in each} for group, each in groups}
    parts = {
        "source": _json(found.sources),
        "events": _lines(events),
        "types": _lines(types),
        "payloads": _json(payloads),
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "\n}\n"


def _lines(mapping: Mapping[str, object]) -> str:
    rows = (f"{_json(name)}: {_json(one)}" for name, one in mapping.items())
    return "{\n" + ",\n".join(rows) + "\n}"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
