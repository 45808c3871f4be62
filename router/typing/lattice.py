"""
What a value may be: a set of kinds, with constants, formats, elements and fields where known.

A Type stands for every value that it does not rule out; ANY rules out nothing. A shape of a
payload is a Type as well.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

import msgspec

from router.expressions.absent import JSON
from router.expressions.compare import exact, is_number
from router.typing.interval import ALL_NUMBERS, Interval, at

NULL, ABSENT, FALSE, TRUE, NUMBER, TEXT, LIST, OBJECT, FAULT = (1 << n for n in range(9))
"""Kinds of values; ABSENT is no such field, FAULT an evaluation that fails."""
BOOLEAN = FALSE | TRUE
NOTHING = NULL | ABSENT
JSON_KINDS = NULL | BOOLEAN | NUMBER | TEXT | LIST | OBJECT
PRESENT = BOOLEAN | NUMBER | TEXT | LIST | OBJECT
EVERYTHING = JSON_KINDS | ABSENT

Values = frozenset[Any]


class Type(msgspec.Struct, frozen=True, eq=False):
    """
    What a value may be. `kinds` are bits.

    `texts` and `numbers` are all the constants it can be (None: any); it is none of `less`, and
    a number only within `bounds`. `known` are texts that are seen there, though others may
    come; `aliases` are other names of these or of null, which never come. `asked`: conditions ask
    for its texts, and nothing else tells of them. `format` says what the texts show. `item` is the
    type of a list's elements, `fields` those of an object; `rest` is the type of its other fields,
    None if it can have none. `stated`: its null or absence is written down, not merely not ruled
    out. `label` names a root whose missing names somebody else reports; `partial`: its fields are
    those of a sample, and others are no surprise.
    """

    kinds: int
    texts: Values | None = None
    numbers: Values | None = None
    less: Values = frozenset()
    bounds: Interval | None = None
    known: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    asked: bool = False
    format: str | None = None
    item: "Type | None" = None
    fields: Mapping[str, "Type"] = {}
    rest: "Type | None" = None
    stated: bool = False
    label: str | None = None
    partial: bool = False

    def surely(self, kinds: int) -> bool:
        """Whether, when it is there and not null, it can only be one of these."""
        there = self.kinds & PRESENT
        return bool(there) and not there & ~kinds

    @property
    def is_any(self) -> bool:
        """Whether nothing is known of it."""
        if self.kinds & PRESENT != PRESENT or self.rest is None or self.fields:
            return False
        if self.less or self.bounds is not None:
            return False
        return self.item is None and self.texts is None and self.numbers is None

    def admits(self, constant: Any) -> bool:
        """Whether it may be this text or number."""
        if isinstance(constant, str):
            some = self.texts
            there = self.kinds & TEXT
        else:
            some = self.numbers
            there = self.kinds & NUMBER and (self.bounds is None or self.bounds.holds(constant))
        return bool(there) and (some is None or constant in some) and constant not in self.less

    @property
    def intervals(self) -> list[Interval]:
        """Where its numbers lie; none if it is no number."""
        if not self.kinds & NUMBER:
            return []
        if self.numbers is not None:
            return [at(number) for number in self.numbers]
        return [self.bounds or ALL_NUMBERS]


ANY: Final = Type(EVERYTHING)
msgspec.structs.force_setattr(ANY, "rest", ANY)
NEVER: Final = Type(0)
ABSENT_TYPE: Final = Type(ABSENT)
NULL_TYPE: Final = Type(NULL)
BOOLEAN_TYPE: Final = Type(BOOLEAN)
NUMBER_TYPE: Final = Type(NUMBER)
TEXT_TYPE: Final = Type(TEXT)


def with_kinds(kind: Type, kinds: int) -> Type:
    """The same with other kinds."""
    return kind if kinds == kind.kinds else msgspec.structs.replace(kind, kinds=kinds)


def elements(kind: Type) -> Type:
    """The type of a list's elements."""
    return ANY if kind.item is None else kind.item


def contents(kind: Type) -> Type:
    """The type of whatever field of an object."""
    return joined([*kind.fields.values(), *([] if kind.rest is None else [kind.rest])])


def list_of(item: Type, kinds: int = LIST) -> Type:
    """A list; absent elements are dropped or null there."""
    return Type(kinds, item=item)


def open_object(fields: Mapping[str, Type]) -> Type:
    """An object that may have other fields."""
    return Type(OBJECT, fields=fields, rest=ANY)


def closed_object(fields: Mapping[str, Type], label: str | None = None) -> Type:
    """An object that has these fields and no others."""
    return Type(OBJECT, fields=fields, label=label)


def constant(value: JSON) -> Type:
    """Exactly this value."""
    if isinstance(value, str):
        return Type(TEXT, texts=frozenset((value,)))
    if is_number(value):
        return Type(NUMBER, numbers=frozenset((exact(value),)))
    if isinstance(value, bool):
        return Type(TRUE if value else FALSE)
    if isinstance(value, list):
        return list_of(joined([constant(one) for one in value]) if value else ANY)
    if isinstance(value, dict):
        return closed_object({name: constant(one) for name, one in value.items()})
    return NULL_TYPE


def of_setting(value: JSON) -> Type:
    """
    A value that an operator may change from day to day: its kind counts, not the value.

    A null is no information at all: it stands where something will come.
    """
    if value is None:
        return ANY
    if isinstance(value, bool):
        return BOOLEAN_TYPE
    if isinstance(value, list):
        return list_of(joined([of_setting(one) for one in value]) if value else ANY)
    if isinstance(value, dict):
        return closed_object({name: of_setting(one) for name, one in value.items()})
    return NUMBER_TYPE if is_number(value) else TEXT_TYPE


