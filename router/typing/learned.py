"""
Shapes that were learned from deliveries, merged with what is known of their sender.

    payloads:                      # as in a definition's `shapes`, and how many there were
      - for: orders/paid
        seen: 1200
        fields: {id: integer, note: string or null}
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import msgspec

from router.typing.lattice import ANY, EVERYTHING, LIST, OBJECT, TEXT, Type, join, with_kinds
from router.typing.shapes import Place, ShapeError, Shapes, parse_shapes

ENOUGH = 1_000
"""So many payloads of an event show what its fields hold, and which of them never come."""


class LearnedShapes(msgspec.Struct, frozen=True, eq=False):
    """What the deliveries to one endpoint have looked like, and how many there were of an event."""

    shapes: Shapes
    seen: Mapping[str, int]


def parse_learned(data: Any) -> LearnedShapes:
    """
    The shapes of a file that `router shapes learn` has written; all scalars are texts.

    Raises:
        ShapeError: what is wrong, and where.
    """
    if not isinstance(data, dict):
        raise ShapeError((), "is a mapping with `payloads`")
    seen: dict[str, int] = {}
    bare = []
    for at, entry in enumerate(data.get("payloads") or ()):
        if isinstance(entry, dict) and isinstance(name := entry.get("for"), str):
            seen[name] = _count(entry.get("seen"), ("payloads", at, "seen"))
            entry = {key: one for key, one in entry.items() if key != "seen"}  # noqa: PLW2901
        bare.append(entry)
    return LearnedShapes(parse_shapes({**data, "payloads": bare}), seen)


def _count(text: Any, place: Place) -> int:
    if not isinstance(text, str) or not text.isdigit():
        raise ShapeError(place, "is a number")
    return int(text)


class ShapesAsSeen(Shapes):
    """
    A sender's shapes and what its endpoints have seen. `whole`: all of these endpoints have. Unless
    `typed`, no more is learned than names, so that it can only make quiet.
    """

    def __init__(
        self, known: Shapes, learned: Sequence[LearnedShapes], *, whole: bool, typed: bool
    ) -> None:
        super().__init__(())
        self._known = known
        self._learned = learned
        self._whole = whole
        self._typed = typed

    @property
    def events(self) -> tuple[str, ...]:
        """Events that have come."""
        return tuple(dict.fromkeys(name for one in self._learned for name in one.seen))

    def _payload(self, event: str) -> Type | None:
        known = self._known.payload(event)
        seen = [one for one in self._learned if event in one.seen]
        kinds = [kind for one in seen if (kind := one.shapes.payload(event)) is not None]
        if not kinds:
            return known
        whole = self._typed and self._whole and len(seen) == len(self._learned)
        count = sum(one.seen[event] for one in seen) if whole else 0
        return merged(known, reduce(join, kinds), count if count >= ENOUGH else 0)


def merged(known: Type | None, learned: Type, seen: int) -> Type:
    """
    What is known, and which further fields there have been.

    If this many were `seen` (0: too few), new fields hold what they held, and known ones that were
    never there say so.
    """
    if known is None or known.is_any:
        return learned if seen else _names(learned)
    if learned.kinds & ~known.kinds & (LIST | OBJECT):
        return join(known, learned)
    return msgspec.structs.replace(
        known,
        kinds=known.kinds | learned.kinds,
        texts=None if learned.known - (known.texts or learned.known) else known.texts,
        known=known.known | learned.known if known.known else known.known,
        format=known.format if learned.format == known.format or not learned.kinds & TEXT else None,
        item=_item(known, learned),
        fields=_fields(known, learned, seen),
        stated=known.stated or learned.stated,
    )


def _item(known: Type, learned: Type) -> Type | None:
    if known.item is None or learned.item is None or not learned.kinds & LIST:
        return known.item
    return merged(known.item, learned.item, 0)


def _fields(known: Type, learned: Type, seen: int) -> Mapping[str, Type]:
    if not learned.fields or not known.fields:
        return known.fields
    # Of an object that is not always there the fields may be rare as well.
    told = 0 if learned.partial or learned.stated else seen
    fields = {
        name: merged(kind, learned.fields[name], told)
        if name in learned.fields
        else msgspec.structs.replace(kind, unseen=told)
        for name, kind in known.fields.items()
    }
    more = {
        name: kind if seen else _names(kind)
        for name, kind in learned.fields.items()
        if name not in fields
    }
    return fields | more


def _names(kind: Type) -> Type:
    """The same names, and nothing of what they hold."""
    if kind.fields:
        fields = {name: _names(one) for name, one in kind.fields.items()}
        return Type(EVERYTHING, fields=fields, rest=ANY, partial=True)
    if kind.item is not None:
        item = _names(kind.item)
        item = with_kinds(item, item.kinds & ~LIST) if item.partial else item
        return Type(EVERYTHING, item=item, rest=ANY)
    return ANY
