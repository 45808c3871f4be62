"""What actions keep of what the world answers."""

from router.expressions.json_text import NotJson, decode_json
from router.model.delivery import JSON

DEPTH_MAX = 64


def json_of(text: str) -> dict[str, JSON]:
    """`{"json": value}` when the text is JSON no deeper than 64, else nothing."""
    try:
        value = decode_json(text.encode())
    except (NotJson, UnicodeEncodeError):
        return {}
    return {"json": value} if _is_shallow(value) else {}


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
