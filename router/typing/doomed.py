"""Calls whose result is the same whatever comes, and those that can only fail."""

from typing import Any

from msgspec.structs import replace

from router.errors import EvaluationError
from router.expressions import absent
from router.expressions.faults import FAULTS, reason_of
from router.expressions.functions_number import to_number
from router.expressions.nodes import Node
from router.expressions.value import build
from router.expressions.verdict import VALUE
from router.typing.lattice import ABSENT, FALSE, FAULT, TEXT, TRUE, Type, constant
from router.typing.run import TypeWalk

_OF_THE_DELIVERY = frozenset({"now", "age"})
_SPECIMENS: dict[str, Any] = {
    "cidr": "192.0.2.1",
    "split": "a",
    "replace": "a",
    "round": 1,
    "div": 1,
}
"""Functions that some of their further arguments make fail, and a first one that does not."""
_NUMBERS = frozenset({"decimal", "to_number"})


def constant_result(run: TypeWalk, node: Node, kinds: list[Type]) -> Type | None:
    """The type of a call of constants alone, None of any other; one that must fail is found."""
    if run.found_within(node):
        return None
    if node.children and is_closed(node):
        return _evaluated(run, node, node)
    if node.value == "age" and is_closed(node.children[0]):
        found = _evaluated(run, replace(node, value="date"), node)
        return found if found.kinds == FAULT else None
    rest = node.children[1:]
    if node.value in _SPECIMENS and rest and all(map(is_closed, rest)):
        first = Node("literal", node.start, node.start, _SPECIMENS[node.value])
        found = _evaluated(run, replace(node, children=(first, *rest)), rest[0])
        if found.kinds == FAULT:
            return found
    if node.value in _NUMBERS:
        _check_shown(run, node, kinds[0])
    return None


def membership(node: Node, kinds: list[Type]) -> Type | None:
    """
    The type of `contains(['a', 'b'], x)` where `x` is one of texts that are known: all of them are
    in the list, or none is. None of any other call.
    """
    if node.value != "contains" or kinds[1].kinds != TEXT or (texts := kinds[1].texts) is None:
        return None
    held = node.children[0]
    if held.kind == "literal" and isinstance(held.value, list):
        listed = held.value
    elif held.kind == "select_list" and all(one.kind == "literal" for one in held.children):
        listed = [one.value for one in held.children]
    else:
        return None
    inside = {text in listed for text in texts}
    return None if len(inside) != 1 else Type(TRUE if inside == {True} else FALSE)


def is_closed(node: Node) -> bool:
    """Whether it reads nothing: it is made of constants alone."""
    if node.kind == "literal":
        return True
    if node.kind not in ("call", "select_list") or node.value in _OF_THE_DELIVERY:
        return False
    return all(map(is_closed, node.children))


def _evaluated(run: TypeWalk, node: Node, place: Node) -> Type:
    try:
        value = build(node, VALUE)({}, {})
    except EvaluationError as fault:
        _fails(run, place, str(fault))
    except FAULTS as fault:
        _fails(run, place, reason_of(fault))
    else:
        return Type(ABSENT) if value is absent.ABSENT else constant(value)
    return Type(FAULT)


def _fails(run: TypeWalk, place: Node, reason: str) -> None:
    run.note("always-fails", f"this always fails: {reason}", place)


def _check_shown(run: TypeWalk, node: Node, kind: Type) -> None:
    """A text whose known values show no number."""
    words = kind.texts or kind.known
    if not words or not kind.surely(TEXT) or any(map(_is_number, words)):
        return
    [argument] = node.children
    about = f"one of {', '.join(map(repr, sorted(words)[:3]))}"
    gives = "gives null" if node.value == "to_number" else "fails"
    message = f"{node.value}() always {gives} here: {run.source(argument)} is {about}"
    run.warn("always-fails", f"{message}, and shows no number", argument)


def _is_number(text: str) -> bool:
    return to_number(text) is not None
