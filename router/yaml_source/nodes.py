"""What a YAML file is made of once it has been read: three kinds of node, each with its place."""

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec


class Scalar(msgspec.Struct, eq=False):
    """
    A text as YAML read it.

    `start` and `end` are offsets into the source and include quotes. `style` is '' for plain,
    else one of `'`, `"`, `|`, `>`.
    """

    value: str
    style: str
    start: int
    end: int


class Sequence(msgspec.Struct, eq=False):
    """A list; `start` and `end` are offsets into the source."""

    start: int
    end: int
    items: list["Node"] = []


class Mapping(msgspec.Struct, eq=False):
    """A mapping with text keys; every key stands once, with the scalar it was written as."""

    start: int
    end: int
    entries: dict[str, tuple[Scalar, "Node"]] = {}

    def __iter__(self) -> Iterator[tuple[Scalar, "Node"]]:
        return iter(self.entries.values())

    def key(self, name: str) -> "Scalar | None":
        """The key as written, if the mapping has it."""
        entry = self.entries.get(name)
        return entry[0] if entry else None

    def get(self, name: str) -> "Node | None":
        """The value of a key, if the mapping has it."""
        entry = self.entries.get(name)
        return entry[1] if entry else None


Node = Scalar | Sequence | Mapping


def node_at(node: Node, place: Iterable[str | int], *, of_key: bool = False) -> Node:
    """
    The node that keys and indexes lead to, or the nearest one above it that is there; with `of_key`
    the last key itself. One item may stand alone where a list is expected.
    """
    found: Node | None = node
    key: Scalar | None = None
    for step in place:
        key = node.key(str(step)) if isinstance(node, Mapping) else None
        if isinstance(node, Mapping):
            found = node.get(str(step))
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            found = node.items[step]
        else:
            found = node if step == 0 else None
        if found is None:
            return node
        node = found
    return key if of_key and key is not None else node


def walk(documents: Iterable[Node]) -> Iterator[Node]:
    """Every node of these documents, keys too; what aliases repeat only once."""
    pending, seen = list(documents), set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Sequence):
            pending += node.items
        elif isinstance(node, Mapping):
            pending += chain.from_iterable(node)
