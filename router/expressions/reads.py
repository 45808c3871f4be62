"""What an expression reads of its scope, and where its text says so."""

import msgspec

from router.expressions.nodes import Node, walk
from router.expressions.signatures import FUNCTIONS

Use = tuple[str, str]
Spans = dict[Use | str, tuple[int, int]]
WHOLE = "$"
"""Stands among the roots that are read for the scope itself: `keys($)` reads them all."""


class Reads(msgspec.Struct):
    """
    What an expression reads. `spans`: every root, and every (root, field) that it names, with the
    first place (start, end). `unnamed`: the roots that it reads without naming them: WHOLE, and
    `delivery` where it asks for the time, by now() or age().

    `$.x` counts as root x wherever it stands. Fields of other values are no roots.
    """

    spans: Spans
    unnamed: set[str]


def reads_of(tree: Node) -> Reads:
    """What an expression reads, its spans in the order of its text."""
    reads = Reads({}, set())
    _read(tree, True, reads)
    if any(FUNCTIONS[node.value].scoped for node, _, _ in walk(tree) if node.kind == "call"):
        reads.unnamed.add("delivery")
    reads.spans = dict(sorted(reads.spans.items(), key=lambda item: (item[1], str(item[0]))))
    return reads


def _read(node: Node, at_scope: bool, reads: Reads) -> None:
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


def _read_chain(steps: list[Node], at_scope: bool, reads: Reads) -> None:
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
