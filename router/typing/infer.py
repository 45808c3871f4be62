"""The tables of the walk, and its entrance."""

from router.expressions.expression import Expression
from router.typing import calls, values, verdicts
from router.typing.fields import read_field
from router.typing.lattice import BOOLEAN_TYPE, Type, constant
from router.typing.run import NO_CLUES, Clues, TypeScope, TypeWalk, Values, Verdicts

_VALUES: Values = {
    "current": lambda _run, _node, view: view.current,
    "root": lambda _run, _node, view: view.root,
    "literal": lambda _run, node, _view: constant(node.value),
    "field": lambda run, node, view: read_field(run, node, view, first=True),
    "index": values.of_index,
    "slice": values.of_slice,
    "chain": values.of_chain,
    "pipe": values.of_pipe,
    "flatten": values.of_flatten,
    "list_projection": values.of_list_projection,
    "value_projection": values.of_value_projection,
    "filter": values.of_list_projection,
    "select_list": values.of_select_list,
    "select_hash": values.of_select_hash,
    "or": values.of_logic,
    "and": values.of_logic,
    "not": values.of_not,
    "compare": values.of_compare,
    "call": calls.of_call,
    "expref": lambda *_: BOOLEAN_TYPE,  # only calls take it, and they read what is inside
}
_VERDICTS: Verdicts = {
    "and": verdicts.of_and,
    "or": verdicts.of_or,
    "not": verdicts.of_not,
    "pipe": verdicts.of_pipe,
    "compare": verdicts.of_compare,
    "truth": verdicts.of_truth,
}
TABLES = (_VALUES, _VERDICTS)


def value_type(
    expression: Expression, roots: Type, clues: Clues = NO_CLUES
) -> tuple[Type, TypeWalk]:
    """What the expression may give as a value, and what was found on the way."""
    run = TypeWalk(expression.text, TABLES, clues)
    return run.value(expression.tree, TypeScope(roots, strict=False)), run
