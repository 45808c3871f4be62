"""What a plugin's function may return: JSON, 64 KiB at most."""

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from router.plugin import to_json

RESULT_MAX = 64 * 1024
DEPTH_MAX = 64
KEY_MAX = 40
"""Longer keys are not named: half of one may be half of a secret."""


class ResultNotJson(Exception):
    """What a plugin returned is no JSON value, or too large; the text says where and why."""


def encode_result(value: Any) -> bytes:
    """
    What a plugin returned, as JSON text.

    Raises:
        NotJson: it is none, or over 64 KiB.
    """
    _check(value, "the result", DEPTH_MAX, [RESULT_MAX])
    try:
        text = to_json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise ResultNotJson(f"the result cannot be written as JSON: {error}") from None
    if len(text) > RESULT_MAX:
        raise ResultNotJson(
            f"the result is {len(text)} bytes of JSON, and {RESULT_MAX} may be kept"
        )
    return text


def _check(value: Any, place: str, depth: int, room: list[int]) -> None:
    """Refuse what is not JSON by itself; `room` counts down the values that can still fit."""
    room[0] -= 1
    if room[0] < 0:
        raise ResultNotJson(f"the result is over {RESULT_MAX} bytes of JSON")
    if depth == 0:
        raise ResultNotJson(f"the result is nested deeper than {DEPTH_MAX}")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise ResultNotJson(f"{place} is {value}, which JSON does not have")
        return
    for name, child in _children(value, place):
        _check(child, name, depth - 1, room)


def _children(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        yield from ((f"{place}[{i}]", child) for i, child in enumerate(value))
    elif isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(key, str):
                raise ResultNotJson(f"a key of {place} is a {type(key).__name__}, not a text")
            yield f"{place}.{key if len(key) <= KEY_MAX else '…'}", child
    else:
        raise ResultNotJson(f"{place} is a {type(value).__name__}, not a JSON value")
