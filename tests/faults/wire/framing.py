"""B1 to B50: the request line, the head, the framing of the body, time."""

import gzip
import zlib
from collections.abc import Iterator

from tests.faults.wire.case import READ, REFUSED, Ask, Case, Make, taken, turned
from tests.faults.wire.link import Act, Continue, Pause, Steps
from tests.unit.web import wire_requests

MIB = 1024 * 1024
HEADED = ("shop", "code")


def refused(number: int, name: str, **more: object) -> Case:
    """A refusal of the unit tests' table, here behind a valid signature at a real endpoint."""
    raw, status = wire_requests.REFUSED[name]

    def make(ask: Ask) -> bytes:
        line, _, rest = raw.partition(b"\r\n")
        line = line.replace(b"/wh_x", ask.place.path).replace(b"/WH_X", ask.place.path.upper())
        proof = ask.signed(b"{}").without(b"host").of(measured=False)
        proof = proof.of(headers=tuple(p for p in proof.headers if p[0] != b"Content-Type"))
        fields = b"".join(b"%b: %b\r\n" % pair for pair in proof.headers)
        return line + b"\r\n" + (fields if line.endswith(b"HTTP/1.1") else b"") + rest

    return Case(number, name, make, (status,), closes=True, **more)  # type: ignore[arg-type]


def padded(ask: Ask, size: int) -> bytes:
    """A body of exactly so many bytes that its provider reads."""
    start, end = b'{"event":"bounce","number":%d,"padding":"' % ask.number, b'"}'
    if ask.place.provider == "email":
        start, end = b"[" + start, end + b"]"
    return start + b"x" * (size - len(start) - len(end)) + end


def too_long(ask: Ask, *, chunks: bool = False) -> Steps:
    body = padded(ask, ask.place.body_max + 1)
    message = ask.signed(body)
    if not chunks:
        return [message.head(), body]
    pieces = [body[at : at + MIB] for at in range(0, len(body), MIB)]
    coded = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return [message.coded(b"").head(), *coded, b"0\r\n\r\n"]


def with_head(*pairs: tuple[bytes, bytes]) -> Make:
    return lambda ask: ask.signed().with_(*pairs)


