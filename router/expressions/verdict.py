"""
A tree into closures that judge: True, False or Failed, and only True matches.

Absent fields fail a comparison (but for `== null` and `!= null`), so does ordering anything but
two numbers; in AND one false, in OR one true outweighs an error. The closures never raise.
"""

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON, Failed
from router.expressions.calls import build_call
from router.expressions.compare import a_type, exact, is_number, is_true, same
from router.expressions.faults import FAULTS, reason_of
from router.expressions.nodes import Node, path_of
from router.expressions.value import Run, Semantics, build, present, step

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def build_verdict(node: Node) -> Run:
    """The closure that judges this node."""
    return _VERDICT.get(node.kind, _truth)(node)


# -- joined


def _flat(kind: str, node: Node) -> list[Run]:
    each = (_flat(kind, c) if c.kind == kind else [build_verdict(c)] for c in node.children)
    return [run for runs in each for run in runs]


def _joined(runs: list[Run], decisive: bool) -> Run:
    """One decisive verdict settles it, else one failure is that failure, else the other verdict."""

    def joined(x: Any, s: Any) -> Any:
        failed = None
        for run in runs:
            verdict = run(x, s)
            if verdict is decisive:
                return decisive
            if failed is None and verdict.__class__ is Failed:
                failed = verdict
        return (not decisive) if failed is None else failed

    return joined


def _and(node: Node) -> Run:
    runs = _flat("and", node)
    return _both(*runs) if len(runs) == 2 else _joined(runs, decisive=False)


def _both(first: Run, second: Run) -> Run:
    def both(x: Any, s: Any) -> Any:
        if (left := first(x, s)) is True:
            return second(x, s)
        if left is False:
            return False
        return False if second(x, s) is False else left

    return both


def _not(node: Node) -> Run:
    inner = build_verdict(node.children[0])

    def deny(x: Any, s: Any) -> Any:
        if (verdict := inner(x, s)) is True:
            return False
        return True if verdict is False else verdict

    return deny


def _pipe(node: Node) -> Run:
    *firsts, last = node.children
    judge = build_verdict(last)
    source = build(Node("pipe", node.start, node.end, None, tuple(firsts)), STRICT)

    def pipe(x: Any, s: Any) -> Any:
        try:
            value = source(x, s)
        except FAULTS as fault:
            return Failed(reason_of(fault))
        return judge(value, s)

    return pipe


def _truth(node: Node) -> Run:
    run = build(node, STRICT)

    def truth(x: Any, s: Any) -> Any:
        try:
            return is_true(run(x, s))
        except FAULTS as fault:
            return Failed(reason_of(fault))

    return truth


# -- comparisons


def _compare(node: Node) -> Run:
    left, right = node.children
    sign = node.value
    if left.kind == "literal" and right.kind != "literal":
        left, right, sign = right, left, _MIRRORED[sign]
    if sign in _ORDER:
        return _order(left, right, sign)
    if right.kind == "literal":
        return _equals_literal(left, right.value, sign == "==")
    return _equals(left, right, sign == "==")


def _name(node: Node) -> str:
    if (path := path_of(node)) is None or not path[1]:
        return "a compared value"
    return ".".join(str(key) for key in path[1])


def _not_there(node: Node) -> Failed:
    return Failed(f"{_name(node)} is not there")


def _equals_literal(left: Node, literal: JSON, wanted: bool) -> Run:
    absent = wanted if literal is None else _not_there(left)
    keys = _plain_keys(left)
    if literal.__class__ is str and len(keys) == 2:
        return _equals_text_at(keys[0], keys[1], literal, wanted, absent)
    run = build(left, STRICT)
    if literal is None or literal.__class__ is str:
        return _equals_plain(run, literal, wanted, absent)

    def equals_literal(x: Any, s: Any) -> Any:
        try:
            value = run(x, s)
            return absent if value is ABSENT else same(value, literal) is wanted
        except FAULTS as fault:
            return Failed(reason_of(fault))

    return equals_literal


def _plain_keys(node: Node) -> tuple[Any, ...]:
    """The names of a plain path that cannot fail; empty for anything else."""
    if (path := path_of(node)) is None or path[0] or "def" in path[1]:
        return ()
    return path[1] if all(isinstance(key, str) for key in path[1]) else ()


