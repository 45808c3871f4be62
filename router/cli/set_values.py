"""`--set a.b[0]=v`: values put into a payload."""

import re
from decimal import Decimal
from typing import Any

from router.errors import UsageError

_STEP = re.compile(r"(?:^|(?<!^)\.)([^.\[\]]+)|\[([0-9]{1,6})\]")
_INDEX_MAX = 1000

Path = tuple[str | int, ...]


def parse_assignment(text: str) -> tuple[str, Any]:
    """
    `a.b=v` as path text and value: JSON if it reads as JSON, else the text itself.

    Raises:
        UsageError: it has no `=`, or no path before it.
    """
    from router.expressions import NotJson, decode_json

    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UsageError(f"--set takes PATH=VALUE, like total_price=12.50, not {text!r}")
    _steps(path)
    try:
        return path, decode_json(value.encode())
    except NotJson:
        return path, value


def set_value(payload: Any, path: str, value: Any) -> Any:
    """
    The payload with `value` at `path`; what is missing on the way is made.

    A number steps into a list (`items.0.sku`, `items[0].sku`); one past the end appends. A number
    put where the sender sends text stays text: prices are texts, and a rule must see them so.

    Raises:
        UsageError: the path leads through a value that has no such part.
    """
    return _put(payload, _steps(path), value, path)


def _steps(path: str) -> Path:
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise UsageError(f"--set: {path!r} is not a path like a.b or items[0].sku")
        steps.append(found[1] if found[1] is not None else int(found[2]))
        position = found.end()
    return tuple(steps)


def _put(node: Any, steps: Path, value: Any, path: str) -> Any:
    if not steps:
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        return str(value) if number and isinstance(node, str) else value
    step, rest = steps[0], steps[1:]
    if isinstance(node, list):
        return _put_item(node, step, rest, value, path)
    if isinstance(node, dict) or (node is None and isinstance(step, str)):
        old = node or {}
        return {**old, str(step): _put(old.get(str(step)), rest, value, path)}
    if node is None:
        return _put_item([], step, rest, value, path)
    raise UsageError(
        f"--set {path}: {step!r} is inside a {type(node).__name__}, which has no parts"
    )


def _put_item(items: list[Any], step: str | int, rest: Path, value: Any, path: str) -> Any:
    index = int(step) if str(step).isdecimal() else None
    if index is None:
        raise UsageError(f"--set {path}: {step!r} is inside a list; step into it by a number")
    if index > len(items) or index >= _INDEX_MAX:
        raise UsageError(f"--set {path}: the list has {len(items)} items; {index} is out of reach")
    old = items[index] if index < len(items) else None
    return [*items[:index], _put(old, rest, value, path), *items[index + 1 :]]
