"""
XML as plain data: text at a path, without entities, without a DTD, with bounded work.

An element is its text; one with attributes or elements is an object of them, its own text under
`#text`. Attributes are called `@NAME`, what is there several times is a list, and prefixes of
names are left out.
"""

from typing import Any, NoReturn
from xml.parsers import expat

from router.expressions import encode_json
from router.model.delivery import JSON
from router.model.odd_body import OddBodyError
from router.structure import DEPTH_MAX

BODY_MAX = 1024 * 1024
TAGS_MAX = 20_000
"""Of `<`, and of `=`: more work than that holds up others."""


def elements_of(body: bytes) -> dict[str, JSON]:
    """
    The root element by its name.

    Raises:
        OddBodyError: it is no XML, holds a DTD, or is too complex.
    """
    if len(body) > BODY_MAX:
        raise OddBodyError("too_complex", "XML of over 1 MiB")
    if body.count(b"<") > TAGS_MAX or body.count(b"=") > TAGS_MAX:
        raise OddBodyError("too_complex", f"XML with over {TAGS_MAX:,} tags or attributes")
    tree = _Tree()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _no_dtd
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.text
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise OddBodyError("unparsed", f"not XML: {error}"[:200]) from None
    return tree.root


def _no_dtd(*_given: Any) -> NoReturn:
    raise OddBodyError("unparsed", "XML with a DTD is not read")


class _Element:
    """An element that has not ended."""

    __slots__ = ("members", "texts")

    def __init__(self, members: dict[str, JSON]) -> None:
        self.members = members
        self.texts: list[str] = []

    def add(self, name: str, value: JSON) -> None:
        """A member; the second of a name makes a list."""
        if name not in self.members:
            self.members[name] = value
        elif isinstance(self.members[name], list):
            self.members[name].append(value)
        else:
            self.members[name] = [self.members[name], value]

    def value(self) -> JSON:
        """Its text, or what it holds."""
        text = "".join(self.texts)
        if not self.members:
            return text
        return self.members | {"#text": text.strip()} if text.strip() else self.members


class _Tree:
    """Gathers what expat finds."""

    def __init__(self) -> None:
        self._open = [_Element({})]
        self.root = self._open[0].members

    def start(self, _name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEPTH_MAX:
            raise OddBodyError("too_complex", f"nested deeper than {DEPTH_MAX}")
        given = {f"@{_local(key)}": value for key, value in attributes.items() if _is_plain(key)}
        self._open.append(_Element(given))

    def text(self, text: str) -> None:
        self._open[-1].texts.append(text)

    def end(self, name: str) -> None:
        element = self._open.pop()
        self._open[-1].add(_local(name), element.value())


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _is_plain(name: str) -> bool:
    return name != "xmlns" and not name.startswith("xmlns:")


# -- the sender's side ----------------------------------------------------------------------------


def written(name: str, value: JSON) -> str:
    """An element as its sender writes it."""
    if isinstance(value, list):
        return "".join(written(name, one) for one in value)
    if not isinstance(value, dict):
        return f"<{name}>{_text(value)}</{name}>"
    given = [f' {key[1:]}="{_text(one)}"' for key, one in value.items() if key[:1] == "@"]
    inner = [
        _text(one) if key == "#text" else written(key, one)
        for key, one in value.items()
        if key[:1] != "@"
    ]
    return f"<{name}{''.join(given)}>{''.join(inner)}</{name}>"


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def _text(value: JSON) -> str:
    plain = value if isinstance(value, str) else encode_json(value).decode("utf-8")
    return plain.translate(_ESCAPES)
