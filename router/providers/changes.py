"""Values put into a payload at dotted paths: `a.b`, `items[0].sku`, `items.0.sku`."""

import re
from decimal import Decimal
from typing import Any

from router.model.delivery import JSON

_STEP = re.compile(r"(?:^|(?<!^)\.)([^.\[\]]+)|\[([0-9]{1,6})\]")
_INDEX_MAX = 1000

Path = tuple[str | int, ...]


def steps(path: str) -> Path:
    """
    A path's names and indexes.

    Raises:
        ValueError: it is not a path.
    """
    found: list[str | int] = []
    position = 0
    while position < len(path):
        if (step := _STEP.match(path, position)) is None:
            raise ValueError(f"{path!r} is not a path like a.b or items[0].sku")
        found.append(step[1] if step[1] is not None else int(step[2]))
        position = step.end()
    return tuple(found)


NOTHING = object()
"""Stands for what is not there."""


def part(value: Any, step: str | int) -> Any:
    """What is at one step of a path, NOTHING if nothing is."""
    if isinstance(value, dict):
        return value.get(str(step), NOTHING)
    if isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
        return value[int(step)]
    return NOTHING


def put(payload: JSON, path: str, value: JSON) -> JSON:
    """
    The payload with `value` at `path`; what is missing on the way is made.

    A number steps into a list; one past the end appends. A number put where the sender sends text
    stays text: prices are texts, and a rule must see them so.

    Raises:
        ValueError: the path leads through a value that has no such part.
    """
    return _put(payload, steps(path), value)


def _put(node: JSON, way: Path, value: JSON) -> JSON:
    if not way:
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        return str(value) if number and isinstance(node, str) else value
    step, rest = way[0], way[1:]
    if isinstance(node, list):
        return _put_item(node, step, rest, value)
    if isinstance(node, dict) or (node is None and isinstance(step, str)):
        old = node or {}
        return {**old, str(step): _put(old.get(str(step)), rest, value)}
    if node is None:
        return _put_item([], step, rest, value)
    raise ValueError(f"{step!r} is inside a {type(node).__name__}, which has no parts")


def _put_item(items: list[JSON], step: str | int, rest: Path, value: JSON) -> JSON:
    index = int(step) if str(step).isdecimal() else None
    if index is None:
        raise ValueError(f"{step!r} is inside a list; step into it by a number")
    if index > len(items) or index >= _INDEX_MAX:
        raise ValueError(f"the list has {len(items)} items; {index} is out of reach")
    return [
        *items[:index],
        _put(items[index] if index < len(items) else None, rest, value),
        *items[index + 1 :],
    ]
