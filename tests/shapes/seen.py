"""What is seen at one place of a payload: in a schema, a type, or an example."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_FORMS = (
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d.*| UTC)")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("money", re.compile(r"-?\d+\.\d\d")),
    ("url", re.compile(r"https?://\S+")),
    ("email", re.compile(r"[^@\s<>]+@[^@\s<>]+\.[a-z]+")),
)
_TEXTS = frozenset({"string", *(name for name, _ in _FORMS)})
WORDS_MAX = 60
"""More words than this are no list that somebody wrote down."""


class Seen(msgspec.Struct, frozen=True):
    """
    `kinds` are names of types and formats. `fields` are an object's, None where it has none that
    are fixed; `user_named`: users name its fields. `words` are the texts that are known; those of
    an `example` alone are no list, but others' lists lack them.
    """

    kinds: frozenset[str] = frozenset()
    fields: Mapping[str, "Seen"] | None = None
    item: "Seen | None" = None
    words: frozenset[str] = frozenset()
    user_named: bool = False
    example: bool = False


ANYTHING = Seen(frozenset({"any"}))
OPEN_MAP = Seen(frozenset({"object"}), user_named=True)
"""An object whose fields the sender's users name."""


def plain(*kinds: str) -> Seen:
    return Seen(frozenset(kinds))


def an_object(fields: Mapping[str, Seen]) -> Seen:
    return Seen(frozenset({"object"}), fields=fields)


def a_list(item: Seen | None) -> Seen:
    return Seen(frozenset({"array"}), item=item)


def of_example(value: Any) -> Seen:
    """What one example shows."""
    if isinstance(value, dict):
        return an_object({name: of_example(one) for name, one in value.items()})
    if isinstance(value, list):
        return a_list(together(map(of_example, value)) if value else None)
    if isinstance(value, str):
        form = next((name for name, form in _FORMS if form.fullmatch(value)), "string")
        return Seen(frozenset({form}), words=frozenset({value}), example=True)
    if value is None or isinstance(value, bool):
        return plain("null" if value is None else "boolean")
    return plain("integer" if isinstance(value, int) else "number")


def together(several: Iterable[Seen]) -> Seen:
    """Whatever any of them is."""
    found: Seen | None = None
    for one in several:
        found = one if found is None else _both(found, one)
    return ANYTHING if found is None else found


def _both(a: Seen, b: Seen) -> Seen:
    if a is b:
        return a
    texts = [s for s in (a, b) if s.kinds & _TEXTS]
    listed = [s for s in texts if not s.example]
    # A list of words that one of two texts lacks says nothing of the other.
    words = [s.words for s in texts] if all(s.words for s in listed) else []
    return Seen(
        a.kinds | b.kinds,
        fields=_fields(a.fields, b.fields),
        item=b.item if a.item is None else a.item if b.item is None else _both(a.item, b.item),
        words=frozenset().union(*words),
        user_named=a.user_named or b.user_named,
        example=bool(texts) and not listed,
    )


def _fields(
    a: Mapping[str, Seen] | None, b: Mapping[str, Seen] | None
) -> Mapping[str, Seen] | None:
    if a is None or b is None:
        return b if a is None else a
    return {
        name: _both(a[name], b[name]) if name in a and name in b else a.get(name) or b[name]
        for name in dict.fromkeys((*a, *b))
    }


def is_text(kind: str) -> bool:
    return kind in _TEXTS


def opened(seen: Seen, users_name: Iterable[str]) -> Seen:
    """The same, with the objects of these names open: users name their fields."""
    item = None if seen.item is None else opened(seen.item, users_name)
    fields = seen.fields and {
        name: together([OPEN_MAP, plain(*one.kinds)])
        if name in users_name and "object" in one.kinds
        else opened(one, users_name)
        for name, one in seen.fields.items()
    }
    return msgspec.structs.replace(seen, fields=fields, item=item)
