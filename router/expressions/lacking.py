"""Whether an expression reads something that a scope does not have."""

from collections.abc import Iterator
from typing import Any

from router.expressions.absent import Lazy
from router.expressions.expression import Expression, Scope
from router.expressions.nodes import Node, path_of

Keys = tuple[str | int, ...]
_FIRST_ONLY = ("chain", "pipe", "list_projection", "value_projection", "filter")
"""What reads its first part from the scope, and the others of what that gives."""


def lacks(expression: Expression, scope: Scope) -> bool:
    """
    Whether some path that the expression reads from the scope leads nowhere: no such key, or a
    step through null. What is read of the elements of a list does not count.
    """
    return any(_leads_nowhere(keys, scope) for keys in _paths(expression.tree))


def _leads_nowhere(keys: Keys, value: Any) -> bool:
    for key in keys:
        if isinstance(value, Lazy | str):
            return isinstance(value, str)
        try:
            value = value[key]
        except (LookupError, TypeError):  # no such key or position; neither object nor list
            return True
    return False


def _paths(node: Node) -> Iterator[Keys]:
    """The paths from the scope, each as far as it is names and positions."""
    if (path := path_of(node)) is not None:
        yield path[1]
    elif node.kind in _FIRST_ONLY:
        yield from _paths(node.children[0])
    elif node.kind != "expref":
        for child in node.children:
            yield from _paths(child)
