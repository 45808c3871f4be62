"""
Values taken out of a stored request: `[redacted]` stands where they stood, all else stays.

In JSON that is a text in place of the value. A form has it in place of the field; forms with
files, the content of the part. A body of which nobody knows where the values are (unparsed, XML,
text) is taken out whole.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import msgspec

from router.expressions.field_paths import EACH, FieldPath
from router.model.delivery import JSON, REDACTED_VALUE, InboundRequest
from router.providers import forms
from router.providers.definition import Definition
from router.providers.headers import wire
from router.providers.json_spans import spans, value_of
from router.providers.multipart_form import is_multipart
from router.providers.queries import parameters, without
from router.providers.read import BODILESS, kind_of, stepped
from router.providers.xml_body import elements_of

_JSON_MARK, _BYTES = f'"{REDACTED_VALUE}"', REDACTED_VALUE.encode("ascii")
_FORM_MARK = quote_plus(REDACTED_VALUE).encode("ascii")
_BOUNDARY = re.compile(rb'boundary="?([^";]+)', re.IGNORECASE)
_NAME = re.compile(rb'[; ]name="([^"]*)"')


class RedactedRequest(NamedTuple):
    """What is left of a request, and the texts and numbers that were taken out of it."""

    request: InboundRequest
    values: frozenset[str]


class _Taken(set[str]):
    """The values that were taken out."""

    def note(self, value: Any) -> None:
        """The texts and numbers of a JSON value, whose numbers are texts."""
        if isinstance(value, str):
            self.add(value)
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                self.note(one)


def redacted(
    definition: Definition, request: InboundRequest, paths: Sequence[FieldPath], *, read: bool
) -> RedactedRequest:
    """
    A request without the values at these paths (rooted in `payload`, `headers` and `query`).
    `read`: its body is what its content type says, and was read.
    """
    taken = _Taken()
    below = {root: [path[1:] for path in paths if path[0] == root] for root, *_ in paths}
    names = {wire(str(path[0])) for path in below.get("headers", ()) if path}
    headers = tuple([_header(one, names, taken) for one in request.headers])
    query = request.query_string
    for name in [str(path[0]).encode() for path in below.get("query", ()) if path]:
        query = _without(query, name, taken)
    clean = msgspec.structs.replace(request, headers=headers, query_string=query)
    if payload := below.get("payload"):
        clean = _body(definition, clean, payload, taken, read=read)
    return RedactedRequest(clean, frozenset(taken - {REDACTED_VALUE}))


def _header(header: tuple[bytes, bytes], names: set[bytes], taken: _Taken) -> tuple[bytes, bytes]:
    name, value = header
    if name not in names:
        return header
    taken.add(value.decode("latin-1"))
    return name, _BYTES


def _without(query: bytes, name: bytes, taken: _Taken) -> bytes:
    for one, value in parameters(query):
        if one == name:
            taken.add(value.decode("utf-8", "replace"))
    return without(query, name, REDACTED_VALUE)


def _body(
    definition: Definition,
    request: InboundRequest,
    paths: Sequence[FieldPath],
    taken: _Taken,
    *,
    read: bool,
) -> InboundRequest:
    kind = dict(request.headers).get(b"content-type", b"")
    form = forms.is_form(kind) and bool(definition.form_field)
    known = "form" if form else kind_of(kind, definition.reads)
    if read and known == "form":
        in_query = request.method in BODILESS
        pairs = request.query_string if in_query else request.body
        pairs = _form(definition, pairs, paths, taken)
        return msgspec.structs.replace(request, **{"query_string" if in_query else "body": pairs})
    body = _BYTES
    if read and known == "json":
        splits = definition.reads == ("json",)
        body = _json(definition if splits else None, request.body, paths, taken)
    elif read and known == "multipart" and is_multipart(kind):
        names = {str(path[0]).encode() if path else b"" for path in paths}
        body = _multipart(request.body, kind, names, taken)
    elif read:
        payload = elements_of(request.body) if known == "xml" else request.body.decode()
        taken.update(*(_at(payload, path) for path in paths))
    return msgspec.structs.replace(request, body=body)


def _at(payload: JSON, path: FieldPath) -> set[str]:
    """The texts at a path, and below it."""
    values = [payload]
    for step in path:
        if step is EACH:
            values = [one for value in values if isinstance(value, list) for one in value]
        else:
            values = [stepped(value, str(step)) for value in values]
    found = _Taken()
    found.note(values)
    return found


def _json(
    splitting: Definition | None, body: bytes, paths: Sequence[FieldPath], taken: _Taken
) -> bytes:
    text = body.decode("utf-8")
    if splitting is not None and splitting.split is not None:
        at = tuple(splitting.split_at.split(".")) if splitting.split_at else ()
        batches = [text[start] for start, _ in spans(text, [at])]
        if batches and batches[-1] == "[":
            paths = [(*at, EACH, *path) for path in paths]
    pieces, end = list[str](), 0
    for start, stop in spans(text, paths):
        taken.note(value_of(text[start:stop]))
        pieces += (text[end:start], _JSON_MARK)
        end = stop
    return "".join([*pieces, text[end:]]).encode()


def _form(definition: Definition, body: bytes, paths: Sequence[FieldPath], taken: _Taken) -> bytes:
    field = (definition.form_field or "").encode("ascii")
    if field and forms.has_field(body, field):
        return b"&".join(_pairs_of_json(definition, body, field, paths, taken))
    every, names = () in paths, {str(path[0]).encode() for path in paths if path}
    pieces = []
    for piece in body.split(b"&"):
        name, sign, value = piece.partition(b"=")
        wanted = sign and (every or forms.unescaped(name) in names)
        if wanted:
            taken.add(forms.unescaped(value).decode("utf-8", "replace"))
        pieces.append(name + sign + _FORM_MARK if wanted else piece)
    return b"&".join(pieces)


def _pairs_of_json(
    definition: Definition, body: bytes, field: bytes, paths: Sequence[FieldPath], taken: _Taken
) -> Iterator[bytes]:
    for piece in body.split(b"&"):
        name, sign, value = piece.partition(b"=")
        if name == field:
            left = _json(definition, forms.unescaped(value), paths, taken)
            yield name + sign + quote_plus(left).encode("ascii")
        else:
            yield piece


def _multipart(body: bytes, kind: bytes, names: set[bytes], taken: _Taken) -> bytes:
    """With the content of these parts replaced; "": of every part."""
    if (found := _BOUNDARY.search(kind)) is None:
        return _BYTES
    boundary = b"--" + found[1].strip()
    return boundary.join([_part(part, names, taken) for part in body.split(boundary)])


def _part(part: bytes, names: set[bytes], taken: _Taken) -> bytes:
    head, blank, content = part.partition(b"\r\n\r\n")
    named = _NAME.search(head)
    if not blank or named is None or names.isdisjoint((b"", named[1])):
        return part
    if b"filename=" not in head:
        taken.add(content.removesuffix(b"\r\n").decode("utf-8", "replace"))
    return head + blank + _BYTES + b"\r\n"
