"""Plain scalars by the core schema of YAML 1.2: null, booleans, numbers, and all else is text."""

import re
from decimal import Decimal

DIGITS_MAX = 400

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE]([-+]?[0-9]+))?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

Plain = str | int | Decimal | bool | None


class NumberError(ValueError):
    """A scalar that YAML allows and JSON cannot hold; the text says why."""


def resolve(text: str) -> Plain:
    """
    What a plain scalar means. Numbers with a fraction or exponent stay exact decimals.

    Raises:
        NumberError: infinity, not-a-number, or a number beyond 400 digits.
    """
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    return _number(text) if text[0] in "+-.0123456789" else text


def _number(text: str) -> Plain:
    if _INTEGER.fullmatch(text):
        return int(_bounded(text))
    if based := _BASED.fullmatch(text):
        octal, hexadecimal = based.groups()
        return int(_bounded(octal), 8) if octal else int(_bounded(hexadecimal), 16)
    if _NOT_FINITE.fullmatch(text):
        raise NumberError(f"{text} is not a number that JSON can hold")
    fraction = _FRACTION.fullmatch(text)
    return _decimal(text, fraction[1]) if fraction else text


def _decimal(text: str, exponent: str | None) -> Decimal:
    if exponent and (len(exponent) > 5 or abs(int(exponent)) > DIGITS_MAX):
        raise NumberError(f"the exponent is beyond {DIGITS_MAX}")
    return Decimal(_bounded(text))


def _bounded(digits: str) -> str:
    if len(digits) > DIGITS_MAX:
        raise NumberError(f"the number has more than {DIGITS_MAX} digits")
    return digits
