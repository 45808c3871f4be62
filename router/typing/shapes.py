"""
Shapes of payloads, as a definition writes them, parsed into types.

    shapes:
      types:                                  # named pieces, used by name anywhere below
        person: {fields: {name: string, email: email}}
      payloads:
        - for: push                           # event names or patterns; the first that fits counts
          fields:
            ref: string                       # a type, a format, or the name of a piece
            pusher: person
            closed_at: timestamp or null      # null is to be expected, so functions should mind it
            note?: string                     # and so is absence
            commits: [{fields: {id: string}}] # a list
            state: {known: [open, closed]}    # texts that are seen; others may come
            paid: {known: [part, all], null_for: [unpaid]}   # null where `unpaid` is meant
            kind: {values: [a, b]}            # texts that are all there are
            extra: {rest: string}             # any names, each with a text
          assumed: {size: integer}            # fields known from elsewhere, not from the interface

An object may have more fields than it lists, and any of them may be missing or null, unless it
says `closed: true`. `rest` beside `fields`: users name others, and only a name that is nearly one
of these is doubtful.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from router.model.patterns import wildcard
from router.suggest import did_you_mean
from router.typing.lattice import (
    ABSENT,
    ANY,
    BOOLEAN,
    LIST,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Type,
    joined,
    marked,
    with_kinds,
)
from router.typing.overlay import overlaid

FORMATS = (
    *("money", "joined", "timestamp", "date", "url", "email", "ip", "lowercase"),
    *("currency_code", "country_code", "country_name"),
    *("git_ref", "git_branch", "git_tag", "git_sha", "repository_name"),
)
"""What a text may show: an exact number, comma-joined parts, a time, a day, …; see formats.py."""
_BASIC: dict[str, Type] = {
    "any": ANY,
    "null": Type(NULL),
    "boolean": Type(BOOLEAN),
    "integer": Type(NUMBER),
    "number": Type(NUMBER),
    "string": Type(TEXT),
    "array": Type(LIST),
    "object": Type(OBJECT, rest=ANY),
    **{name: Type(TEXT, format=name) for name in FORMATS},
}
_KEYS = frozenset(
    {"type", "fields", "assumed", "closed", "rest", "items", "values", "known", "null_for"}
)
_PAYLOAD_KEYS = (_KEYS - {"type", "items", "values", "known", "null_for"}) | {"for"}
_DEPTH_MAX = 20

Place = tuple[str | int, ...]


class ShapeError(ValueError):
    """
    What is wrong with shapes, and the keys and indexes that lead there from `shapes`: to a value,
    or with `of_key` to the key itself.
    """

    def __init__(
        self, place: Place, fault: str, hint: str | None = None, *, of_key: bool = False
    ) -> None:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
        super().__init__(f"`shapes{''.join(steps)}` {fault}")
        self.place, self.hint, self.of_key = place, hint, of_key


class Pieces:
    """Shapes by event name that the sender publishes, each read when it is first asked for."""

    def __init__(self, types: Callable[[], Mapping[str, Any]], payloads: Mapping[str, str]) -> None:
        self._types = types
        self._payloads = payloads

    def __contains__(self, event: object) -> bool:
        return event in self._payloads

    @cached_property
    def _reader(self) -> "_ShapeReader":
        return _ShapeReader(self._types())

    def payload(self, event: str) -> Type | None:
        """The shape of an event's payload, None if it has none; of equal ones the same."""
        name = self._payloads.get(event)
        return None if name is None else self._reader.piece(name, ("payloads",))


NO_PIECES = Pieces(dict, {})


