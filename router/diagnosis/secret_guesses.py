"""What a secret may have been meant to be: the slips of copying, each a guess to be proved."""

import binascii
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote_to_bytes

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
