"""Rules and calls as plain values, and where two such values differ."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from router.expressions import JSON, Expression, NotJson, Template, decode_json
from router.expressions.compare import same

HIDDEN = frozenset({"shown_url", "shown_body", "trace", "sign_keys", "tls_key"})
"""Fields of calls that repeat others, that differ at each delivery, or that hold only secrets."""

MORE = 20
"""Differences shown of one pair of values."""


class Change(msgspec.Struct, frozen=True):
    """One place where two values differ; `old` or `new` is None, and so marked, where none is."""

    path: str
    old: JSON
    new: JSON
    added: bool = False
    removed: bool = False


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


def changes(old: JSON, new: JSON, path: str = "") -> Iterator[Change]:
    """Where they differ, at the deepest place that both have."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _by_name(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        pairs = [dict(enumerate(items)) for items in (old, new)]
        yield from _by_name(pairs[0], pairs[1], path, place="[{}]")
    elif not same(old, new):
        yield Change(path, old, new)


def _by_name(
    old: Mapping[Any, JSON], new: Mapping[Any, JSON], path: str, place: str = ".{}"
) -> Iterator[Change]:
    for key in dict.fromkeys((*old, *new)):
        inner = (path + place.format(key)).removeprefix(".")
        if key not in new:
            yield Change(inner, old[key], None, removed=True)
        elif key not in old:
            yield Change(inner, None, new[key], added=True)
        else:
            yield from changes(old[key], new[key], inner)
