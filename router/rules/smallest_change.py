"""The smallest change: what one part of a condition would have had to find to help."""

from decimal import Decimal, InvalidOperation

import msgspec

from router.expressions.compare import is_number
from router.expressions.nodes import Node
from router.expressions.trace import Found, Leaf

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CALLS = {
    "starts_with": ("needs to begin with", "must not begin with"),
    "ends_with": ("needs to end with", "must not end with"),
    "contains": ("needs to contain", "must not contain"),
    "glob": ("needs to fit", "must not fit"),
    "matches": ("needs to fit", "must not fit"),
    "any_glob": ("needs a text that fits", "must have no text that fits"),
}


class SmallestChange(msgspec.Struct, frozen=True):
    """
    `of` (a part of the condition's text) `needs` something; `found` is what it was, if known.

    `hint` says what is likely meant instead, where that shows.
    """

    leaf: int
    of: str
    needs: str
    found: Found | None
    hint: str | None = None


def smallest_change(leaf: Leaf) -> SmallestChange:
    """What this leaf would have had to find; it was evaluated and did not help."""
    node, wanted = leaf.node, leaf.wanted
    while node is not None and node.kind == "not":
        node, wanted = node.children[0], not wanted
    if node is None:
        return SmallestChange(leaf.number, leaf.text, _truth(wanted), None)
    if node.kind == "compare":
        return _compared(leaf, node, wanted)
    if node.kind == "call":
        return _called(leaf, node, wanted)
    return _change(leaf, node, _truth(wanted))


def _change(leaf: Leaf, of: Node, needs: str, hint: str | None = None) -> SmallestChange:
    text = leaf.expression[of.start : of.end]
    found = next((f for f in leaf.found if f.text == text), None)
    return SmallestChange(leaf.number, text, needs, found, hint)


def _truth(wanted: bool) -> str:
    return "needs to be true, or not empty" if wanted else "needs to be false, null or empty"


def _compared(leaf: Leaf, node: Node, wanted: bool) -> SmallestChange:
    left, right = node.children
    sign = str(node.value) if wanted else _OPPOSITE[str(node.value)]
    if left.kind == "literal" and right.kind != "literal":
        left, right, sign = right, left, _MIRRORED.get(sign, sign)
    other = leaf.expression[right.start : right.end]
    words = {"==": "needs", "!=": "must not be"}.get(sign, f"needs {sign}")
    return _change(leaf, left, f"{words} {other}", _text_hint(leaf, sign, left, right))


def _text_hint(leaf: Leaf, sign: str, *sides: Node) -> str | None:
    """A number in a text, where a number was meant: prices come so."""
    if sign in ("==", "!=") and all(side.kind != "literal" for side in sides):
        return None
    if not any(is_number(side.value) for side in sides if side.kind == "literal"):
        return None
    for found in leaf.found:
        if found.type == "string" and _reads_as_number(found.value):
            return f"it is a text; write decimal({found.text})"
    return None


def _reads_as_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _called(leaf: Leaf, node: Node, wanted: bool) -> SmallestChange:
    if node.value == "exists":
        return _change(
            leaf, node.children[0], "needs to be there" if wanted else "must not be there"
        )
    words = _CALLS.get(str(node.value))
    if words is None or len(node.children) != 2:
        return SmallestChange(
            leaf.number, leaf.expression[node.start : node.end], _truth(wanted), None
        )
    subject, other = node.children
    if node.value == "contains" and subject.kind in ("literal", "select_list"):
        choices = leaf.expression[subject.start : subject.end]
        return _change(
            leaf, other, f"{'needs to be one' if wanted else 'must be none'} of {choices}"
        )
    text = leaf.expression[other.start : other.end]
    return _change(leaf, subject, f"{words[0] if wanted else words[1]} {text}")
