"""
Samples in a file of their own: JSON, whose parts are shared.

    {"pieces": {"user": {"login": "ada", "id": 1}},
     "samples": [{"for": "star", "payload": {"sender": {"$": "user", "id": 2}}}]}

`{"$": NAME, …}` is the piece of that name; the fields beside it stand over its own. A
piece may be made of those before it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.expressions import decode_json
from router.model.delivery import JSON
from router.providers.definition import Sample

_PIECE = "$"


def parse_samples(text: bytes) -> tuple[Sample, ...]:
    """The samples of one file, in its order, their numbers exact."""
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
