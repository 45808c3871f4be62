"""Rules and calls as plain values."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from router.expressions import JSON, Expression, NotJson, Template, decode_json

HIDDEN = frozenset({"shown_url", "shown_body", "trace", "sign_keys", "tls_key"})
"""Fields of calls that repeat others, that differ at each delivery, or that hold only secrets."""

MORE = 20
"""Differences shown of one pair of values."""


def plain(value: Any, folder: str = "") -> JSON:
    """
    A spec or call as a JSON value: expressions as their text, bodies decoded, secrets never in it
    (they were placeholders). What lies in `folder`, the rules file's, is relative to it.
    """
    if isinstance(value, Expression | Template):
        return value.text
    if isinstance(value, msgspec.Struct):
        names = [name for name in value.__struct_fields__ if name not in HIDDEN]
        return {name: plain(getattr(value, name), folder) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item, folder) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _listed([plain(item, folder) for item in value])
    return _single(value, folder)


def _single(value: Any, folder: str) -> JSON:
    if isinstance(value, bytes):
        try:
            return decode_json(value)
        except NotJson:
            return value.decode("utf-8", "backslashreplace")
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, str):
        return "." if folder and value == folder else value
    return value if value is None or isinstance(value, bool | int | float | Decimal) else str(value)


def _listed(items: list[JSON]) -> JSON:
    """Pairs of a name and a value, as specs have them, become an object."""
    pairs = items and all(
        isinstance(i, list) and len(i) == 2 and isinstance(i[0], str) for i in items
    )
    names = [i[0] for i in items] if pairs else []
    return dict(items) if pairs and len(set(names)) == len(names) else items
