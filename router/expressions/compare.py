"""What equality, order and truth mean: numbers by value at every depth, booleans apart."""

import math
from decimal import Decimal
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import ABSENT, JSON, Lazy

_NUMBERS = frozenset({int, float, Decimal})


def is_true(value: JSON) -> bool:
    """JMESPath's truth: false, null, '', [], {} and absent are false; 0 is true."""
    if value is ABSENT:
        return False
    if value:
        return True
    return value.__class__ in _NUMBERS


def is_number(value: JSON) -> bool:
    """Whether the value is a number; a boolean is none."""
    if value.__class__ in _NUMBERS:
        return True
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def exact(value: Any) -> int | Decimal:
    """A number without binary fractions. Raises EvaluationError when it is not finite."""
    if value.__class__ is int:
        number: int = value
        return number
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvaluationError("a number is not finite")
        return Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise EvaluationError("a number is not finite")
        return value
    return int(value)


def same(left: JSON, right: JSON) -> bool:
    """Equality of two JSON values."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is list:
            return len(left) == len(right) and all(map(same, left, right))
        if kind is dict:
            return _same_objects(left, right)
        return bool(left == right)
    if is_number(left):
        return is_number(right) and exact(left) == exact(right)
    return _same_kinds(left, right)


def _same_kinds(left: JSON, right: JSON) -> bool:
    """Equality of values whose Python classes differ, such as a dict and an OrderedDict."""
    if isinstance(left, Lazy):
        return same(left.everything(), right)
    if isinstance(right, Lazy):
        return same(left, right.everything())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return _same_objects(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return str(left) == str(right)
    return False


def _same_objects(left: dict[str, JSON], right: dict[str, JSON]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and same(value, right[key]) for key, value in left.items())


def type_word(value: JSON) -> str:
    """JMESPath's word for the value's type."""
    if value is None or value is ABSENT:
        return "null"
    for classes, word in _WORDS:
        if isinstance(value, classes):
            return word
    return "expression" if callable(value) else "unknown"


def a_type(value: JSON) -> str:
    """The same in a sentence: `a string`, `an array`, `null`."""
    word = type_word(value)
    return word if word == "null" else f"{'an' if word[0] in 'aeo' else 'a'} {word}"


_WORDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "boolean"),
    ((str,), "string"),
    ((int, float, Decimal), "number"),
    ((list,), "array"),
    ((dict, Lazy), "object"),
)
