"""
Values taken out of a stored request: `[redacted]` stands where they stood, all else stays.

In JSON that is a text in place of the value, in a form the field, in a form with files the field or
what is told of the file. The body is taken apart as its reader takes it apart, and the result is
read again: where a value is still there, or anything else is not, all of the body goes. So does a
body of which nobody knows where the values are (unparsed, XML, text).
"""

import re
from collections.abc import Iterator, Sequence
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any, NamedTuple

import msgspec

from router.expressions.field_paths import EACH, FieldPath
from router.model.delivery import JSON, REDACTED_VALUE, InboundRequest
from router.providers import forms, multipart_form
from router.providers.queries import parameters, without
from router.providers.read import PayloadSource, Reader, Reading

_JSON_MARK, _BYTES = f'"{REDACTED_VALUE}"', REDACTED_VALUE.encode("ascii")


class RedactedRequest(NamedTuple):
    """
    What is left of a request, and the texts and numbers that were taken out of it. `whole`: its
    body could not be taken apart, so all of it went. `read`: it as it was read again, if it was.
    """

    request: InboundRequest
    values: frozenset[str]
    whole: bool = False
    read: Reading | None = None


def _values(value: JSON) -> Iterator[str]:
    """The texts and numbers of a JSON value."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def redacted(
    reader: Reader,
    request: InboundRequest,
    paths: Sequence[FieldPath],
    read: Reading | None = None,
) -> RedactedRequest:
    """
    A request without the values at these paths, rooted in `payload`, `headers` and `query`. `read`:
    as it was read before, for reading a large body takes long.
    """
    taken = set[str]()
    below = {root: [path[1:] for path in paths if path[0] == root] for root, *_ in paths}
    clean, again, payload = request, None, below.get("payload")
    if payload:
        clean, again = _body(reader, request, payload, taken, read or reader.read(request))
    whole = bool(payload) and again is None
    names = {str(path[0]).lower().encode() for path in below.get("headers", ()) if path}
    headers = tuple([_header(one, names, taken) for one in request.headers])
    query = clean.query_string
    for name in [str(path[0]).encode() for path in below.get("query", ()) if path]:
        query = _without(query, name, taken)
    clean = msgspec.structs.replace(clean, headers=headers, query_string=query)
    again = again if len(below) == 1 else None
    return RedactedRequest(clean, frozenset(taken - {REDACTED_VALUE}), whole, again)


def _header(header: tuple[bytes, bytes], names: set[bytes], taken: set[str]) -> tuple[bytes, bytes]:
    name, value = header
    if name not in names:
        return header
    taken.add(value.decode("latin-1"))
    return name, _BYTES


def _without(query: bytes, name: bytes, taken: set[str]) -> bytes:
    # Each by itself: of a query with very many `parameters` reads none.
    for one, value in [pair for piece in query.split(b"&") for pair in parameters(piece)]:
        if one == name:
            taken.add(value.decode("utf-8", "replace"))
    return without(query, name, REDACTED_VALUE)


def _body(
    reader: Reader,
    request: InboundRequest,
    paths: Sequence[FieldPath],
    taken: set[str],
    before: Reading,
) -> tuple[InboundRequest, Reading | None]:
    """The request without the values in its body, and as it is read then; None: all of it went."""
    source = reader.source(request)
    expected = [_marked(event.payload, paths, taken) for event in before.events]
    if before.state == "routed" and (text := _text(reader, source, paths, taken)) is not None:
        clean = _with_text(request, source, text)
        left, after = set[str](), reader.read(clean)
        found = [event.payload for event in after.events]
        if found != expected:  # a mark in place of a list stands for each of its values
            found = [_marked(payload, paths, left) for payload in found]
        if after.state == "routed" and found == expected and left <= {REDACTED_VALUE}:
            return clean, after
    emptied = _with_text(request, source, _BYTES)
    return msgspec.structs.replace(emptied, body=_BYTES), None


def _with_text(request: InboundRequest, source: PayloadSource, text: bytes) -> InboundRequest:
    return msgspec.structs.replace(request, **{"query_string" if source.in_query else "body": text})


def _marked(value: JSON, paths: Sequence[FieldPath], taken: set[str]) -> JSON:
    """The value with the mark in place of what is at the paths."""
    if () in paths:
        taken.update(_values(value))
        return REDACTED_VALUE
    if isinstance(value, dict):
        return value | {
            step: _marked(value[step], [path[1:] for path in paths if path[0] == step], taken)
            for step in {path[0] for path in paths if path[0] in value}
        }
    if not isinstance(value, list) or not paths:
        return value
    each = [path for path in paths if path[0] is EACH]
    below = [path[1:] for path in each]
    at = {step: [path[1:] for path in paths if path[0] == step] for step, *_ in paths}
    found = []
    for place, one in enumerate(value):  # `[]` is that of lists within lists too, as in `spans`
        inner = below + each if isinstance(one, list) else below
        found.append(_marked(one, inner + at[place] if place in at else inner, taken))
    return found


def _text(
    reader: Reader, source: PayloadSource, paths: Sequence[FieldPath], taken: set[str]
) -> bytes | None:
    """The text of a source without the values; None: nobody knows where they stand."""
    text = source.text
    if source.kind == "json":
        return _json(reader, source, text, paths, taken)
    if source.kind == "field":
        field = reader.form_field
        return forms.with_field(text, field, lambda v: _json(reader, source, v, paths, taken))
    if () in paths:  # names are part of the whole
        return None
    if source.kind == "form":
        return _form(text, paths, taken)
    return _multipart(source, paths, taken) if source.kind == "multipart" else None


def _form(text: bytes, paths: Sequence[FieldPath], taken: set[str]) -> bytes:
    names = [name.decode() for name, _ in forms.pairs_of(text)]
    fields = _marked(forms.fields_of(text), paths, taken)
    return forms.rewritten(text, forms.in_order(names, fields))


def _multipart(source: PayloadSource, paths: Sequence[FieldPath], taken: set[str]) -> bytes | None:
    parts = multipart_form.parts_of(source.text, source.content_type)
    if not all(part.name for part in parts):  # its name is written as no reader here reads it
        return None
    fields = _marked(forms.by_name(part[:2] for part in parts), paths, taken)
    values = forms.in_order([part.name for part in parts], fields)
    return multipart_form.rewritten(source.text, parts, values)


def _json(
    reader: Reader, source: PayloadSource, body: bytes, paths: Sequence[FieldPath], taken: set[str]
) -> bytes:
    text = body.decode("utf-8")
    if source.lists:
        batches = [text[start] for start, _ in spans(text, [reader.split_at])]
        if batches and batches[-1] == "[":
            paths = [(*reader.split_at, EACH, *path) for path in paths]
    pieces, end = list[str](), 0
    for start, stop in spans(text, paths):
        taken.update(_values(value_of(text[start:stop])))
        pieces += (text[end:start], _JSON_MARK)
        end = stop
    return "".join([*pieces, text[end:]]).encode()


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
