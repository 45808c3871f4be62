"""
Nodes to typed values, driven by msgspec Structs; every fault is reported, none stops the others.

A field's type says what is expected:

    SourceText           any scalar as written, with its node
    str-like NewType     a scalar that one of the given parsers understands (durations, sizes, …)
    bool, int            a plain scalar of the core schema
    Literal[…]           one of these words
    list[T]              a list, or one item standing alone
    Table[T]             a mapping with names of the user's choice
    an Entry subclass    a mapping with these keys; `shorthand` names the field a lone scalar means
    Node                 whatever stands there, untouched
    Annotated[T, doc("…")]   as T; the words say what the key is for
"""

import re
import types
from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from functools import partial
from typing import Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

import msgspec

from router.suggest import Suggester, meaning
from router.yaml_source.entries import Entry, EntryKey, FurtherKeys, SourceText, Table, keys_of
from router.yaml_source.nodes import Mapping, Node, Scalar, Sequence
from router.yaml_source.reading import shown
from router.yaml_source.refusals import collision, quoted, quoting
from router.yaml_source.rewriting import instead
from router.yaml_source.scalars import NumberError, resolve
from router.yaml_source.source import Report

E = TypeVar("E", bound=Entry)


class Refusal(msgspec.Struct, frozen=True):
    """
    Why a key or a value is not accepted; shown instead of 'unknown key'. `meant` is the key to use.
    """

    code: str
    message: str
    hint: str | None = None
    meant: str | None = None


Parser = Callable[[str], Any]
Read = Callable[[Node], Any]

_KEY = re.compile(r"[\w.-]+")
_IGNORED = ("x-", "\0", "<<")
"""Keys of the user's own, and two kinds that reading has already refused."""

_PLAIN = {bool: "true or false", int: "a whole number"}
_HOMES_SHOWN = 2
_NOTHING = ("", "~", "null")

FAULTY: Any = type("Faulty", (), {"__repr__": lambda _: "FAULTY"})()
"""Stands for a value that could not be read; its fault has been reported."""


