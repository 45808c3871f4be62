"""
JSON in and out, exact: integers of any size stay integers, other numbers are decimals.

Numbers with a fraction or an exponent become `decimal.Decimal` and are written back digit for
digit. Depth and structure are bounded by the caller, who counts them before decoding.
"""

import re
from decimal import Decimal
from typing import Any

import msgspec

from router.expressions.absent import JSON, Lazy

DIGITS_MAX = 400
EXPONENT_MAX = 400

_INTEGER_BOUND = 10**DIGITS_MAX
_STRIDE = 19
_SAMPLED_RUN = b"0" * 21
_DIGITS_AS_ZEROS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
_LONG_RUN = re.compile(rb"(?<![0-9])[0-9]{401}")
"""Tried where a run begins only: from each of its digits anew, the time would go by its square."""


class NotJson(ValueError):
    """The bytes are not JSON, or a number in them is beyond the bounds; the text says which."""


def exact_number(text: str) -> Decimal:
    """A JSON number as a decimal. Raises NotJson beyond 400 digits or an exponent of 400."""
    if len(text) > 30 or "e" in text or "E" in text:
        mantissa, _, exponent = text.lower().partition("e")
        if sum(character.isdigit() for character in mantissa) > DIGITS_MAX:
            raise NotJson(f"a number has more than {DIGITS_MAX} digits")
        if exponent and (len(exponent) > 20 or abs(int(exponent)) > EXPONENT_MAX):
            raise NotJson(f"a number has an exponent beyond {EXPONENT_MAX}")
    return Decimal(text)


def _write_lazy(value: Any) -> Any:
    if isinstance(value, Lazy):
        return value.everything()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_decode = msgspec.json.Decoder(float_hook=exact_number).decode

encode_json = msgspec.json.Encoder(decimal_format="number", enc_hook=_write_lazy).encode
"""A value as compact JSON; decimals keep their digits (`1.50` stays `1.50`)."""


def decode_json(data: bytes) -> JSON:
    """
    The JSON value of `data`. Raises NotJson, also for a byte order mark, NaN, lone surrogates,
    wrong UTF-8 and nesting too deep to read.
    """
    try:
        value = _decode(data)
    except NotJson:
        raise
    except (ValueError, RecursionError) as fault:
        raise NotJson(str(fault)) from None
    # Every 19th byte tells of nearly all bodies that they have no such run: 401 digits in a row
    # are 21 there, ids and dates are one or two, and lists of short numbers show their commas.
    if len(data) > DIGITS_MAX:
        sample = data[::_STRIDE].translate(_DIGITS_AS_ZEROS)
        if _SAMPLED_RUN in sample and _LONG_RUN.search(data):
            _check_integers(value)
    return value


def is_json(data: bytes) -> bool:
    """Whether `data` is one JSON value that `decode_json` reads."""
    try:
        decode_json(data)
    except NotJson:
        return False
    return True


def _check_integers(value: JSON) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, int) and abs(item) >= _INTEGER_BOUND:
            raise NotJson(f"a number has more than {DIGITS_MAX} digits")
