"""What of a captured request may be its proof: where it stands, and how it is written."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from router.model.delivery import JSON, InboundRequest
from router.providers import forms, queries
from router.providers.signatures import DECODERS

TEXTS_MAX = 300
_DEPTH_MAX = 4
_TEXT_MAX = 1024
_BORING = (
    frozenset({"host", "connection", "via", "forwarded", "traceparent", "user-agent"})
    | {"content-type", "content-length", "accept", "accept-encoding", "from"}
    | {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip"}
)
_SEPARATORS = (" ", ",", ";", "&", "|")
_LEAD = re.compile(r"[A-Za-z0-9_.-]{1,20}[=,: ]")
SIZES = {20: "sha1", 32: "sha256", 48: "sha384", 64: "sha512"}
"""The hash of an HMAC by its length."""


class Text(msgspec.Struct, frozen=True):
    """A text of the request: the keys of `verify` that say where it stands, its name, itself."""

    place: dict[str, Any]
    name: str
    value: str


class SignatureCandidate(msgspec.Struct, frozen=True):
    """A text that may be a signature: where it stands, how it is written, its bytes."""

    place: dict[str, Any]
    name: str
    encoding: str
    raw: bytes

    @property
    def lead(self) -> str:
        """What stands before it."""
        return str(self.place.get("prefix", ""))


def titled(name: str) -> str:
    """A header's name as people write it."""
    return "-".join(word.capitalize() for word in name.split("-"))


def texts(request: InboundRequest) -> list[Text]:
    """Every text that may be a proof, a time or a number: headers first, then query and body."""
    found = [
        Text({"header": titled(name)}, name, value)
        for name, value in request_headers(request)
        if name not in _BORING
    ]
    for parameter, value in queries.parameters(request.query_string):
        name = parameter.decode("latin-1")
        found.append(Text({"query": name}, name, value.decode("latin-1")))
    for path, held in scalars(payload_of(request)):
        found.append(Text({"field": path}, path.rpartition(".")[2], str(held)))
    return found[:TEXTS_MAX]


def request_headers(request: InboundRequest) -> list[tuple[str, str]]:
    """The headers as texts, names in lower case."""
    return [(n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers]


def payload_of(request: InboundRequest) -> JSON:
    """The body as JSON, or a form as an object; None for everything else."""
    kind = next((v for n, v in request.headers if n == b"content-type"), b"")
    try:
        if forms.is_form(kind):
            return forms.fields_of(request.body)
        return msgspec.json.decode(request.body)
    except (ValueError, RecursionError):
        return None


def scalars(payload: JSON, *, depth: int = _DEPTH_MAX) -> Iterator[tuple[str, str | int]]:
    """The dotted paths of an object's texts and whole numbers, the outer ones first."""
    if not isinstance(payload, dict):
        return
    named = [(key, value) for key, value in payload.items() if "." not in key]
    for key, value in named:
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield key, value
    for key, value in named if depth > 1 else ():
        for path, held in scalars(value, depth=depth - 1):
            yield f"{key}.{path}", held


def field_names(payload: JSON) -> list[str]:
    """The names of an object's fields; those of objects and items in it after the field's."""
    names: list[str] = []
    for key, value in payload.items() if isinstance(payload, dict) else ():
        inner = value[0] if isinstance(value, list) and value else value
        names += [key, *(f"{key}.{name}" for name in (inner if isinstance(inner, dict) else ()))]
    return names[:TEXTS_MAX]


def signatures(found: list[Text]) -> Iterator[SignatureCandidate]:
    """What may be a signature of bytes, the plainest reading of each text first."""
    for text in found:
        yield from _decoded(text, {}, text.value)
        if lead := _LEAD.match(text.value):
            yield from _decoded(text, {"prefix": lead[0]}, text.value[lead.end() :])
        for separator in _SEPARATORS if "header" in text.place else ():
            yield from _listed(text, separator)


def _listed(text: Text, separator: str) -> Iterator[SignatureCandidate]:
    for entry in text.value.split(separator)[:32] if separator in text.value else ():
        entry = entry.strip()  # noqa: PLW2901 (blanks around an entry do not count)
        if (lead := _LEAD.match(entry)) and lead[0][-1] != separator:
            listed = {"separator": separator, "prefix": lead[0]}
            yield from _decoded(text, listed, entry[lead.end() :])


def _decoded(text: Text, keys: dict[str, Any], value: str) -> Iterator[SignatureCandidate]:
    if not 0 < len(value) <= _TEXT_MAX or not value.isascii():
        return
    for encoding, decode in DECODERS.items():
        raw = decode(value.encode("ascii"))
        if raw is not None and (len(raw) in SIZES or len(raw) >= min(64, *SIZES)):
            yield SignatureCandidate(text.place | keys, text.name, encoding, raw)
