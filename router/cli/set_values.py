"""`--set a.b[0]=v`: values put into a payload."""

from typing import Any

from router.errors import UsageError
from router.expressions import NotJson, decode_json
from router.providers.changes import put, steps


def parse_assignment(text: str) -> tuple[str, Any]:
    """
    `a.b=v` as path text and value: JSON if it reads as JSON, else the text itself.

    Raises:
        UsageError: it has no `=`, or no path before it.
    """
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UsageError(f"--set takes PATH=VALUE, like total_price=12.50, not {text!r}")
    try:
        steps(path)
    except ValueError as reason:
        raise UsageError(f"--set: {reason}") from None
    try:
        return path, decode_json(value.encode())
    except NotJson:
        return path, value


def set_value(payload: Any, path: str, value: Any) -> Any:
    """
    The payload with `value` at `path`; see `router.providers.changes.put`.

    Raises:
        UsageError: the path leads through a value that has no such part.
    """
    try:
        return put(payload, path, value)
    except ValueError as reason:
        raise UsageError(f"--set {path}: {reason}") from None
