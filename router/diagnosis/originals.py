"""
What a body may have been before something on its way changed it; each is a guess to be proved.

For diagnosis only: bounded, and never on the way of a delivery.
"""

import binascii
import json
import zlib
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote_plus, unquote_to_bytes

import msgspec

from router.diagnosis.rewriting import writings

UNPACKED_MAX = 1024 * 1024
_BOM = b"\xef\xbb\xbf"

Kind = Literal["cut", "line_breaks", "charset", "wrapped", "parsed"]


class Original(msgspec.Struct, frozen=True):
    """A body that may have been signed. `how` completes "the signature fits the body …"."""

    kind: Kind
    how: str
    body: bytes


def originals(body: bytes, content_length: int | None) -> Iterator[Original]:
    """Each differs from the body; the likeliest first."""
    if content_length is not None and 0 <= content_length < len(body):
        how = f"cut to the {content_length} bytes that Content-Length announces"
        yield Original("cut", how, body[:content_length])
    for made in (_ends, _charsets, _wrappings):
        yield from (one for one in made(body) if one.body != body)
    yield from (Original("parsed", how, text) for how, text in writings(body))
    for inner in [one.body for one in _wrappings(body) if one.body != body]:
        yield from (Original("wrapped", f"unwrapped, {how}", text) for how, text in writings(inner))


def _ends(body: bytes) -> Iterator[Original]:
    unix = body.replace(b"\r\n", b"\n")
    crlf = unix.rstrip(b"\n").replace(b"\n", b"\r\n")
    ways = (
        ("without its last line break", body.rstrip(b"\r\n")),
        ("without the last of its line breaks", body.removesuffix(b"\n")),
        ("without the last of its line breaks", body.removesuffix(b"\r\n")),
        ("with a line break at its end", body + b"\n"),
        ("with CRLF at its end", body + b"\r\n"),
        ("with CRLF line breaks", unix.replace(b"\n", b"\r\n")),
        ("with LF line breaks", unix),
        ("with LF line breaks and none at its end", unix.rstrip(b"\n")),
        ("with CRLF line breaks, also at its end", crlf + b"\r\n"),
        ("without white space around it", body.strip()),
    )
    return (Original("line_breaks", how, text) for how, text in ways)


def _charsets(body: bytes) -> Iterator[Original]:
    yield Original("charset", "without a byte order mark", body.removeprefix(_BOM))
    yield Original("charset", "with a byte order mark", _BOM + body)
    for read, written in (
        ("utf-8", "latin-1"),
        ("utf-8", "cp1252"),
        ("latin-1", "utf-8"),
        ("cp1252", "utf-8"),
        ("utf-16", "utf-8"),
    ):
        try:
            yield Original(
                "charset",
                f"read as {read} and written as {written}",
                body.decode(read).encode(written),
            )
        except UnicodeError:
            continue


def _wrappings(body: bytes) -> Iterator[Original]:
    """Gateways put bodies into JSON, base64 or forms."""
    if body[:2] == b"\x1f\x8b":
        yield Original("wrapped", "unpacked (gzip)", _unpacked(body))
    yield Original("wrapped", "decoded from base64", _from_base64(body.strip()) or body)
    if b"%" in body[:20]:
        text = body.removeprefix(b"payload=")
        yield Original("wrapped", "taken from a form", unquote_to_bytes(text.replace(b"+", b" ")))
    elif body[:1] in (b"{", b"["):
        form = quote_plus(body).encode("ascii")
        yield Original("wrapped", "as the form that it was taken from", b"payload=" + form)
    yield from _in_json(body)


def _in_json(body: bytes) -> Iterator[Original]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict) and isinstance(found.get("body"), str):
        how = "that stands in its field `body`"
        text = found["body"].encode("utf-8", "surrogatepass")
        yield Original("wrapped", how, text)
        yield Original("wrapped", f"{how}, decoded from base64", _from_base64(text) or text)
    elif isinstance(found, str):
        text = found.encode("utf-8", "surrogatepass")
        yield Original("wrapped", "that stands in it as a JSON string", text)


def _unpacked(body: bytes) -> bytes:
    """Bounded: a bomb unpacks to no more than UNPACKED_MAX."""
    try:
        return zlib.decompressobj(wbits=31).decompress(body, UNPACKED_MAX)
    except zlib.error:
        return body


def _from_base64(text: bytes) -> bytes | None:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return None
