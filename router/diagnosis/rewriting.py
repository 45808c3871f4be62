"""
The same JSON in the ways that programs write it: what was there before somebody parsed the body.

Numbers stay digit for digit and keys keep their order (or are sorted): what parsing itself loses
(doubled keys, `10.00` as `10`) cannot be found again.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from router.structure import too_complex

BODY_MAX = 256 * 1024
_LAYOUTS: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":")},
    "spaced": {},
    "indented by 2": {"indent": 2},
    "indented by 4": {"indent": 4},
    "indented by tabs": {"indent": "\t"},
    "in lines": {"separators": (",", ":")},
}
_ENDS = (("", ""), ("\n", " and a line break"), ("\r\n", " and CRLF"))
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_NUMBER = re.compile(r'"\\u0000([-+.0-9eE]+)\\u0000"')
"""A number, which is parsed as a string between two NULs so that it stays digit for digit."""


def writings(body: bytes) -> Iterator[tuple[str, bytes]]:
    """
    Each other way in which this JSON may have been written, with words for it; none twice, none
    for a body that is no JSON or is too large.
    """
    if (tree := _parsed(body)) is None:
        return
    seen = {hashlib.sha256(body).digest()}
    for layout, by_name in itertools.product(_LAYOUTS, (False, True)):
        order = ", keys in alphabetical order" if by_name else ""
        for words, text in _spelled(tree, layout, by_name=by_name):
            for end, said in _ENDS:
                written = (text + end).encode("utf-8", "surrogatepass")
                digest = hashlib.sha256(written).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield f"as {layout} JSON{words}{order}{said}", written


def is_sorted(body: bytes) -> bool:
    """Are all keys in alphabetical order, three of an object at least? Senders hardly do so."""
    found = [list(names) for names in _objects(_parsed(body))]
    return max(map(len, found), default=0) >= 3 and all(names == sorted(names) for names in found)


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from _objects(value)


def _parsed(body: bytes) -> Any:
    if len(body) > BODY_MAX or too_complex(body):
        return None
    try:
        found = json.loads(body, parse_float="\0{}\0".format, parse_int="\0{}\0".format)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _spelled(tree: Any, layout: str, *, by_name: bool) -> Iterator[tuple[str, str]]:
    """The text with its strings quoted in each way."""
    for ascii_only in (False, True):
        how = {"ensure_ascii": ascii_only, "sort_keys": by_name, **_LAYOUTS[layout]}
        if layout == "in lines" and isinstance(tree, list):
            written = "[" + ",\r\n".join([json.dumps(item, **how) for item in tree]) + "]"
        else:
            written = json.dumps(tree, **how)
        text = _NUMBER.sub(r"\1", written)
        escaped = ", other letters as `\\uXXXX`" if ascii_only else ""
        # Outside of strings none of these signs stands in JSON.
        slashed, said = text.replace("/", "\\/"), f"{escaped}, `/` as `\\/`"
        html = ", `<` `>` `&` as escapes"
        yield escaped, text
        yield f"{escaped}{html}", text.translate(_HTML)
        yield said, slashed
        yield f"{said}{html}", slashed.translate(_HTML)