class Shapes:
    """
    The payload types of one provider, by event name. `pieces` are those that are published,
    `outline` gives the type of an event of which nothing else is known.
    """

    def __init__(
        self,
        payloads: tuple[tuple[tuple[str, ...], Type], ...],
        pieces: Pieces = NO_PIECES,
        outline: Callable[[str], Type | None] = lambda _: None,
    ) -> None:
        self._payloads = payloads
        self._pieces = pieces
        self._outline = outline
        self._overlaid: dict[tuple[int, int], Type] = {}
        self._found: dict[str, Type | None] = {}

    def payload(self, event: str) -> Type | None:
        """The shape of an event's payload, None if it has none; of equal ones the same."""
        if event not in self._found:
            self._found[event] = self._payload(event)
        return self._found[event]

    def _payload(self, event: str) -> Type | None:
        written, published = self._written(event), self._pieces.payload(event)
        if written is None and published is None:
            return self._outline(event)
        if written is None or published is None:
            return published if written is None else written
        key = (id(written), id(published))
        if key not in self._overlaid:
            self._overlaid[key] = overlaid(written, published)
        return self._overlaid[key]

    def _written(self, event: str) -> Type | None:
        for patterns, kind in self._payloads:
            if any(wildcard(pattern, event) for pattern in patterns):
                return kind
        return None


def parse_shapes(
    data: Mapping[str, Any],
    published: Pieces = NO_PIECES,
    outline: Callable[[str], Type | None] = lambda _: None,
) -> Shapes:
    """
    The shapes of a definition's `shapes:`, with those that are published and outlines of others.

    Raises:
        ShapeError: what is wrong, and where.
    """
    if not isinstance(data, Mapping):
        raise ShapeError((), "is a mapping with `types` and `payloads`")
    _only(data, {"types", "payloads"}, ())
    pieces, payloads = data.get("types") or {}, data.get("payloads") or ()
    if not isinstance(pieces, Mapping):
        raise ShapeError(("types",), "is a mapping of names to shapes")
    if not isinstance(payloads, list | tuple):
        raise ShapeError(("payloads",), "is a list")
    reader = _ShapeReader(pieces)
    try:
        for name in pieces:
            reader.piece(name, ("types", name))
        written = tuple(_payload(reader, entry, at) for at, entry in enumerate(payloads))
        return Shapes(written, published, outline)
    except RecursionError:
        raise ShapeError((), "is nested too deeply") from None


def _payload(reader: "_ShapeReader", entry: Any, at: int) -> tuple[tuple[str, ...], Type]:
    place: Place = ("payloads", at)
    if not isinstance(entry, Mapping):
        raise ShapeError(place, "is a mapping with `for` and `fields`")
    _only(entry, _PAYLOAD_KEYS, place)
    names = entry.get("for")
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        raise ShapeError((*place, "for"), "is an event's name, or a list of names")
    return tuple(names), reader.object({k: v for k, v in entry.items() if k != "for"}, place, 0)


def _only(data: Mapping[str, Any], known: frozenset[str] | set[str], place: Place) -> None:
    strange = [key for key in data if key not in known]
    if strange:
        name, hint = str(strange[0]), _instead(str(strange[0]), sorted(known))
        raise ShapeError((*place, name), "is an unknown key", hint, of_key=True)


def _instead(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known) or f"known: {', '.join(known)}"