# -- joining


def joined(several: list[Type]) -> Type:
    """Whatever any of them may be."""
    return reduce(join, several) if several else NEVER


def join(a: Type, b: Type) -> Type:
    """Whatever either may be."""
    if a is b or not b.kinds:
        return a
    if not a.kinds:
        return b
    if a.is_any or b.is_any:
        return with_kinds(ANY, a.kinds | b.kinds)
    text_a, text_b = _able(a, b, TEXT)
    number_a, number_b = _able(a, b, NUMBER)
    list_a, list_b = _able(a, b, LIST)
    object_a, object_b = _able(a, b, OBJECT)
    rests = object_a.rest, object_b.rest
    return Type(
        a.kinds | b.kinds,
        texts=_union(text_a.texts, text_b.texts),
        numbers=_union(number_a.numbers, number_b.numbers),
        less=frozenset(c for c in a.less | b.less if not (a.admits(c) or b.admits(c))),
        bounds=_hull(number_a, number_b),
        known=a.known | b.known,
        aliases=a.aliases | b.aliases,
        asked=a.asked or b.asked,
        format=text_a.format if text_a.format == text_b.format else None,
        item=list_a.item and list_b.item and join(list_a.item, list_b.item),
        fields=_fields(object_a, object_b),
        rest=join(rests[0], rests[1]) if rests[0] and rests[1] else rests[0] or rests[1],
        stated=a.stated or b.stated,
        partial=a.partial or b.partial,
    )


def _able(a: Type, b: Type, kind: int) -> tuple[Type, Type]:
    """Both of them, or twice the one that can be of this kind."""
    return a if a.kinds & kind else b, b if b.kinds & kind else a


def _union(a: Values | None, b: Values | None) -> Values | None:
    return None if a is None or b is None else a | b


def _hull(a: Type, b: Type) -> Interval | None:
    """Where the numbers of both lie, unless they are known one by one or may be any."""
    within = [] if a.numbers is not None and b.numbers is not None else [*a.intervals, *b.intervals]
    hull = reduce(Interval.hull, within) if within else ALL_NUMBERS
    return None if hull == ALL_NUMBERS else hull


def _fields(a: Type, b: Type) -> Mapping[str, Type]:
    if a is b:
        return a.fields  # as they are: those of definitions are inferred when they are read
    found = {
        name: kind
        if (other := b.fields.get(name)) is kind
        else join(kind, other or _field(b, name))
        for name, kind in a.fields.items()
    }
    for name, kind in b.fields.items():
        if name not in found:
            found[name] = join(_field(a, name), kind)
    return found


def _field(kind: Type, name: str) -> Type:
    if (found := kind.fields.get(name)) is not None:
        return found
    return ABSENT_TYPE if kind.rest is None else with_kinds(kind.rest, kind.rest.kinds | ABSENT)


# -- reading


def step(kind: Type, name: str) -> Type:
    """The type of a field of this; absent where it is no object or lacks the field."""
    beyond = kind.kinds & FAULT | (ABSENT if kind.kinds & ~(OBJECT | FAULT) else 0)
    if not kind.kinds & OBJECT:
        return Type(beyond, stated=kind.stated)
    found = _field(kind, name)
    found = with_kinds(found, found.kinds | beyond)
    if kind.stated and kind.kinds & NOTHING and not found.stated:
        return marked(found)
    return found


def marked(kind: Type) -> Type:
    """The same; that it may be null or absent is written down."""
    return msgspec.structs.replace(kind, stated=True)


def there(kind: Type) -> Type:
    """The same where it is there and not null."""
    return msgspec.structs.replace(kind, kinds=kind.kinds & ~NOTHING, stated=False)


def position(kind: Type) -> Type:
    """The type of an element of this, at a position that may not exist."""
    found = elements(kind) if kind.kinds & LIST else NEVER
    return with_kinds(found, found.kinds | ABSENT | kind.kinds & FAULT)


def in_list(kind: Type) -> Type:
    """As an element of a projection's result: null and absent ones are dropped."""
    return with_kinds(kind, kind.kinds & PRESENT)


def stored(kind: Type) -> Type:
    """As it is stored in lists and objects, where absent is null."""
    kinds = kind.kinds & ~(ABSENT | FAULT)
    return with_kinds(kind, kinds | NULL if kind.kinds & ABSENT else kinds)


# -- words

_WORDS = (
    (OBJECT, "an object"),
    (LIST, "a list"),
    (TEXT, "a text"),
    (NUMBER, "a number"),
    (BOOLEAN, "true or false"),
)


def said_of(kind: Type) -> str | None:
    """The one constant it can be, or where its numbers lie: `is 'a'`; None if neither is known."""
    if not kind.kinds & PRESENT & ~TEXT and kind.texts is not None and len(kind.texts) == 1:
        return f"is '{next(iter(kind.texts))}'"
    if not kind.kinds & PRESENT & ~NUMBER and len(kind.intervals) == 1:
        (within,) = kind.intervals
        return None if within == ALL_NUMBERS else f"is {within}"
    excluded = [
        repr(one) if isinstance(one, str) else str(one) for one in sorted(kind.less, key=str)
    ]
    return f"is not {' or '.join(excluded)}" if excluded else None


def word(kind: Type) -> str:
    """What it is, for people: `a text`."""
    found = [text for bits, text in _WORDS if kind.kinds & bits]
    if not found:
        return "null"
    return "a value" if len(found) == len(_WORDS) else " or ".join(found)
