"""How much larger than its input a result may become, seen from the tree alone."""

from router.errors import ExpressionError
from router.expressions.nodes import Node

GROWTH_MAX = 2_000


def check_growth(tree: Node) -> None:
    """Refuses selections that multiply selections, such as `[@, @] | [@, @] | …`."""
    if growth(tree) > GROWTH_MAX:
        message = "its result could grow without bound: selections of selections"
        raise ExpressionError("expression-too-complex", message, tree.start, tree.end)


def growth(node: Node) -> int:
    """How often at most the input can be repeated in the result."""
    grown = [growth(child) for child in node.children]
    match node.kind:
        case "chain" | "pipe" | "list_projection" | "value_projection" | "filter":
            total = 1
            for one in grown:
                total = min(total * one, GROWTH_MAX + 1)
            return total
        case "select_list" | "select_hash":
            return sum(grown)
        case "call":
            return _of_call(node, grown)
    return max(grown, default=1)


def _of_call(node: Node, grown: list[int]) -> int:
    if any(child.kind == "expref" for child in node.children):
        total = 1
        for one in grown:
            total *= one
        return total
    return max(sum(grown), 1)