def endless_header(size: int) -> Make:
    def make(ask: Ask) -> Steps:
        start = ask.signed().without(b"host").encode().partition(b"\r\n\r\n")[0]
        return [start + b"\r\nHost: h\r\nX-A: ", *[b"a" * 65_536] * (size // 65_536), b"\r\n\r\n"]

    return make


def extended(size: int) -> Make:
    """One chunk whose size line has an extension of so many bytes."""

    def make(ask: Ask) -> bytes:
        message = ask.signed()
        chunk = b"%x;%b\r\n%b\r\n0\r\n\r\n" % (len(message.body), b"e" * size, message.body)
        return message.coded(chunk).encode()

    return make


def drip(data: bytes, each_s: float) -> Iterator[bytes | Pause]:
    for at in range(len(data)):
        yield data[at : at + 1]
        yield Pause(each_s)


def half_head(ask: Ask) -> Steps:
    return [ask.signed().encode()[:60], Pause(60)]


def half_body(ask: Ask) -> Steps:
    return [ask.signed().encode()[:-5], Pause(60)]


def dripping_head(ask: Ask) -> Steps:
    return list(drip(ask.signed().encode()[:100], 0.4))


def dripping_body(ask: Ask) -> Steps:
    message = ask.signed(padded(ask, 200))
    return [message.head(), *drip(message.body, 1.0)]


def asked_first(ask: Ask) -> Steps:
    message = ask.signed()
    return [message.with_((b"Expect", b"100-continue")).head(), Continue(), message.body]


def too_long_asked(ask: Ask) -> bytes:
    head = ask.signed().with_((b"Expect", b"100-continue")).of(measured=False)
    return head.with_((b"Content-Length", b"%d" % (ask.place.body_max + 1))).head()


def piped(ask: Ask) -> bytes:
    first = ask.signed().encode()
    ask.number += 500_000
    second = ask.signed().encode()
    ask.number += 500_000
    return first + second + ask.signed().encode()


def short_body(ask: Ask) -> Steps:
    return [ask.signed().encode()[:-5], Act.HALF_CLOSE]


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


def under(method: bytes) -> Make:
    return lambda ask: ask.signed().of(method=method)


LINE = (
    taken(1, "valid", lambda ask: ask.signed()),
    refused(2, "no Host"),
    refused(3, "two Hosts"),
    taken(
        4,
        "HTTP/1.0",
        lambda ask: ask.signed().without(b"host").of(version=b"HTTP/1.0"),
        closes=True,
    ),
    Case(
        5,
        "an HTTP/0.9 line, then silence",
        lambda ask: [b"GET %b\r\n" % ask.place.path, Pause(9)],
        (408,),
        closes=True,
        slow=True,
        within=6.5,
    ),
    refused(5, "HTTP/0.9 with headers"),
    refused(5, "HTTP/2.0 in the words of 1.1"),
    Case(
        5,
        "half a line, then silence",
        lambda ask: [b"GET %b" % ask.place.path, Pause(9)],
        (408,),
        closes=True,
        slow=True,
        within=6.5,
    ),
    refused(6, "an HTTP/2 preface"),
    refused(7, "a TLS hello"),
    refused(31, "a target of 100 KB"),
    refused(31, "a target just too long"),
    taken(
        33,
        "an absolute-form target",
        lambda ask: ask.signed().at(b"http://h" + ask.place.path),
        why="by path: RFC 9112 asks servers to take it",
    ),
    refused(34, "OPTIONS *"),
    refused(34, "CONNECT"),
    *(turned(35, m.decode(), under(m), 405) for m in (b"GET", b"PUT", b"DELETE", b"PATCH")),
    refused(35, "HEAD"),
    refused(36, "an unknown method"),
    refused(36, "a method of odd bytes"),
    *(refused(37, n) for n in ("dots", "escaped dots", "an escaped slash", "an escaped letter")),
    refused(38, "two slashes"),
    refused(38, "a slash behind"),
    *(refused(39, name) for name in ("%00", "%ff", "%zz", "an escaped line break")),
    refused(40, "raw UTF-8 in the path"),
    refused(40, "a space in the path"),
    refused(41, "an empty id"),
    refused(41, "an id of 300 characters"),
    refused(41, "an id in upper case"),
    refused(48, "garbage"),
    Case(
        48,
        "50 empty lines",
        lambda ask: [b"\r\n" * 50, Pause(9)],
        (),
        closes=True,
        slow=True,
        within=6.5,
        why="the parser skips empty lines before a request; silence after them is silence",
    ),
    taken(48, "50 empty lines before a request", lambda ask: b"\r\n" * 50 + ask.signed().encode()),
)

LENGTHS = (
    refused(8, "length and transfer coding"),
    refused(8, "transfer coding and length"),
    refused(9, "gzip, chunked"),
    refused(10, "transfer coding twice"),
    refused(10, "an unknown transfer coding"),
    refused(10, "identity and length"),
    refused(11, "two equal lengths"),
    refused(11, "a list of lengths"),
    refused(12, "two different lengths"),
    refused(13, "a negative length"),
    refused(13, "a signed length"),
    refused(13, "a hexadecimal length"),
    refused(13, "an empty length"),
    refused(13, "a length of 23 digits"),
    turned(
        14,
        "a length above the limit, a tiny body",
        lambda ask: (
            ask.signed()
            .of(measured=False)
            .with_((b"Content-Length", b"%d" % (ask.place.body_max + 1)))
        ),
        413,
    ),
    turned(15, "one byte too many", too_long, 413, within=8.0),
    turned(16, "one byte too many, in chunks", lambda a: too_long(a, chunks=True), 413, within=8.0),
    taken(
        17, "exactly the limit", lambda ask: ask.signed(padded(ask, ask.place.body_max)), within=8.0
    ),
    refused(18, "a chunk not ended"),
    refused(18, "a chunk size of letters"),
    refused(18, "a negative chunk size"),
    refused(19, "a chunk size that overflows"),
    Case(
        19,
        "the largest chunk size, then silence",
        lambda ask: [ask.signed().coded(b"f" * 16 + b"\r\n").encode(), Pause(9)],
        (408,),
        closes=True,
        slow=True,
        within=6.5,
    ),
    taken(20, "a chunk extension of 1 KB", extended(1000)),
    refused(20, "a chunk extension of 100 KB"),
    refused(22, "trailers of 100 KB"),
    refused(21, "bare LF in chunk lines"),
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
    Case(
        45,
        "a body cut short",
        short_body,
        (),
        closes=True,
        why="nobody is left to hear an answer",
    ),
)

HEAD = (
    refused(23, "space before the colon"),
    refused(23, "an empty header name"),
    refused(24, "a folded header"),
    refused(25, "NUL in a header"),
    refused(25, "bare CR in a header"),
    refused(26, "LF alone"),
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
    refused(29, "a header of 20 KB"),
    refused(29, "a header of 200 KB"),
    refused(29, "a header that never ends"),
    turned(29, "a header of 40 MB", endless_header(40 * MIB), 431, within=5.0),
    turned(30, "1,000 headers", with_head(*[(b"X", b"1")] * 1000), 431),
    refused(30, "101 headers"),
    refused(30, "20,000 headers"),
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
    Case(42, "expect 100-continue", asked_first, (200,), state=READ, words=("100",)),
    turned(42, "expect 100-continue, too long", too_long_asked, 413),
    refused(42, "another expectation"),
    taken(
        43,
        "upgrade to h2c",
        with_head((b"Connection", b"Upgrade"), (b"Upgrade", b"h2c")),
        closes=True,
    ),
    refused(43, "a websocket"),
    Case(44, "three requests at once", piped, (200, 200, 200), state=READ),
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

TIME = (
    Case(46, "half a head", half_head, (408,), closes=True, slow=True, within=6.5),
    Case(46, "half a body", half_body, (408,), closes=True, slow=True, within=6.5),
    Case(46, "a dripping head", dripping_head, (408,), closes=True, slow=True, within=6.5),
    Case(46, "a dripping body", dripping_body, (408,), closes=True, slow=True, within=32.0),
    Case(47, "silence", lambda ask: [Pause(9)], (), closes=True, slow=True, within=6.5),
    Case(
        47,
        "silence after an answer",
        lambda ask: [ask.signed().encode(), Pause(9)],
        (200,),
        closes=True,
        state=READ,
        slow=True,
        within=6.5,
    ),
)

FRAMING: tuple[Case, ...] = (*LINE, *LENGTHS, *HEAD, *TIME)
