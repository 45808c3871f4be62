"""Where two JSON values differ."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from router.expressions.absent import JSON
from router.expressions.compare import same
from router.expressions.json_text import encode_json

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class Change(msgspec.Struct, frozen=True):
    """One place where two values differ; `old` or `new` is None, and so marked, where none is."""

    path: str
    old: JSON
    new: JSON
    added: bool = False
    removed: bool = False


def plain_step(name: str) -> str:
    """A step of a path, for reading."""
    return f".{name}"


def quoted_step(name: str) -> str:
    """A step of a path as an expression writes it: `.total`, `."x-id"`."""
    return f".{name}" if _NAME.fullmatch(name) else f".{encode_json(name).decode()}"


def changes(
    old: JSON, new: JSON, path: str = "", step: Callable[[str], str] = plain_step
) -> Iterator[Change]:
    """Where they differ, at the deepest place that both have."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _by_name(old, new, path, step, step)
    elif isinstance(old, list) and isinstance(new, list):
        pairs = [dict(enumerate(items)) for items in (old, new)]
        yield from _by_name(pairs[0], pairs[1], path, step, "[{}]".format)
    elif not same(old, new):
        yield Change(path, old, new)


def _by_name(
    old: Mapping[Any, JSON],
    new: Mapping[Any, JSON],
    path: str,
    step: Callable[[str], str],
    place: Callable[[Any], str],
) -> Iterator[Change]:
    for key in dict.fromkeys((*old, *new)):
        inner = (path + place(key)).removeprefix(".")
        if key not in new:
            yield Change(inner, old[key], None, removed=True)
        elif key not in old:
            yield Change(inner, None, new[key], added=True)
        else:
            yield from changes(old[key], new[key], inner, step)
