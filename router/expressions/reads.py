"""What an expression reads of its scope, and where its text says so."""

from router.expressions.nodes import Node

Use = tuple[str, str]
Spans = dict[Use | str, tuple[int, int]]


def reads_of(tree: Node) -> Spans:
    """
    Every root, and every (root, field) the expression names, with the first place (start, end).

    `$.x` counts as root x wherever it stands. Fields of other values are no roots.
    """
    spans: Spans = {}
    _read(tree, True, spans)
    return dict(sorted(spans.items(), key=lambda item: (item[1], str(item[0]))))


def _read(node: Node, at_scope: bool, spans: Spans) -> None:
    match node.kind:
        case "field":
            if at_scope:
                _note(spans, [node])
        case "chain":
            _read_chain(_steps(node), at_scope, spans)
        case "pipe":
            for child in node.children:
                _read(child, at_scope, spans)
                at_scope = child.kind == "root" or (at_scope and child.kind == "current")
        case "list_projection" | "value_projection" | "filter":
            first, *others = node.children
            _read(first, at_scope, spans)
            for child in others:
                _read(child, False, spans)
        case "expref":
            _read(node.children[0], False, spans)
        case _:
            for child in node.children:
                _read(child, at_scope, spans)


def _steps(node: Node) -> list[Node]:
    """The steps of a chain; list positions after a field are steps of their own."""
    if node.kind == "chain":
        return [step for child in node.children for step in _steps(child)]
    if node.kind == "index" and node.children[0].kind != "current":
        return [*_steps(node.children[0]), Node("index", node.start, node.end, node.value)]
    return [node]


def _read_chain(steps: list[Node], at_scope: bool, spans: Spans) -> None:
    if steps[0].kind == "root" or (at_scope and steps[0].kind == "current"):
        at_scope, steps = True, steps[1:]
    if not steps:
        return
    if at_scope and steps[0].kind == "field":
        _note(spans, steps[:2])
    for position, step in enumerate(steps):
        if step.kind not in ("field", "index"):
            _read(step, at_scope and position == 0, spans)


def _note(spans: Spans, steps: list[Node]) -> None:
    root = steps[0]
    spans.setdefault(root.value, (root.start, root.end))
    if len(steps) > 1 and steps[1].kind == "field":
        spans.setdefault((root.value, steps[1].value), (root.start, steps[1].end))
