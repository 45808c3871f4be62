"""Where values stand in a JSON text, so that they can be replaced and all else stays as it is."""

import re
from collections.abc import Sequence
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any

from router.expressions.field_paths import EACH, FieldPath

_SPACE = re.compile(r"[ \t\r\n]*")
# Numbers stay texts: those of any length are read, and none is worth making.
_decoder = JSONDecoder(strict=False, parse_int=str, parse_float=str)


def spans(text: str, paths: Sequence[FieldPath]) -> list[tuple[int, int]]:
    """
    Where the values at these paths begin and end, in the order of the text; each member of an
    object counts, also one whose name is there again. A value within another is part of that. The
    text is JSON, known to be so.
    """
    found: list[tuple[int, int]] = []
    _value(text, _blank(text, 0), paths, found)
    return found


def value_of(text: str) -> Any:
    """A JSON text's value, its numbers as texts."""
    return _decoder.decode(text)


def _value(text: str, at: int, paths: Sequence[FieldPath], found: list[tuple[int, int]]) -> int:
    """Look through the value that begins there; returns its end."""
    if () in paths:
        end = _end(text, at)
        found.append((at, end))
        return end
    if not paths or text[at] not in "{[":
        return _end(text, at)
    members = _members if text[at] == "{" else _elements
    return members(text, _blank(text, at + 1), paths, found)


def _members(text: str, at: int, paths: Sequence[FieldPath], found: list[tuple[int, int]]) -> int:
    while text[at] != "}":
        key, at = scanstring(text, at + 1, False)
        at = _blank(text, _blank(text, at) + 1)
        below = [path[1:] for path in paths if path[0] == key]
        at = _blank(text, _value(text, at, below, found))
        if text[at] == ",":
            at = _blank(text, at + 1)
    return at + 1


def _elements(text: str, at: int, paths: Sequence[FieldPath], found: list[tuple[int, int]]) -> int:
    place = 0
    while text[at] != "]":
        below = [path[1:] for path in paths if path[0] in (EACH, place)]
        if text[at] == "[":  # `[]` reads the elements of lists within lists, too
            below += [path for path in paths if path[0] is EACH]
        at = _blank(text, _value(text, at, below, found))
        if text[at] == ",":
            at = _blank(text, at + 1)
        place += 1
    return at + 1


def _end(text: str, at: int) -> int:
    return _decoder.raw_decode(text, at)[1]


def _blank(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
