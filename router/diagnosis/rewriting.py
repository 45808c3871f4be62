"""
The same JSON in the ways that programs write it: what was there before somebody parsed the body.

Numbers stay digit for digit and keys keep their order (or are sorted): what parsing itself loses
(doubled keys, `10.00` as `10`) cannot be found again.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

from router.structure import too_complex

BODY_MAX = 256 * 1024


class _Digits(str):
    """A number as it was written."""

    __slots__ = ()


class _Quoted(str):
    """A piece that is the content of a string, not yet quoted."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object, its keys in order."""


Pieces = list[str]

_LAYOUTS = ("compact", "spaced", "indented by 2", "indented by 4", "indented by tabs", "in lines")
_INDENTS = {"indented by 2": "  ", "indented by 4": "    ", "indented by tabs": "\t"}
_ENDS = (("", ""), ("\n", " and a line break"), ("\r\n", " and CRLF"))
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def writings(body: bytes) -> Iterator[tuple[str, bytes]]:
    """
    Each other way in which this JSON may have been written, with words for it; none twice, none
    for a body that is no JSON or is too large.
    """
    if (tree := _parsed(body)) is None:
        return
    seen = {hashlib.sha256(body).digest()}
    for layout, by_name in itertools.product(_LAYOUTS, (False, True)):
        pieces: Pieces = []
        _lay(tree, (layout, by_name), pieces, 0)
        for words, text in _spelled(pieces):
            for end, said in _ENDS:
                written = (text + end).encode("utf-8", "surrogatepass")
                digest = hashlib.sha256(written).digest()
                if digest not in seen:
                    seen.add(digest)
                    order = ", keys in alphabetical order" if by_name else ""
                    yield f"as {layout} JSON{words}{order}{said}", written


def is_sorted(body: bytes) -> bool:
    """Are all keys in alphabetical order, three of an object at least? Senders hardly do so."""
    found = list(_objects(_parsed(body)))
    long = [names for names in found if len(names) >= 3]
    return bool(long) and all(names == sorted(names) for names in found)


def _objects(node: Any) -> Iterator[list[str]]:
    if isinstance(node, _Pairs):
        yield [name for name, _ in node]
        for _, value in node:
            yield from _objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value)


def _parsed(body: bytes) -> Any:
    if len(body) > BODY_MAX or too_complex(body):
        return None
    try:
        found = json.loads(body, object_pairs_hook=_Pairs, parse_float=_Digits, parse_int=_Digits)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _lay(node: Any, how: tuple[str, bool], pieces: Pieces, depth: int) -> None:
    """Put the pieces of a value one after the other; strings are quoted later."""
    if isinstance(node, list):
        _lay_list(node, how, pieces, depth)
    elif isinstance(node, _Digits):
        pieces.append(node)
    elif isinstance(node, str):
        pieces.append(_Quoted(node))
    else:
        pieces.append(json.dumps(node))


def _lay_list(node: list[Any], how: tuple[str, bool], pieces: Pieces, depth: int) -> None:
    layout, by_name = how
    keyed = isinstance(node, _Pairs)
    opening, closing = "{}" if keyed else "[]"
    if not node:
        pieces.append(opening + closing)
        return
    first, between, last, colon = _breaks(layout, depth, keyed)
    pieces.append(opening + first)
    for index, item in enumerate(
        sorted(node, key=lambda pair: str(pair[0])) if keyed and by_name else node
    ):
        if index:
            pieces.append(between)
        if keyed:
            pieces += (_Quoted(item[0]), colon)
        _lay(item[1] if keyed else item, how, pieces, depth + 1)
    pieces.append(last + closing)


def _breaks(layout: str, depth: int, keyed: bool) -> tuple[str, str, str, str]:
    """What stands after the opening, between items, before the closing, and after a key."""
    if layout == "spaced":
        return "", ", ", "", ": "
    if (indent := _INDENTS.get(layout)) is not None:
        inner = "\n" + indent * (depth + 1)
        return inner, "," + inner, "\n" + indent * depth, ": "
    lines = layout == "in lines" and depth == 0 and not keyed
    return "", ",\r\n" if lines else ",", "", ":"


def _spelled(pieces: Pieces) -> Iterator[tuple[str, str]]:
    """The text with its strings quoted in each way."""
    for ascii_only, slashes, html in itertools.product((False, True), repeat=3):
        said = [
            words
            for on, words in (
                (ascii_only, "other letters as `\\uXXXX`"),
                (slashes, "`/` as `\\/`"),
                (html, "`<` `>` `&` as escapes"),
            )
            if on
        ]
        parts = [
            _quoted(p, ascii_only, slashes, html) if isinstance(p, _Quoted) else p for p in pieces
        ]
        yield "".join(f", {words}" for words in said), "".join(parts)


def _quoted(text: str, ascii_only: bool, slashes: bool, html: bool) -> str:
    quoted = json.dumps(str(text), ensure_ascii=ascii_only)
    if slashes:
        quoted = quoted.replace("/", "\\/")
    if html:
        for sign, escape in _HTML.items():
            quoted = quoted.replace(sign, escape)
    return quoted
