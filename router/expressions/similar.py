"""Texts that differ only in what they compare with are parsed once; large files have many."""

import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

import msgspec

from router.expressions.expression import Expression
from router.expressions.nodes import Node
from router.expressions.parse import LENGTH_MAX

_COMPARED = re.compile(
    r"""([!=]=[ ]*)'([^'\\]*)' | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`\\]|\\.)*`""",
    re.VERBOSE | re.DOTALL,
)
"""A text behind `==` or `!=`; other quoted ones are stepped over whole."""


class _Model(msgspec.Struct, frozen=True):
    """An expression that was parsed, where its compared texts begin, and how long each is."""

    expression: Expression
    starts: list[int]
    lengths: list[int]


class SimilarExpressions:
    """Compiles like `compile_`, of texts with one outline only the first."""

    def __init__(self, compile_: Callable[[str], Expression]) -> None:
        self._compile = compile_
        self._models: dict[str, _Model] = {}

    def compile(self, text: str) -> Expression:
        """The expression of the text. Raises ExpressionError as `compile_` does."""
        found: list[re.Match[str]] = []

        def outlined(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0]
            found.append(match)
            return f"{match[1]}''"

        outline = _COMPARED.sub(outlined, text)
        lengths = [len(match[2]) for match in found]
        if (model := self._models.get(outline)) is None or len(text) > LENGTH_MAX:
            made = self._compile(text)
            starts = [match.start(2) - 1 for match in found]
            self._models.setdefault(outline, _Model(made, starts, lengths))
            return made
        longer = [mine - its for mine, its in zip(lengths, model.lengths, strict=True)]
        shifts = [0, *accumulate(longer)]
        tree = _moved(model.expression.tree, model.starts, shifts, [match[2] for match in found])
        return Expression(text, tree, model.expression.names)


def _moved(node: Node, starts: list[int], shifts: list[int], texts: list[str]) -> Node:
    """The node of a text in which those that begin at `starts` are these, and longer by so much."""
    start, end = node.start, node.end
    before = bisect_left(starts, start)
    value = node.value
    if node.kind == "literal" and before < len(starts) and starts[before] == start:
        value = texts[before]
    return Node(
        node.kind,
        start + shifts[before],
        end + shifts[bisect_left(starts, end)],
        value,
        tuple([_moved(child, starts, shifts, texts) for child in node.children]),
        node.bare,
    )