class Decoder:
    """
    Decodes nodes for one report.

    `parsers` maps NewTypes to functions that read their texts and raise ValueError with the
    reason. `refused` maps (entry class, key) and (entry class, key, value) to refusals; `further`
    are the keys that open entries have besides their fields.
    """

    def __init__(
        self,
        report: Report,
        suggest: Suggester,
        parsers: MappingABC[Any, Parser],
        refused: MappingABC[tuple[str, ...], Refusal],
        further: FurtherKeys,
    ) -> None:
        self.report = report
        self._suggest = suggest
        self._parsers = parsers
        self._refused = refused
        self._further = further
        self._readers: dict[Any, Read] = {}
        self._keys: dict[type[Entry], dict[str, tuple[str, Read]]] = {}
        """The field and the reader of each key."""
        self._homes: dict[str, list[str]] = {}
        self._around: list[type[Entry]] = []
        """The entries around the one that is being read, and itself."""

    def decode(self, node: Node, kind: type[E]) -> E | None:
        """The node as this kind of entry, or None if it is no mapping at all."""
        value = self._reader(kind)(node)
        return None if value is FAULTY else value

    def _reader(self, kind: Any) -> Read:
        if (reader := self._readers.get(kind)) is None:
            reader = self._readers[kind] = self._make(kind)
        return reader

    def _make(self, kind: Any) -> Read:  # noqa: PLR0911 - one line a kind of type
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):  # the last of them is None
            return (lambda node: node) if Scalar in arguments else self._reader(arguments[0])
        if origin is Literal:
            return lambda node: self._word(node, arguments)
        if origin is list:
            return partial(self._many, self._reader(arguments[0]))
        if origin is Table:
            return partial(self._table, self._reader(arguments[0]))
        if kind in self._parsers:
            return lambda node: self._parsed(node, self._parsers[kind])
        if kind in _PLAIN:
            return lambda node: self._plain(node, kind)
        return self._text if kind is SourceText else self._make_entry(kind)

    # -- scalars ------------------------------------------------------------------------------

    def _text(self, node: Node) -> Any:
        if not isinstance(node, Scalar) or means_nothing(node):
            return self._unexpected(node, "text")
        return SourceText(node.value, node)

    def _plain(self, node: Node, kind: type) -> Any:
        value = None
        if isinstance(node, Scalar) and not node.style:
            try:
                value = resolve(node.value)
            except NumberError as reason:
                return self._fault("bad-value", str(reason), node)
        return value if type(value) is kind else self._unexpected(node, _PLAIN[kind])

    def _word(self, node: Node, words: tuple[str, ...]) -> Any:
        if (text := self._text(node)) is FAULTY:
            return FAULTY
        if text.value in words:
            return text.value
        listed = " or ".join(f"'{w}'" for w in words)
        return self._fault(
            "unknown-value",
            f"expected {listed}, found '{shown(text.value)}'",
            node,
            self._suggest.hint(text.value, words),
        )

    def _parsed(self, node: Node, parse: Parser) -> Any:
        try:
            return FAULTY if (text := self._text(node)) is FAULTY else parse(text.value)
        except ValueError as reason:
            return self._fault("bad-value", str(reason), node)

    # -- lists and tables ---------------------------------------------------------------------

    def _many(self, read: Read, node: Node) -> Any:
        values = [read(n) for n in (node.items if isinstance(node, Sequence) else [node])]
        found = [v for v in values if v is not FAULTY]
        return found if found or not values else FAULTY

    def _table(self, read: Read, node: Node) -> Any:
        if not isinstance(node, Mapping):
            return self._unexpected(node, "a mapping of names")
        return Table(
            node,
            {
                key.value: (
                    SourceText(key.value, key),
                    None if (value := read(child)) is FAULTY else value,
                )
                for key, child in node
            },
        )

    # -- entries ------------------------------------------------------------------------------

    def _make_entry(self, kind: type[Entry]) -> Read:
        # Entered before the fields are looked at: conditions hold conditions.
        self._readers[kind] = read = partial(self._entry, kind)
        keys = {key.name: (key.field, self._reader(key.kind)) for key in self._all_keys(kind)}
        self._keys[kind] = keys
        for name in keys.keys() - {kind.shorthand}:
            self._homes.setdefault(name, []).append(kind.called)
        return read

    def _all_keys(self, kind: type[Entry]) -> tuple[EntryKey, ...]:
        return (*keys_of(kind), *self._further.get(kind, ()))

    def _entry(self, kind: type[Entry], node: Node) -> Any:
        if isinstance(node, (Scalar, Sequence) if kind.several else Scalar) and kind.shorthand:
            field, read = self._keys[kind][kind.shorthand]
            value = read(node)
            return FAULTY if value is FAULTY else kind(node=node, **{field: value})
        if not isinstance(node, Mapping):
            expected = f"a mapping ({kind.called})"
            return self._unexpected(node, expected, kind.example, hidden=kind.hidden)
        return FAULTY if kind.shorthand and self._collided(node) else self._fields(node, kind)

    def _fields(self, node: Mapping, kind: type[Entry]) -> Entry:
        self._around.append(kind)
        keys = self._keys[kind]
        values: dict[str, Any] = {}
        broken: list[str] = []
        meant: set[str] = set()
        for key, child in node:
            known = None if key.value == kind.shorthand else keys.get(key.value)
            if known is None:
                if not key.value.startswith(_IGNORED):
                    meant.add(self._unknown(key, kind, node))
                continue
            field, read = known
            value = FAULTY if self._refused_value(kind, key, child) else read(child)
            if value is FAULTY:
                broken.append(field)
            elif field not in kind.__struct_fields__:
                values.setdefault("chosen", {})[field] = value
            else:
                values[field] = value
        self._around.pop()
        missing = [name for name in kind.required if name not in node.entries]
        for name in missing:
            if name not in meant:
                message = f"{kind.called} needs the key '{name}'"
                self._fault("missing-key", message, node, first=True)
        broken += [keys[n][0] if n in keys else n for n in {*missing, *meant}]
        return kind(node=node, broken=frozenset(broken), **values)

    def _unknown(self, key: Scalar, kind: type[Entry], node: Mapping) -> str:
        """Report a key; gives the one that was probably meant, '?' if none is known."""
        name = key.value
        if refusal := self._refused.get((kind.__name__, name)):
            self._fault(refusal.code, refusal.message, key, refusal.hint)
            return refusal.meant or "?"
        names = [n for n in self._keys[kind] if n != kind.shorthand]
        near = self._suggest.closest(name, names)
        taken = any(one in node.entries for one in near)
        hint = (
            self._beside(name, kind, node)
            or meaning(name, near, fix=not taken)
            or self._home(name)
            or (kind.example and f"write {kind.example}")
            or f"known keys: {', '.join(names)}"
        )
        self._fault("unknown-key", f"unknown key '{shown(name)}' in {kind.called}", key, hint)
        return near[0] if near else "?"

    def _beside(self, name: str, kind: type[Entry], node: Mapping) -> str | None:
        """Where a key belongs that stands one level too high or too low."""
        for other in self._all_keys(kind):
            inner = _entry_in(other.kind) if other.name in node.entries else None
            if inner is not None and name in self._keys.get(inner, ()):
                return f"'{name}' belongs under '{other.name}:'"
        around = self._around[-2] if len(self._around) > 1 else kind
        if around is kind:
            return None
        beside = f"one level up, beside the other keys of {around.called}"
        if name in self._keys[around]:
            return f"'{name}' belongs {beside}"
        foreign = self._refused.get((around.__name__, name))
        return f"'{foreign.meant}' is meant, {beside}" if foreign and foreign.meant else None

    def _home(self, name: str) -> str | None:
        """Where a key belongs that stands in the wrong mapping: nearly always an indentation."""
        homes = list(dict.fromkeys(_a(called) for called in self._homes.get(name, ())))
        if not 0 < len(homes) <= _HOMES_SHOWN:
            return None
        return f"'{name}' is a key of {' or '.join(homes)}: is it indented as it should be?"

    def _refused_value(self, kind: type[Entry], key: Scalar, child: Node) -> bool:
        value = child.value if isinstance(child, Scalar) else ""
        if refusal := self._refused.get((kind.__name__, key.value, value)):
            self._fault(refusal.code, refusal.message, child, refusal.hint)
        return refusal is not None

    # -- faults -------------------------------------------------------------------------------

    def _unexpected(
        self, node: Node, expected: str, example: str = "", *, hidden: bool = False
    ) -> Any:
        hint, found = (f"write {example}" if example else None), described(node)
        if hidden and isinstance(node, Scalar) and not means_nothing(node):
            self.report.source.hide(node.start, node.end)
            found, hint = "a text", "a value is never written here: {env: VARIABLE}, {file: PATH}"
        if isinstance(node, Mapping) and expected == "text":
            if self._collided(node):
                return FAULTY
            hint = "if it is an expression or a template, put the whole text in quotes"
        if means_nothing(node):
            hint = "leave the key out if nothing is meant, else indent its value below it"
            text = self.report.source.text[node.start : node.end]
            if node.value == "" and text.startswith("&"):  # nearly always a text that begins so
                anchor = shown(text)
                found = f"only an anchor, {anchor}, and nothing after it"
                hint = (
                    f"write its value after it; if this text is meant, quote it: {quoted(anchor)}"
                )
        return self._fault(
            "wrong-type", f"expected {expected}, found {found}", node, hint, first=True
        )

    def _collided(self, node: Mapping) -> bool:
        """A text with a `: ` in it that YAML took for a mapping."""
        first = next(iter(node), None)
        if first is None or first[0].start != node.start or _KEY.fullmatch(first[0].value):
            return False
        whole = collision(self.report.source, node.start)
        self.report.error(
            "needs-quotes",
            "YAML cannot read this text without quotes around all of it",
            node.start,
            node.start + len(whole),
            quoting(whole),
        )
        return True

    def _fault(
        self, code: str, message: str, node: Node, hint: str | None = None, *, first: bool = False
    ) -> Any:
        span = opening(node) if first else (node.start, max(node.end, node.start + 1))
        self.report.error(code, message, *span, instead(hint, node))
        return FAULTY


