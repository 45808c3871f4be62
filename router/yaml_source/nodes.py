"""What a YAML file is made of once it has been read: three kinds of node, each with its place."""

from collections.abc import Iterator

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


class Sequence:
    """A list; `start` and `end` are offsets into the source."""

    __slots__ = ("end", "items", "start")

    def __init__(self, start: int) -> None:
        self.items: list[Node] = []
        self.start = start
        self.end = start + 1


class Mapping:
    """A mapping with text keys; every key stands once, with the scalar it was written as."""

    __slots__ = ("end", "entries", "start")

    def __init__(self, start: int) -> None:
        self.entries: dict[str, tuple[Scalar, Node]] = {}
        self.start = start
        self.end = start + 1

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
