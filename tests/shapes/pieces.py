"""Writes what was seen as shapes (`router/typing/shapes.py`), equal parts once."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.shapes.seen import WORDS_MAX, Seen, is_text

_ORDER = ("boolean", "integer", "number", "array", "object")
_PIECE_MIN = 24
"""Characters from which a shape that stands twice becomes a piece."""

Shape = Any


def shaped(payloads: Mapping[str, Seen]) -> tuple[dict[str, Shape], dict[str, str]]:
    """The pieces by name, and of each event the name of its payload's piece."""
    return _Pieces(payloads).written()


class _Pieces:
    def __init__(self, payloads: Mapping[str, Seen]) -> None:
        self._payloads = payloads
        self._used: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._types: dict[str, Shape] = {}

    def written(self) -> tuple[dict[str, Shape], dict[str, str]]:
        whole = {event: _written(seen) for event, seen in self._payloads.items()}
        for shape in whole.values():
            self._count(shape)
        return self._types, {event: self._name(shape) for event, shape in whole.items()}

    def _count(self, shape: Shape) -> None:
        key = _key(shape)
        self._used[key] += 1
        if self._used[key] == 1:
            for part in _parts(shape):
                self._count(part)

    def _name(self, shape: Shape) -> str:
        key = _key(shape)
        if key not in self._names:
            within = self._within(shape)
            self._names[key] = name = str(len(self._names) + 1)
            self._types[name] = within
        return self._names[key]

    def _short(self, shape: Shape) -> Shape:
        key = _key(shape)
        if isinstance(shape, str):
            return shape
        if self._used[key] > 1 and len(key) >= _PIECE_MIN:
            return self._name(shape)
        return self._within(shape)

    def _within(self, shape: Shape) -> Shape:
        if isinstance(shape, list):
            return [self._short(shape[0])]
        short = dict(shape)
        if "fields" in shape:
            short["fields"] = {name: self._short(one) for name, one in shape["fields"].items()}
        if "items" in shape:
            short["items"] = self._short(shape["items"])
        return short


def _key(shape: Shape) -> str:
    return msgspec.json.encode(shape).decode()


def _parts(shape: Shape) -> list[Shape]:
    if isinstance(shape, str):
        return []
    if isinstance(shape, list):
        return shape
    return [*shape.get("fields", {}).values(), *([shape["items"]] if "items" in shape else [])]


def _written(seen: Seen) -> Shape:
    """As a definition has it."""
    kinds = set(seen.kinds)
    if "any" in kinds or kinds <= {"null"}:
        return "any"
    texts = sorted(kind for kind in kinds if is_text(kind))
    plain = [kind for kind in _ORDER if kind in kinds]
    if "number" in plain and "integer" in plain:
        plain.remove("integer")
    long = _long(seen, texts)
    if long is not None:
        plain = [kind for kind in plain if kind not in long[1]]
        texts = [] if "string" in long[1] else texts
    names = plain + ([texts[0] if len(texts) == 1 else "string"] if texts else [])
    names += ["null"] if "null" in kinds else []
    if long is None:
        return " or ".join(names)
    if not names:
        return long[0]
    shape = {"items": long[0][0]} if isinstance(long[0], list) else long[0]
    return {**shape, "type": " or ".join(names)}


def _name(name: str) -> str:
    """A question mark at its end is a mark of a shape: of two one is the name's."""
    return f"{name}?" if name.endswith("?") else name


def _long(seen: Seen, texts: list[str]) -> tuple[Shape, set[str]] | None:
    """What needs more than a name, and the kinds that it says."""
    if seen.fields and not seen.user_named:
        fields = {_name(name): _written(one) for name, one in sorted(seen.fields.items())}
        return {"fields": fields}, {"object"}
    if seen.item is not None and _written(seen.item) != "any":
        return [_written(seen.item)], {"array"}
    if texts and seen.words and not seen.example and len(seen.words) <= WORDS_MAX:
        return {"known": sorted(seen.words)}, {"string"}
    return None
