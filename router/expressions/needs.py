"""What a condition needs to be true, as far as an index can use it."""

from decimal import Decimal

import msgspec

from router.expressions.absent import JSON
from router.expressions.compare import exact, is_number
from router.expressions.expression import Expression
from router.expressions.nodes import Node, path_of

IndexKey = tuple[str, str | bool | int | Decimal]


class Need(msgspec.Struct, frozen=True):
    """
    The condition can be true only if the field at `path` (names from the scope) is there and
    equals one of `values` (texts, numbers, booleans).

    If it is there and equals none of them, the verdict is False, whatever else errs.
    """

    path: tuple[str, ...]
    values: tuple[JSON, ...]


def needs_of(expression: Expression) -> tuple[Need, ...]:
    """Every `path == literal`, and `||` of such on one path, on the condition's AND spine."""
    spine = [expression.tree]
    found = list[Need]()
    while spine:
        node = spine.pop()
        if node.kind == "and":
            spine.extend(reversed(node.children))
        elif (need := _need(node)) is not None:
            found.append(need)
    return tuple(found)


def index_key(value: JSON) -> IndexKey | None:
    """A key that is equal exactly when the values are; None for what no index holds."""
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bool):
        return "boolean", value
    return ("number", exact(value)) if is_number(value) else None


def _need(node: Node) -> Need | None:
    if node.kind == "or":
        parts = [_need(child) for child in node.children]
        return _joined([part for part in parts if part is not None], len(parts))
    if node.kind != "compare" or node.value != "==":
        return None
    left, right = node.children
    if left.kind == "literal":
        left, right = right, left
    path = path_of(left)
    if path is None or right.kind != "literal" or index_key(right.value) is None:
        return None
    names = tuple(key for key in path[1] if isinstance(key, str))
    if len(names) != len(path[1]) or not names:
        return None
    return Need(names, (right.value,))


def _joined(parts: list[Need], wanted: int) -> Need | None:
    """Alternatives on one path."""
    if len(parts) != wanted or len({part.path for part in parts}) != 1:
        return None
    return Need(parts[0].path, tuple(value for part in parts for value in part.values))
