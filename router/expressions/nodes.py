"""The tree an expression is parsed into; every node knows where its text stands."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Kind = Literal[
    "current",  # @, and the empty start of `[0]` or `*`
    "root",  # $
    "literal",  # value: the JSON value
    "field",  # value: its name
    "index",  # value: the position; children: the list
    "slice",  # value: (start, stop, step); children: the list
    "chain",  # a.b.c: each child reads the result of the one before
    "pipe",  # a | b
    "flatten",
    "list_projection",  # children: the list, what to read of each element
    "value_projection",  # children: the object, what to read of each value
    "filter",  # children: the list, what to read of each element, the condition
    "select_list",
    "select_hash",  # value: the keys
    "or",
    "and",
    "not",
    "compare",  # value: == != < <= > >=
    "call",  # value: the function's name
    "expref",  # &a
]


class Node(msgspec.Struct):
    """
    One step of an expression, at characters `start` to `end` of its text.

    `bare` marks an unquoted number, or the unquoted word true, false or null, where the place has
    not yet decided whether it is a literal.
    """

    kind: Kind
    start: int
    end: int
    value: Any = None
    children: tuple["Node", ...] = ()
    bare: bool = False


def walk(tree: Node) -> Iterator[tuple[Node, Node | None, int]]:
    """Every node with its parent and its depth (from 1), without recursion."""
    pending: list[tuple[Node, Node | None, int]] = [(tree, None, 1)]
    while pending:
        node, parent, depth = pending.pop()
        yield node, parent, depth
        pending.extend((child, node, depth + 1) for child in node.children)


Path = tuple[bool, tuple[str | int, ...]]
"""Whether it starts at `$`, and its field names and list positions."""


def path_of(node: Node) -> Path | None:
    """The node as a plain path, or None when it is anything else."""
    match node.kind:
        case "current":
            return False, ()
        case "root":
            return True, ()
        case "field":
            return False, (node.value,)
        case "index":
            left = path_of(node.children[0])
            return None if left is None else (left[0], (*left[1], node.value))
        case "chain":
            return _path_of_chain(node)
    return None


def _path_of_chain(node: Node) -> Path | None:
    rooted, keys = False, list[str | int]()
    for position, child in enumerate(node.children):
        if (step := path_of(child)) is None or (step[0] and position > 0):
            return None
        rooted = rooted or step[0]
        keys.extend(step[1])
    return rooted, tuple(keys)
