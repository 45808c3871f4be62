"""JSON in what an action is answered: `results.ID.json`."""

from collections.abc import Mapping

from router.expressions.json_text import NotJson, decode_json
from router.model.delivery import JSON

DEPTH_MAX = 64


def holds_json(headers: Mapping[str, str], text: str) -> bool:
    """Whether an HTTP answer is to be read as JSON; the names of `headers` are in lower case."""
    return text[:1] in ("{", "[") or "json" in headers.get("content-type", "")


def json_of(text: str) -> dict[str, JSON]:
    """`{"json": value}` when the text is JSON no deeper than 64, else nothing."""
    try:
        value = decode_json(text.encode())
    except (NotJson, UnicodeEncodeError):
        return {}
    few = text.count("{") + text.count("[") <= DEPTH_MAX
    return {"json": value} if few or _is_shallow(value) else {}


def _is_shallow(value: JSON) -> bool:
    """Whether every later reader can walk it."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [child for item in level for child in _children(item)]
        if not level:
            return True
    return False


def _children(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