class _ShapeReader:
    """Reads shapes; named pieces are read when they are first used, once."""

    def __init__(self, pieces: Mapping[str, Any]) -> None:
        self._written = pieces
        self._pieces: dict[str, Type | None] = {}
        self._named: dict[tuple[str, bool, bool], Type] = {}

    def piece(self, name: str, place: Place) -> Type:
        """A basic type, a format, or a named piece."""
        if name in _BASIC and name not in self._written:
            return _BASIC[name]
        if name not in self._written:
            hint = _instead(name, [*_BASIC, *map(str, self._written)])
            raise ShapeError(place, f"has an unknown type {name!r}", hint)
        if name in self._pieces:
            if (found := self._pieces[name]) is None:
                raise ShapeError(("types", name), "contains itself")
            return found
        self._pieces[name] = None
        made = self._pieces[name] = self.shape(self._written[name], ("types", name), 0)
        return made

    def shape(self, data: Any, place: Place, depth: int) -> Type:
        """Any shape: a name, names joined by `or`, a list of one, or a mapping."""
        if depth > _DEPTH_MAX:
            raise ShapeError(place, "is nested too deeply")
        if isinstance(data, str):
            return joined([self.piece(name.strip(), place) for name in data.split(" or ")])
        if isinstance(data, list | tuple):
            if len(data) != 1:
                raise ShapeError(place, "is a list, and holds the one shape of its elements")
            return Type(LIST, item=self.shape(data[0], (*place, 0), depth + 1))
        if not isinstance(data, Mapping):
            raise ShapeError(place, "is no shape")
        _only(data, _KEYS, place)
        return self._long(data, place, depth)

    def _long(self, data: Mapping[str, Any], place: Place, depth: int) -> Type:
        if "fields" in data or "assumed" in data or "rest" in data:
            kind = self.object(data, place, depth)
        elif "items" in data:
            kind = Type(LIST, item=self.shape(data["items"], (*place, "items"), depth + 1))
        elif "values" in data or "known" in data:
            kind = _words(data, place)
        else:
            return self.shape(data.get("type", "any"), (*place, "type"), depth + 1)
        others = data.get("type")
        return kind if others is None else joined([kind, self.shape(others, place, depth + 1)])

    def _field(self, shape: Any, place: Place, depth: int, *, optional: bool, closed: bool) -> Type:
        """A field's type; the many that a name says are made once."""
        if not isinstance(shape, str):
            return _as_field(self.shape(shape, place, depth), optional=optional, closed=closed)
        key = (shape, optional, closed)
        if key not in self._named:
            kind = self.shape(shape, place, depth)
            self._named[key] = _as_field(kind, optional=optional, closed=closed)
        return self._named[key]

    def object(self, data: Mapping[str, Any], place: Place, depth: int) -> Type:
        """An object by its fields."""
        closed = data.get("closed", False)
        if not isinstance(closed, bool):
            raise ShapeError((*place, "closed"), "is true or false")
        fields: dict[str, Type] = {}
        for key in ("fields", "assumed"):
            written = data.get(key) or {}
            if not isinstance(written, Mapping):
                raise ShapeError((*place, key), "is a mapping of names to shapes")
            for name, shape in written.items():
                plain, optional = str(name).removesuffix("?"), str(name).endswith("?")
                fields[plain] = self._field(
                    shape, (*place, key, name), depth + 1, optional=optional, closed=closed
                )
        rest = None if closed else ANY
        if "rest" in data:
            rest = self.shape(data["rest"], (*place, "rest"), depth + 1)
        return Type(OBJECT, fields=fields, rest=rest, partial="rest" in data and bool(fields))


def _as_field(kind: Type, *, optional: bool, closed: bool) -> Type:
    """A field's type: what is written may be null or absent is marked, the rest is only allowed."""
    if optional:
        kind = with_kinds(kind, kind.kinds | ABSENT)
    if kind is not ANY and kind.kinds & NOTHING:
        kind = marked(kind)
    return kind if closed else with_kinds(kind, kind.kinds | NOTHING)


def _words(data: Mapping[str, Any], place: Place) -> Type:
    key = "values" if "values" in data else "known"
    words, meant = _listed(data, key, place), _listed(data, "null_for", place)
    texts = frozenset(word for word in words if word is not None)
    aliases = frozenset(word for word in meant if word is not None)
    kinds = TEXT | (NULL if None in words or meant else 0)
    if key == "values":
        return Type(kinds, texts=texts, aliases=aliases)
    return Type(kinds, known=texts, aliases=aliases)


def _listed(data: Mapping[str, Any], key: str, place: Place) -> Sequence[str | None]:
    words = data.get(key, ())
    if not isinstance(words, list | tuple) or not all(
        w is None or isinstance(w, str) for w in words
    ):
        raise ShapeError((*place, key), "is a list of texts")
    return words
