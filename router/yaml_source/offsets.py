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


def offsets(text: str, scalar: Scalar) -> Sequence[int]:
    """
    The file offset of every character of the value, and of the place right after the last one.

    Of a very long value each is where it begins: nobody looks for a place in that by its column.
    So it is if the raw text cannot be followed (which would be a fault of ours).
    """
    if scalar.style == "" and text.startswith(scalar.value, scalar.start):  # in one line
        return range(scalar.start, scalar.start + len(scalar.value) + 1)
    size = len(scalar.value)
    nowhere = array("L", [scalar.start]) * (size + 1)
    if size > FOLLOWED_MAX:
        return nowhere
    raw = text[scalar.start : scalar.end]
    places, last = array("L"), 0
    for piece, last in _PIECES[scalar.style](raw, scalar.value):
        if not scalar.value.startswith(piece, len(places)):
            return nowhere
        places.extend(scalar.start + last for _ in piece)
    if len(places) != size:
        return nowhere
    after = len(raw) - 1 if scalar.style in ("'", '"') else last + 1 if places else 0
    places.append(scalar.start + after)
    return places


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
    lines = (line[1] for line in _LINE.finditer(raw, at) if line[1].strip(" "))
    return next((len(line) - len(line.lstrip(" ")) - leading for line in lines), 0)


_PIECES = {
    "": lambda raw, _value: _folded_flow(raw, 0, len(raw)),
    "'": _single,
    '"': _double,
    "|": _block,
    ">": _block,
}
