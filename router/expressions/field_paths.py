"""Fields as paths from the scope: one that a text names, and those that an expression reads."""

from router.expressions.nodes import Node

EACH = None
"""Stands in a path for every element of a list."""

FieldPath = tuple[str | int | None, ...]
"""A root, then field names, list positions and EACH."""

_STEPS = ("index", "flatten", "chain", "list_projection")
_Place = FieldPath | None
"""Where a value stands; None: it is made, or nobody knows."""


def field_path(tree: Node) -> FieldPath | None:
    """The path that an expression is, if it has only fields, positions, `[]` and `[*]`."""
    place = _plain(tree)
    return place or None


def _plain(node: Node) -> _Place:
    if node.kind in ("current", "root"):
        return ()
    if node.kind == "field":
        return (node.value,)
    if node.kind not in _STEPS or (node.kind == "index" and node.value < 0):
        return None
    path: list[str | int | None] = []
    for position, child in enumerate(node.children):
        if (steps := _plain(child)) is None:
            return None
        path += (EACH, *steps) if position and node.kind == "list_projection" else steps
    return (*path, node.value) if node.kind == "index" else tuple(path)


def covers(path: FieldPath, read: FieldPath) -> bool:
    """Whether what is read is the value at a path, or a part of it."""
    return len(path) <= len(read) and all(
        a == b or EACH in (a, b) for a, b in zip(path, read, strict=False)
    )


def paths_read(tree: Node) -> frozenset[FieldPath]:
    """
    The fields that an expression reads, each as far as its place is known: of what is only
    computed, of a function's result for example, there is none.
    """
    found: set[FieldPath] = set()
    _note(found, _place(tree, (), found))
    return frozenset(found)


def _note(found: set[FieldPath], place: _Place) -> None:
    if place:
        found.add(place)


def _place(node: Node, at: _Place, found: set[FieldPath]) -> _Place:
    """Where its value stands, read beside the value `at`; what it reads on the way is noted."""
    match node.kind:
        case "current" | "root" | "field" | "literal" | "expref":
            return _own_place(node, at)
        case "index" | "slice" | "flatten":
            place = _place(node.children[0], at, found)
            return place if place is None or node.kind != "index" else (*place, node.value)
        case "chain" | "pipe":
            for child in node.children:
                at = _place(child, at, found)
            return at
        case "list_projection" | "value_projection" | "filter":
            return _projected(node, at, found)
    for child in node.children:
        _note(found, _place(child, at, found))
    return None


def _own_place(node: Node, at: _Place) -> _Place:
    if node.kind == "field":
        return None if at is None else (*at, node.value)
    return {"current": at, "root": ()}.get(node.kind)


def _projected(node: Node, at: _Place, found: set[FieldPath]) -> _Place:
    first, each, *condition = node.children
    place = _place(first, at, found)
    element = None if place is None else (*place, EACH)
    for child in condition:
        _note(found, _place(child, element, found))
    return _place(each, element, found)
