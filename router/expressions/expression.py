"""One expression, compiled: what it reads, and its readings as closures."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from router.errors import EvaluationError, ExpressionError
from router.expressions.absent import ABSENT, JSON, Failed, Lazy
from router.expressions.calls import check_call
from router.expressions.faults import FAULTS, reason_of
from router.expressions.idioms import translated
from router.expressions.nodes import Node, walk
from router.expressions.parse import TOO_COMPLEX, parse
from router.expressions.reads import Names, Use, names_of, spans_of
from router.expressions.value import Run, build
from router.expressions.verdict import KEY, VALUE, build_verdict

GROWTH_MAX = 2_000
_MULTIPLY = ("chain", "pipe", "list_projection", "value_projection", "filter")
Scope = Mapping[str, JSON]
"""Root names to their values: a plain dict; `def` is a Definitions."""


class Expression:
    """
    A compiled expression; immutable, and equal only to itself.

    `search(value)` reads plain JMESPath of any value. `value(scope)` reads it over the roots; what
    is absent is None. Both raise EvaluationError. `verdict(scope)` is True, False or Failed and
    never raises. `run` is the closure that `value` calls: it keeps ABSENT apart, and whatever may
    go wrong in it is one of FAULTS. `key_run` reads it as a key: see `key_of`.

    `roots` are the top-level names it reads, `uses` the (root, field) pairs, `spans` where each
    stands first in `text` (start, end), in its order; `reads` are the roots that it takes, named or
    not. `names` holds all but the places; `tree` is for packages that look inside. `outline` is the
    text without those that it compares with, `compared`, where similar ones share it.
    """

    __slots__ = (
        "_of_texts",
        "compared",
        "key_run",
        "names",
        "outline",
        "run",
        "spans",
        "text",
        "tree",
        "value",
        "verdict",
    )

    text: str
    outline: str
    tree: Node
    names: Names
    spans: Mapping[Use | str, tuple[int, int]]
    run: Run
    key_run: Run
    value: Callable[[Scope], JSON]
    verdict: Callable[[Scope], bool | Failed]

    def __init__(
        self,
        text: str,
        tree: Node | None = None,
        *,
        names: Names | None = None,
        of_texts: Callable[[tuple[str, ...]], Node] | None = None,
    ) -> None:
        self.text = text
        self.outline = text
        self.compared: tuple[str, ...] = ()
        if tree is not None:
            self.tree = tree
        if names is not None:
            self.names = names
        if of_texts is not None:
            self._of_texts = of_texts

    def __getattr__(self, name: str) -> Any:
        """The readings are compiled when they are first asked for, then kept."""
        if (make := _MAKE.get(name)) is None:
            raise AttributeError(name)
        made = make(self)
        object.__setattr__(self, name, made)
        return made

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def search(self, value: JSON) -> JSON:
        """Plain JMESPath: `$` and `@` are `value`. Raises EvaluationError."""
        return self.value(value)

    @property
    def roots(self) -> frozenset[str]:
        """The top-level names it reads; `$.x` counts as x."""
        return self.names.roots

    @property
    def uses(self) -> frozenset[Use]:
        """The (root, first field) pairs it reads."""
        return self.names.uses

    @property
    def reads(self) -> frozenset[str]:
        """All roots that its value depends on; none: it is the same in every scope. See Names."""
        return self.names.roots | self.names.unnamed


def _make_value(expression: Expression) -> Callable[[Scope], JSON]:
    run = expression.run

    def value(scope: Scope) -> JSON:
        try:
            found = run(scope, scope)
            if isinstance(found, Lazy):
                found = found.everything()
        except EvaluationError:
            raise
        except FAULTS as fault:
            raise EvaluationError(reason_of(fault)) from None
        return None if found is ABSENT else found

    return value


def _make_verdict(expression: Expression) -> Callable[[Scope], bool | Failed]:
    judge = build_verdict(expression.tree)
    return lambda scope: judge(scope, scope)  # a judging closure answers for its own faults


_MAKE: dict[str, Callable[[Expression], Any]] = {
    "run": lambda expression: build(expression.tree, VALUE),
    "key_run": lambda expression: build(expression.tree, KEY),
    "tree": lambda expression: expression._of_texts(expression.compared),  # noqa: SLF001 - its own
    "names": lambda expression: names_of(expression.tree),
    "spans": lambda expression: MappingProxyType(spans_of(expression.tree)),
    "value": _make_value,
    "verdict": _make_verdict,
}


def compile(text: str) -> Expression:  # noqa: A001 - the public name, as in re.compile
    """
    The expression of a text. Raises ExpressionError with offsets into it: `expression-syntax`,
    `expression-too-complex`, `unknown-function`, `function-arity`, `function-argument`,
    `bad-pattern`.
    """
    try:
        return checked(text, parse(text))
    except ExpressionError as fault:
        raise translated(fault, text) from None
    except RecursionError:
        raise ExpressionError(TOO_COMPLEX, "this is nested too deeply", 0, len(text)) from None


def checked(text: str, tree: Node) -> Expression:
    """The expression of a tree whose calls and size are as they should be."""
    for node, _, _ in walk(tree):
        if node.kind == "call":
            check_call(node)
    if _growth(tree) > GROWTH_MAX:  # `[@, @] | [@, @] | …` multiplies selections
        message = "its result could grow without bound: selections of selections"
        raise ExpressionError(TOO_COMPLEX, message, tree.start, tree.end)
    return Expression(text, tree)


def _growth(node: Node) -> int:
    """How often at most the input can be repeated in the result."""
    grown = [_growth(child) for child in node.children]
    if node.kind in _MULTIPLY or any(child.kind == "expref" for child in node.children):
        return min(math.prod(grown), GROWTH_MAX + 1)
    if node.kind in ("select_list", "select_hash", "call"):
        return max(sum(grown), 1)
    return max(grown, default=1)
