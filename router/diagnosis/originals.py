"""
What a body may have been before something on its way changed it, and what a secret may have been
meant to be: each is a guess to be proved.

For diagnosis only: bounded, and never on the way of a delivery.
"""

import binascii
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
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


_MARKS = (b"whsec_", b"shpss_", b"sha256=")


def guesses(value: bytes) -> Iterator[tuple[str, bytes]]:
    """Other values, each with words that complete "the signature fits the secret …"."""
    seen = {value, b""}
    for how, other in _guessed(value):
        if other not in seen:
            seen.add(other)
            yield how, other


def _guessed(value: bytes) -> Iterator[tuple[str, bytes]]:
    plain = value.strip()
    yield "without the white space around it", plain
    yield "with a line break at its end", value + b"\n"
    yield "with CRLF at its end", value + b"\r\n"
    yield "without a byte order mark", value.removeprefix(b"\xef\xbb\xbf").strip()
    yield "without the quotes around it", plain.strip(b"\"'")
    if b"=" in plain:
        named = plain.partition(b"=")[2]
        yield "without the name before `=`", named
        yield "without the name before `=` and the quotes", named.strip(b"\"'")
    yield "with real line breaks for `\\n`", value.replace(b"\\n", b"\n")
    yield "without its `\\n`", plain.removesuffix(b"\\n")
    yield "with percent escapes decoded", unquote_to_bytes(plain)
    for mark in _MARKS:
        yield f"without its `{mark.decode('ascii')}`", plain.removeprefix(mark)
    yield from _encoded(plain)


def _encoded(plain: bytes) -> Iterator[tuple[str, bytes]]:
    text = plain.removeprefix(b"whsec_")
    with suppress(binascii.Error):
        yield "decoded from base64", binascii.a2b_base64(text + b"=" * (-len(text) % 4))
    with suppress(binascii.Error):
        yield "decoded from hex", binascii.unhexlify(plain)
    yield "encoded in base64", binascii.b2a_base64(plain, newline=False)
    if plain[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield "read as UTF-16", plain.decode("utf-16", "replace").strip().encode("utf-8")