def _entry_in(kind: Any) -> type[Entry] | None:
    """The entry that a key of this type holds, None if it holds none, or several in a list."""
    if get_origin(kind) in (list, Table):
        return None
    if isinstance(kind, type) and issubclass(kind, Entry):
        return kind
    return next((found for one in get_args(kind) if (found := _entry_in(one))), None)


def _a(called: str) -> str:
    """`this rule` as `a rule`."""
    noun = called.removeprefix("this ")
    article = "an" if noun[0] in "aeiou" else "a"
    return called if noun == called else f"{article} {noun}"


def opening(node: Node) -> tuple[int, int]:
    """What to underline of a node that may span many lines: its first key, or its first sign."""
    first = next(iter(node), None) if isinstance(node, Mapping) else None
    if first is not None and first[0].start == node.start:
        return first[0].start, first[0].end
    return node.start, max(node.end if isinstance(node, Scalar) else 0, node.start + 1)


def described(node: Node) -> str:
    """What stands there, for messages: `a list`, `nothing`, `'abc'`."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    return (node.value or "nothing") if means_nothing(node) else f"'{shown(node.value)}'"


def means_nothing(node: Node) -> TypeGuard[Scalar]:
    """Whether a plain null stands there, or nothing at all."""
    return isinstance(node, Scalar) and node.style == "" and node.value in _NOTHING