def _equals_text_at(a: str, b: str, literal: str, wanted: bool, absent: Failed | bool) -> Run:
    """The commonest condition of all, `payload.x == 'text'`, without an inner call."""

    def equals(x: Any, _s: Any) -> Any:
        x = x.get(a, ABSENT) if x.__class__ is dict else step(x, a)
        x = x.get(b, ABSENT) if x.__class__ is dict else step(x, b)
        return absent if x is ABSENT else (x == literal) is wanted

    return equals


def _equals_plain(run: Run, literal: str | None, wanted: bool, absent: Failed | bool) -> Run:
    """A text or null, which equals only what Python's `==` says it does."""

    def equals_plain(x: Any, s: Any) -> Any:
        try:
            value = run(x, s)
        except FAULTS as fault:
            return Failed(reason_of(fault))
        return absent if value is ABSENT else (value == literal) is wanted

    return equals_plain


def _equals(left: Node, right: Node, wanted: bool) -> Run:
    first, second = build(left, STRICT), build(right, STRICT)
    no_first, no_second = _not_there(left), _not_there(right)

    def equals(x: Any, s: Any) -> Any:
        try:
            one, two = first(x, s), second(x, s)
            if one is ABSENT:
                return no_first
            if two is ABSENT:
                return no_second
            return same(one, two) is wanted
        except FAULTS as fault:
            return Failed(reason_of(fault))

    return equals


def _order(left: Node, right: Node, sign: str) -> Run:
    if right.kind == "literal" and right.value.__class__ in (int, Decimal):
        return _order_literal(left, right.value, sign)
    first, second, compare = build(left, STRICT), build(right, STRICT), _ORDER[sign]
    names = _name(left), _name(right)

    def order(x: Any, s: Any) -> Any:
        try:
            one, two = first(x, s), second(x, s)
            if is_number(one) and is_number(two):
                return compare(exact(one), exact(two))
        except FAULTS as fault:
            return Failed(reason_of(fault))
        name, value = (names[1], two) if is_number(one) else (names[0], one)
        return _not_a_number(name, value, sign)

    return order


def _order_literal(left: Node, literal: JSON, sign: str) -> Run:
    run, name, compare = build(left, STRICT), _name(left), _ORDER[sign]

    def order_literal(x: Any, s: Any) -> Any:
        try:
            value = run(x, s)
            kind = value.__class__
            if kind is int or kind is Decimal:
                return compare(value, literal)
            if is_number(value):
                return compare(exact(value), literal)
        except FAULTS as fault:
            return Failed(reason_of(fault))
        return _not_a_number(name, value, sign)

    return order_literal


def _not_a_number(name: str, value: JSON, sign: str) -> Failed:
    if value is ABSENT:
        return Failed(f"{name} is not there")
    hint = f": use decimal({name})" if isinstance(value, str) else ""
    return Failed(f"{name} is {a_type(value)}; {sign} needs numbers{hint}")


_VERDICT: dict[str, Callable[[Node], Run]] = {
    "and": _and,
    "or": lambda node: _joined(_flat("or", node), decisive=True),
    "not": _not,
    "pipe": _pipe,
    "compare": _compare,
}


# -- the two readings


def _settled(node: Node, _: Semantics) -> Run:
    """A verdict as a value: a failure is raised."""
    judge = build_verdict(node)

    def settle(x: Any, s: Any) -> Any:
        verdict = judge(x, s)
        if verdict.__class__ is Failed:
            raise EvaluationError(verdict.reason)
        return verdict

    return settle


def _value_logic(node: Node, reading: Semantics) -> Run:
    first = build(node.children[0], reading)
    if node.kind == "not":
        return lambda x, s: not is_true(first(x, s))
    second = build(node.children[1], reading)
    if node.value not in _ORDER:
        wanted = node.value == "=="
        return lambda x, s: same(present(first(x, s)), present(second(x, s))) is wanted
    compare = _ORDER[node.value]

    def order(x: Any, s: Any) -> Any:
        one, two = first(x, s), second(x, s)
        return compare(exact(one), exact(two)) if is_number(one) and is_number(two) else None

    return order


def _value_condition(node: Node) -> Run:
    run = build(node, VALUE)
    return lambda x, s: is_true(run(x, s))


STRICT = Semantics(
    absorbs=True,
    logic=_settled,
    condition=build_verdict,
    verdict=build_verdict,
    call=build_call,
)
VALUE = msgspec.structs.replace(
    STRICT, absorbs=False, logic=_value_logic, condition=_value_condition
)
KEY = msgspec.structs.replace(VALUE, whole=True)
