"""How much larger than its input a result may become, seen from the tree alone."""

import math

from router.errors import ExpressionError
from router.expressions.nodes import Node

GROWTH_MAX = 2_000
_MULTIPLY = ("chain", "pipe", "list_projection", "value_projection", "filter")


def check_growth(tree: Node) -> None:
    """Refuses selections that multiply selections, such as `[@, @] | [@, @] | …`."""
    if growth(tree) > GROWTH_MAX:
        raise ExpressionError(
            "expression-too-complex",
            "its result could grow without bound: selections of selections",
            tree.start,
            tree.end,
        )


def growth(node: Node) -> int:
    """How often at most the input can be repeated in the result."""
    grown = [growth(child) for child in node.children]
    if node.kind in _MULTIPLY or any(child.kind == "expref" for child in node.children):
        return min(math.prod(grown), GROWTH_MAX + 1)
    if node.kind in ("select_list", "select_hash", "call"):
        return max(sum(grown), 1)
    return max(grown, default=1)
