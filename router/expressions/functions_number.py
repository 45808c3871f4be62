"""Functions over numbers: exact, finite, bounded."""

import decimal as _decimal
import math
import re
from decimal import Decimal
from functools import reduce
from typing import Any

from router.errors import EvaluationError
from router.expressions.absent import JSON
from router.expressions.compare import exact, is_number
from router.expressions.json_text import DIGITS_MAX, EXPONENT_MAX

Number = int | Decimal

_DIVISION_DIGITS = 34
_EXACT = _decimal.Context(prec=4 * (DIGITS_MAX + EXPONENT_MAX), rounding=_decimal.ROUND_HALF_EVEN)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?0*[0-9]{1,4})?")
_SHORT = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")
_LIMIT = 10**DIGITS_MAX
_NONE_YET: Number = 0


def bounded(number: Number) -> Number:
    """The number itself. Raises EvaluationError beyond 400 digits or an exponent of 400."""
    if isinstance(number, int):
        if -_LIMIT < number < _LIMIT:
            return number
    elif number.is_finite():
        _, digits, exponent = number.as_tuple()
        if len(digits) <= 2 * DIGITS_MAX and abs(int(exponent)) <= 2 * EXPONENT_MAX:
            return number
    raise EvaluationError(f"a number would have more than {DIGITS_MAX} digits")


def _read(text: str) -> Number | None:
    if (short := _SHORT.fullmatch(text)) is not None:
        return int(text) if short.lastindex is None else Decimal(text)
    text = text.strip()
    if len(text) > 2 * DIGITS_MAX or _NUMBER.fullmatch(text) is None:
        return None
    if text.lstrip("+-").isdigit():
        return bounded(int(text))
    number = Decimal(text)
    return bounded(number) if abs(number.adjusted()) <= EXPONENT_MAX else None


def decimal(value: str | Number) -> Number:
    if not isinstance(value, str):
        return exact(value)
    if (number := _read(value)) is None:
        raise EvaluationError(f"decimal() cannot read {value[:40]!r} as a number")
    return number


def to_number(value: JSON) -> Number | None:
    if isinstance(value, str):
        try:
            return _read(value)
        except EvaluationError:
            return None
    return exact(value) if is_number(value) else None


def add(a: Number, b: Number) -> Number:
    a, b = bounded(exact(a)), bounded(exact(b))
    if isinstance(a, int) and isinstance(b, int):
        return bounded(a + b)
    return bounded(_EXACT.add(Decimal(a), Decimal(b)))


def sub(a: Number, b: Number) -> Number:
    taken = exact(b)
    return add(a, -taken if isinstance(taken, int) else taken.copy_negate())


def mul(a: Number, b: Number) -> Number:
    a, b = bounded(exact(a)), bounded(exact(b))
    if isinstance(a, int) and isinstance(b, int):
        return bounded(a * b)
    return bounded(_EXACT.multiply(Decimal(a), Decimal(b)))


def div(a: Number, b: Number) -> Number:
    a, b = bounded(exact(a)), bounded(exact(b))
    if b == 0:
        raise EvaluationError("div() by zero")
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    over, under = Decimal(a), Decimal(b)
    digits = len(over.as_tuple().digits) + len(under.as_tuple().digits)
    return bounded(_decimal.Context(prec=_DIVISION_DIGITS + digits).divide(over, under))


def round_half_even(number: Number, places: Number = 0) -> Number:
    number, at = bounded(exact(number)), _places(places)
    if isinstance(number, int) and at >= 0:
        return number
    rounded = _EXACT.quantize(Decimal(number), Decimal(1).scaleb(-at))
    return rounded if at > 0 else int(rounded)


def _places(places: Number) -> int:
    exactly = exact(places)
    if not -DIGITS_MAX <= exactly <= DIGITS_MAX or exactly != int(exactly):
        raise EvaluationError("round() needs a whole number of places, at most 400")
    return int(exactly)


def sum_of(numbers: list[Number]) -> Number:
    return reduce(add, numbers, _NONE_YET)


def avg(numbers: list[Number]) -> Number | None:
    return div(sum_of(numbers), len(numbers)) if numbers else None


def absolute(number: Number) -> Number:
    value = exact(number)
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


NUMBER_FUNCTIONS: dict[str, Any] = {
    "decimal": decimal,
    "to_number": to_number,
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "round": round_half_even,
    "sum": sum_of,
    "avg": avg,
    "abs": absolute,
    "ceil": lambda number: math.ceil(bounded(exact(number))),
    "floor": lambda number: math.floor(bounded(exact(number))),
}
