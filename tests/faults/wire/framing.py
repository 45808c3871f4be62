"""
B1 to B50: the request line, the head and the framing of what is validly signed.

What is refused for its bytes alone, or ends for their lack, is a row of `tests.wire`.
"""

import gzip
import zlib

from tests.faults.wire.case import REFUSED, Ask, Case, Make, taken

MIB = 1024 * 1024


def padded(ask: Ask, size: int) -> bytes:
    """A body of exactly so many bytes that its provider reads."""
    start, end = b'{"event":"bounce","number":%d,"padding":"' % ask.number, b'"}'
    if ask.place.provider == "email":
        start, end = b"[" + start, end + b"]"
    return start + b"x" * (size - len(start) - len(end)) + end


def with_head(*pairs: tuple[bytes, bytes]) -> Make:
    return lambda ask: ask.signed().with_(*pairs)


def packed(pack: bytes) -> Make:
    """A body that says it is packed; its signature is right."""
    return lambda ask: ask.signed(pack).with_((b"Content-Encoding", b"gzip"))


def bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(b"0" * (25 * MIB)) + packer.flush()


def typed(*values: bytes) -> Make:
    def make(ask: Ask) -> object:
        bare = ask.signed().without(b"content-type")
        return bare.with_(*[(b"Content-Type", value) for value in values])

    return make  # type: ignore[return-value]


FRAMING: tuple[Case, ...] = (
    taken(1, "valid", lambda ask: ask.signed()),
    taken(
        17, "exactly the limit", lambda ask: ask.signed(padded(ask, ask.place.body_max)), within=8.0
    ),
    taken(
        22,
        "trailers",
        lambda ask: (m := ask.signed()).chunked(
            m.body, end=b"0\r\nX-A: 1\r\n%b: forged\r\n\r\n" % ask.place.signature
        ),
    ),
    Case(
        22,
        "the signature as a trailer",
        lambda ask: (
            (m := ask.signed())
            .without(ask.place.signature)
            .chunked(m.body, end=b"0\r\n%b: %b\r\n\r\n" % m.headers[-1])
        ),
        (REFUSED,),
        why="a trailer proves nothing",
    ),
    taken(27, "Latin-1 in a header", with_head((b"X-Name", b"\xe9\xff"))),
    *(
        Case(
            28,
            name,
            lambda ask, value=value: ask.signed().changed(ask.place.signature, lambda _: value),
            (REFUSED,),
        )
        for name, value in (
            ("a signature of Latin-1", b"\xe9" * 64),
            ("a signature of UTF-8", "sha256=é".encode()),
            ("a signature of 1 KB", b"j" * 1024),
            ("an empty signature", b""),
        )
    ),
    Case(
        32,
        "the signature twice, bad and good",
        lambda ask: ask.signed().with_((ask.place.signature, b"bad")),
        (REFUSED,),
    ),
    taken(
        32,
        "the signature twice, the same",
        lambda ask: (m := ask.signed()).with_(m.headers[-1]),
        why="the same value twice is one value (small print 12: only different ones are refused)",
    ),
    *(
        taken(49, name, typed(*values))
        for name, values in (
            ("a content type of 5 KB", (b";" * 5000,)),
            ("an unknown charset", (b"application/json; charset=utf-999",)),
            ("no content type", ()),
            ("two content types", (b"application/json", b"text/plain")),
        )
    ),
    taken(50, "gzip", packed(gzip.compress(b"{}"))),
    taken(50, "a gzip bomb", packed(bomb()), "unparsed"),
    taken(50, "broken gzip", packed(b"\x1f\x8b\x08broken"), "unparsed"),
)
