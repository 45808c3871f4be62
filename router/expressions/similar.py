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

    def tree(self, texts: tuple[str, ...]) -> Node:
        """The tree with other texts in their places."""
        longer = (len(mine) - its for mine, its in zip(texts, self.lengths, strict=True))
        return _moved(self.expression.tree, self.starts, [0, *accumulate(longer)], texts)


class SimilarExpressions:
    """Compiles like `compile_`, of texts with one outline only the first."""

    def __init__(self, compile_: Callable[[str], Expression]) -> None:
        self._compile = compile_
        self._models: dict[str, _Model] = {}

    def compile(self, text: str) -> Expression:
        """
        The expression of the text; `outline` is the same of all that are similar, `compared` are
        the texts in which they differ. Raises ExpressionError as `compile_` does.
        """
        found: list[re.Match[str]] = []

        def outlined(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0]
            found.append(match)
            return f"{match[1]}''"

        outline = _COMPARED.sub(outlined, text)
        if (model := self._models.get(outline)) is None or len(text) > LENGTH_MAX:
            made = self._compile(text)
            starts = compared_at(text)
            model = _Model(made, starts, [len(match[2]) for match in found])
            self._models.setdefault(outline, model)
        else:
            made = Expression(text, names=model.expression.names, of_texts=model.tree)
        made.outline, made.compared = outline, tuple([match[2] for match in found])
        return made


def compared_at(text: str) -> list[int]:
    """Where the texts of `compared` begin."""
    return [match.start(2) - 1 for match in _COMPARED.finditer(text) if match[1] is not None]


def _moved(node: Node, starts: list[int], shifts: list[int], texts: tuple[str, ...]) -> Node:
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
