"""What an expression reads of its scope, and where its text says so."""

from typing import NamedTuple

import msgspec

from router.expressions.nodes import Node, walk
from router.expressions.signatures import FUNCTIONS

Use = tuple[str, str]
Spans = dict[Use | str, tuple[int, int]]
WHOLE = "$"
"""Stands among the roots that are read for the scope itself: `keys($)` reads them all."""


class Names(msgspec.Struct, frozen=True):
    """
    The names that an expression reads: `roots` and the (root, field) pairs. `unnamed` are the
    roots that it reads without naming them: WHOLE, and `delivery` where it asks for the time, by
    now() or age().

    `$.x` counts as root x wherever it stands. Fields of other values are no roots.
    """

    roots: frozenset[str]
    uses: frozenset[Use]
    unnamed: frozenset[str]


def names_of(tree: Node) -> Names:
    """The names that an expression reads."""
    spans, unnamed = _reads(tree)
    if any(FUNCTIONS[node.value].scoped for node, _, _ in walk(tree) if node.kind == "call"):
        unnamed.add("delivery")
    return Names(
        frozenset(key for key in spans if isinstance(key, str)),
        frozenset(key for key in spans if not isinstance(key, str)),
        frozenset(unnamed),
    )


def spans_of(tree: Node) -> Spans:
    """Where each root and each (root, field) stands first (start, end), in the text's order."""
    spans, _ = _reads(tree)
    return dict(sorted(spans.items(), key=lambda item: (item[1], str(item[0]))))


class _Reads(NamedTuple):
    spans: Spans
    unnamed: set[str]


def _reads(tree: Node) -> _Reads:
    reads = _Reads({}, set())
    _read(tree, True, reads)
    return reads


def _read(node: Node, at_scope: bool, reads: _Reads) -> None:
    match node.kind:
        case "root" | "current":
            if at_scope or node.kind == "root":
                reads.unnamed.add(WHOLE)
        case "field":
            if at_scope:
                _note(reads.spans, [node])
        case "chain":
            _read_chain(_steps(node), at_scope, reads)
        case "pipe":
            for child in node.children:
                _read(child, at_scope, reads)
                at_scope = child.kind == "root" or (at_scope and child.kind == "current")
        case "list_projection" | "value_projection" | "filter":
            first, *others = node.children
            _read(first, at_scope, reads)
            for child in others:
                _read(child, False, reads)
        case "expref":
            _read(node.children[0], False, reads)
        case _:
            for child in node.children:
                _read(child, at_scope, reads)


def _steps(node: Node) -> list[Node]:
    """The steps of a chain; list positions after a field are steps of their own."""
    if node.kind == "chain":
        return [step for child in node.children for step in _steps(child)]
    if node.kind == "index" and node.children[0].kind != "current":
        return [*_steps(node.children[0]), Node("index", node.start, node.end, node.value)]
    return [node]


def _read_chain(steps: list[Node], at_scope: bool, reads: _Reads) -> None:
    if steps[0].kind == "root" or (at_scope and steps[0].kind == "current"):
        at_scope, steps = True, steps[1:]
    if not steps:
        return
    if at_scope and steps[0].kind == "field":
        _note(reads.spans, steps[:2])
    for position, step in enumerate(steps):
        if step.kind not in ("field", "index"):
            _read(step, at_scope and position == 0, reads)


def _note(spans: Spans, steps: list[Node]) -> None:
    root = steps[0]
    spans.setdefault(root.value, (root.start, root.end))
    if len(steps) > 1 and steps[1].kind == "field":
        spans.setdefault((root.value, steps[1].value), (root.start, steps[1].end))
