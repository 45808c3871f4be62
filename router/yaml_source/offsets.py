"""From a place inside a scalar's value back to the place in the file, whatever the quoting."""

import re
from array import array
from collections.abc import Iterator, Sequence

from router.yaml_source.nodes import Scalar

FOLLOWED_MAX = 256 * 1024
_FOLD = re.compile(r"[ \t]*(?:\r\n|[\r\n\x85\u2028\u2029])\s*")
_BREAKS = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_HEADER = re.compile(r"[|>][-+0-9]*[^\r\n]*(?:\r\n|\r|\n)?")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_ESCAPE_LENGTH = {"x": 2, "u": 4, "U": 8}

Placed = tuple[str, int]
"""A piece of the value, and the offset in the file at which it is written."""


def file_offset(text: str, scalar: Scalar, offset: int) -> int:
    """
    Where the value's character at `offset` stands in the file's text.

    An offset at the value's end gives the place right after the last character. If the raw text
    cannot be followed (which would be a fault of ours), the scalar's start.
    """
    if _as_it_stands(text, scalar):
        return scalar.start + min(max(offset, 0), len(scalar.value))
    places = offsets(text, scalar)
    return places[min(max(offset, 0), len(places) - 1)]


def offsets(text: str, scalar: Scalar) -> Sequence[int]:
    """
    The file offset of every character of the value, and of its end.

    Of a very long value each is where it begins: nobody looks for a place in that by its column.
    """
    if _as_it_stands(text, scalar):
        return range(scalar.start, scalar.start + len(scalar.value) + 1)
    nowhere = array("L", [scalar.start])
    size = len(scalar.value)
    if size > FOLLOWED_MAX:
        return nowhere * (size + 1)
    raw = text[scalar.start : scalar.end]
    places, last = array("L"), 0
    for piece, last in _PIECES[scalar.style](raw, scalar.value):
        if not scalar.value.startswith(piece, len(places)):
            return nowhere * (size + 1)
        places.extend(scalar.start + last for _ in piece)
    if len(places) != size:
        return nowhere * (size + 1)
    places.append(_after(scalar, raw, last if places else None))
    return places


def _as_it_stands(text: str, scalar: Scalar) -> bool:
    """A plain scalar in one line."""
    return scalar.style == "" and text.startswith(scalar.value, scalar.start)


def _after(scalar: Scalar, raw: str, last: int | None) -> int:
    if scalar.style in ("'", '"'):
        return scalar.start + len(raw) - 1
    return scalar.start + (0 if last is None else last + 1)


def _single(raw: str, _value: str) -> Iterator[Placed]:
    at, end = 1, len(raw) - 1
    while at < end:
        stop = raw.find("''", at, end)
        stop = end if stop < 0 else stop
        yield from _folded_flow(raw, at, stop)
        if stop < end:
            yield "'", stop
        at = stop + 2


def _folded_flow(raw: str, at: int, end: int) -> Iterator[Placed]:
    """Characters of a plain or single-quoted scalar; line breaks fold as YAML says."""
    while at < end:
        if fold := _FOLD.match(raw, at, end):
            yield _fold(fold[0]), at
            at = fold.end()
        else:
            yield raw[at], at
            at += 1


def _fold(space: str) -> str:
    breaks = _BREAKS.findall(space)
    if len(breaks) == 1:
        return " "
    return "".join("\n" if b in ("\r\n", "\r", "\n", "\x85") else b for b in breaks[1:])


def _double(raw: str, value: str) -> Iterator[Placed]:
    at, end, done = 1, len(raw) - 1, 0
    while at < end:
        if raw[at] == "\\":
            piece, length = _escape(raw, at, value, done)
        else:
            fold = _FOLD.match(raw, at, end)
            piece, length = (_fold(fold[0]), len(fold[0])) if fold else (raw[at], 1)
        yield piece, at
        done += len(piece)
        at += length


def _escape(raw: str, at: int, value: str, done: int) -> tuple[str, int]:
    """What an escape stands for (read off the value) and how long it is written."""
    if (joined := _FOLD.match(raw, at + 1)) and raw[at + 1] not in " \t":
        return "\n" * (len(_BREAKS.findall(joined[0])) - 1), 1 + len(joined[0])
    return value[done : done + 1], 2 + _ESCAPE_LENGTH.get(raw[at + 1], 0)


def _block(raw: str, value: str) -> Iterator[Placed]:
    """
    Characters of a literal or folded scalar.

    A line break of the file is in the value as a break, as a space, or (folded away) not at all;
    following the value decides which.
    """
    header = _HEADER.match(raw)
    at = header.end() if header else 0
    indent = _indent(raw, at, value)
    done = 0
    while at < len(raw) and done < len(value):
        if (line := _LINE.match(raw, at)) is None:
            return
        content = line[1][indent:]
        for i, c in enumerate(content):
            yield c, at + indent + i
        done += len(content)
        if line[2] and value[done : done + 1] in ("\n", " "):
            yield value[done], line.end(1)
            done += 1
        at = max(line.end(), at + 1)


def _indent(raw: str, at: int, value: str) -> int:
    """How many columns of each line are indentation: of the first line that has content."""
    first = value.lstrip("\n").partition("\n")[0]
    leading = len(first) - len(first.lstrip(" "))
    for line in _LINE.finditer(raw, at):
        if line[1].strip(" "):
            return len(line[1]) - len(line[1].lstrip(" ")) - leading
        if not line[2]:
            break
    return 0


_PIECES = {
    "": lambda raw, _value: _folded_flow(raw, 0, len(raw)),
    "'": _single,
    '"': _double,
    "|": _block,
    ">": _block,
}
