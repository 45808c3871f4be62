"""The verdicts that a condition may have."""

from router.expressions.expression import Expression
from router.typing.infer import TABLES
from router.typing.lattice import Type
from router.typing.run import TypeScope, TypeWalk


def verdict_bits(expression: Expression, roots: Type) -> tuple[int, TypeWalk]:
    """What verdict it may have (TRUE, FALSE, FAULT), and what was found on the way."""
    run = TypeWalk(expression.text, TABLES)
    return run.verdict(expression.tree, TypeScope(roots)), run
