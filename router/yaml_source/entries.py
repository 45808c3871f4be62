"""How a schema is written: a class for each mapping of the file, a field for each key."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import msgspec

from router.yaml_source.nodes import Mapping, Node
from router.yaml_source.reading import shown

T = TypeVar("T")
E = TypeVar("E", bound="Entry")


class SourceText(msgspec.Struct, eq=False):
    """A text and the scalar it was written as."""

    value: str
    node: Node

    @property
    def shown(self) -> str:
        """As messages may show it: one line, bounded, printable."""
        return shown(self.value)


class Table(msgspec.Struct, Generic[T], eq=False):
    """Named entries in the order of the file; a value that could not be read is None."""

    node: Node
    items: dict[str, tuple[SourceText, T | None]]

    def __iter__(self) -> Iterator[tuple[SourceText, T]]:
        return ((name, value) for name, value in self.items.values() if value is not None)

    def __contains__(self, name: object) -> bool:
        return name in self.items


class KeyRule(msgspec.Struct, frozen=True):
    """
    What the keys of one mapping say of each other: exactly `one` of them is there, at `most` one,
    or `some`; `needs`: the first is there only beside another of them; `none` of them is there.

    With a `value` it holds where the first has that: `most` that it excludes the others.
    """

    how: Literal["one", "most", "some", "needs", "none"]
    keys: tuple[str, ...]
    value: str | bool | None = None


def one(*keys: str) -> KeyRule:
    """Exactly one of these keys."""
    return KeyRule("one", keys)


def most(*keys: str, value: str | bool | None = None) -> KeyRule:
    """At most one of these keys; with a `value` of the first, none of the others beside it."""
    return KeyRule("most", keys, value)


def some(*keys: str) -> KeyRule:
    """At least one of these keys; of no keys: at least any."""
    return KeyRule("some", keys)


def needs(key: str, *others: str) -> KeyRule:
    """A key that stands only beside one of the others."""
    return KeyRule("needs", (key, *others))


def none(*keys: str) -> KeyRule:
    """Keys that another mapping has, and this one has not."""
    return KeyRule("none", keys)


class Entry(msgspec.Struct, kw_only=True, eq=False):
    """
    A mapping of the file with known keys.

    `broken` names the fields that were there but could not be read, or were required and are
    missing; checks about them would only repeat what has been reported.
    """

    node: Node
    broken: frozenset[str] = frozenset()

    called: ClassVar[str] = "this mapping"
    shorthand: ClassVar[str | None] = None
    several: ClassVar[bool] = False
    required: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[bool] = False
    key_rules: ClassVar[tuple[KeyRule, ...]] = ()
    example: ClassVar[str] = ""

    def at(self, key: str) -> Node:
        """The value of a key for a message to point at; the entry itself if it has none."""
        return (self.node.get(key) if isinstance(self.node, Mapping) else None) or self.node

    def key_at(self, key: str) -> Node:
        """The key itself for a message to point at."""
        return (self.node.key(key) if isinstance(self.node, Mapping) else None) or self.node

    def has(self, key: str) -> bool:
        """Whether the key is written, be it read or not."""
        return self.key_at(key) is not self.node


def named(
    called: str,
    *,
    shorthand: str | None = None,
    several: bool = False,
    required: tuple[str, ...] = (),
    hidden: bool = False,
    rules: tuple[KeyRule, ...] = (),
    example: str = "",
) -> Callable[[type[E]], type[E]]:
    """
    Say of an entry class what messages call it, which key a lone scalar means (with `several` also
    a lone list), which keys must be there, whether a text in its place is never shown, what its
    keys say of each other, and an example for who writes something else.
    """

    def with_names(kind: type[E]) -> type[E]:
        kind.called = called
        kind.shorthand = shorthand or kind.shorthand
        kind.several = several or kind.several
        kind.required = required or kind.required
        kind.hidden = hidden or kind.hidden
        kind.key_rules = rules
        kind.example = example
        return kind

    return with_names


def doc(
    words: str,
    *examples: Any,
    names: str | None = None,
    taken: Iterable[str] = (),
    **limits: Any,
) -> msgspec.Meta:
    """
    What a key is for, in one line that editors show; examples where they say more than words.

    `limits` are msgspec's: `pattern` of the whole text, or of each of a list; `gt`, `ge`, `le` of
    the number, duration or size; `min_length`, `max_length` of the list or mapping. `names` is the
    pattern of a table's names, of which those `taken` mean something else.
    """
    more = {"names": names, "taken": sorted(taken)}
    return msgspec.Meta(description=words, examples=list(examples) or None, extra=more, **limits)


class EntryKey(msgspec.Struct, frozen=True):
    """One key of an entry: its name in files, its field, its type, and what it is for."""

    name: str
    field: str
    kind: Any
    about: str | None = None
    limits: msgspec.Meta = msgspec.Meta()
    examples: list[Any] | None = None

    @property
    def default(self) -> str | None:
        """The value that its description names as the default, as it is written in a file."""
        found = re.search(r"Default (\S+?(?:; charset=\S+?)?)(?:\.$|; )", self.about or "")
        return None if found is None or found[1] == "the" else found[1]


class OpenEntry(Entry):
    """A mapping with further keys, from a table; `chosen` holds the values of those given."""

    chosen: dict[str, Any] = {}


FurtherKeys = dict[type[Entry], tuple[EntryKey, ...]]
"""The further keys of each open entry class; their `field` is their name."""


@cache
def keys_of(kind: type[Entry]) -> tuple[EntryKey, ...]:
    """
    The keys of an entry class that are its fields, in their order. One that is named as a field of
    every entry ends with an underscore there.
    """
    hidden = ("node", "broken", "chosen")
    fields = [f for f in msgspec.structs.fields(kind) if f.name not in hidden]
    return tuple(_key(f.encode_name.removesuffix("_"), f.name, f.type) for f in fields)


def _key(name: str, field: str, kind: Any) -> EntryKey:
    if get_origin(kind) is not Annotated:
        return EntryKey(name, field, kind)
    plain, meta = get_args(kind)
    return EntryKey(name, field, plain, meta.description, meta, meta.examples)
