"""The built-in providers, with the files beside them; parsed once, when first needed."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
import yaml

from router.expressions import decode_json
from router.model.delivery import JSON
from router.providers.definition import Definition, EventGroup, Sample
from router.providers.heads import FOLDER, heads
from router.providers.provider import Provider
from router.providers.validation import parse_definition
from router.typing.shapes import Pieces

_OWN = "router"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builtin(Mapping[str, Provider]):
    def __getitem__(self, name: str) -> Provider:
        return _provider(_files()[name])

    def __contains__(self, name: object) -> bool:
        return name in _files()

    def __iter__(self) -> Iterator[str]:
        return iter(_files())

    def __len__(self) -> int:
        return len(_files())


_BUILTIN = _Builtin()


def builtin() -> Mapping[str, Provider]:
    """Every name, aliases too, to its provider; two names of one provider give one object."""
    return _BUILTIN


def own() -> Provider:
    """The router as the sender of its own events: no endpoint may name it as its provider."""
    return _provider(_OWN)


def recovering() -> list[str]:
    """The senders, as people call them, whose APIs say what they could not deliver."""
    rules = {provider.label: provider.definition.api for provider in _BUILTIN.values()}
    return sorted(label for label, rule in rules.items() if rule is not None and rule.recover)


@cache
def _files() -> Mapping[str, str]:
    """Every name to the file of its definition: asking for one provider parses one."""
    return {name: head.file for head in heads() for name in head.names if head.file != _OWN}


@cache
def _provider(file: str) -> Provider:
    # The loader is safe either way; the C one is ten times as fast.
    data = yaml.load((FOLDER / f"{file}.yaml").read_bytes(), _LOADER)  # noqa: S506
    definition = parse_definition(data, file=f"{file}.yaml")
    apart = FOLDER / "samples" / f"{file}.json"  # whole payloads, read when first needed
    samples = (lambda: parse_samples(apart.read_bytes())) if apart.is_file() else None
    facts = FOLDER / "published" / f"{file}.json"
    if not facts.is_file():
        return Provider(definition, samples)
    whole, pieces = with_published(definition, facts.read_bytes())
    return Provider(whole, samples, pieces)


_PIECE = "$"


def parse_samples(text: bytes) -> tuple[Sample, ...]:
    """
    The samples of one file, in its order, their numbers exact. It is JSON whose parts are shared:

        {"pieces": {"user": {"login": "ada", "id": 1}},
         "samples": [{"for": "star", "payload": {"sender": {"$": "user", "id": 2}}}]}

    `{"$": NAME, …}` is the piece of that name; the fields beside it stand over its own. A piece
    may be made of those before it.
    """
    file: Any = decode_json(text)
    pieces: dict[str, Any] = {}
    for name, piece in file["pieces"].items():  # a piece is made of those before it
        pieces[name] = _whole(piece, pieces)
    return tuple(
        msgspec.convert(entry | {"payload": _whole(entry["payload"], pieces)}, Sample)
        for entry in file["samples"]
    )


def _whole(value: JSON, pieces: Mapping[str, Any]) -> JSON:
    if isinstance(value, list):
        return [_whole(item, pieces) for item in value]
    if not isinstance(value, dict):
        return value
    own = {name: _whole(item, pieces) for name, item in value.items() if name != _PIECE}
    return pieces[value[_PIECE]] | own if _PIECE in value else own


Catalogue = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Groups of events with their actions."""


class PublishedFile(msgspec.Struct, frozen=True):
    """
    What a sender publishes of its events; `python -m tests.shapes make` makes the file:

        {"source": ["package 1.2"],
         "events": {"Group": {"pull_request": ["opened", "closed"], "push": []}},
         "types": {"1": {"fields": {"ref": "string"}}},
         "payloads": {"push": "1"}}

    `types` are shapes (`router/typing/shapes.py`), text until some rule needs one; `payloads` names
    each event's.
    """

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
