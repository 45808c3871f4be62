"""Ways to spoil a request, each taking its randomness as an argument."""

import random
from collections.abc import Callable
from urllib.parse import quote_plus

from tests.faults.wire.message import Message

Rng = random.Random

SCRAPS = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\ud800", b"\\u0000", b"\xff", b"\x00"),
    *(b"1e999", b"-0", b"NaN", b"9" * 5000, b"[" * 70, b'{"a":' * 70, b"null", b"\xef\xbb\xbf"),
    *(b"0\r\n\r\n", b"\r\n", b"\n", b"\r", b" ", b"\t", b"POST / HTTP/1.1\r\n", b"%00", b"\x1b[0m"),
)
NAMES = (
    *(b"Host", b"Content-Length", b"Transfer-Encoding", b"Content-Type", b"Content-Encoding"),
    *(b"Expect", b"Connection", b"Upgrade", b"X-Forwarded-For", b"Cookie", b"Authorization"),
    *(
        b"X-Hub-Signature-256",
        b"X-GitHub-Event",
        b"X-Shopify-Topic",
        b"Trailer",
        b"X-A",
        b"",
        b"\xe9",
    ),
)
VALUES = (
    *(
        b"",
        b" ",
        b"0",
        b"-1",
        b"5",
        b"99999999999999999999",
        b"chunked",
        b"gzip, chunked",
        b"identity",
    ),
    *(
        b"gzip",
        b"100-continue",
        b"close",
        b"keep-alive",
        b"Upgrade",
        b"h2c",
        b"websocket",
        b"a" * 3000,
    ),
    *(
        b"application/x-www-form-urlencoded",
        b"multipart/form-data",
        b"\xff\xfe",
        b"a\x00b",
        b"a\rb",
    ),
    *(b"127.0.0.1", b"a b<", b"sha256=" + b"0" * 64, b"1e3", b"v1=,t="),
)
METHODS = (
    b"GET",
    b"PUT",
    b"HEAD",
    b"OPTIONS",
    b"CONNECT",
    b"PRI",
    b"FOO",
    b"post",
    b"P\xffST",
    b"",
)
VERSIONS = (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b"http/1.1", b"HTTP/1.1 ", b"")


def spoil(rng: Rng, data: bytes) -> bytes:
    """Some bytes flipped, cut, doubled, replaced by a scrap, or a scrap put between."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, to = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        to = min(to, at + rng.choice((1, 4, 40, len(data))))
        piece = data[at:to]
        new = rng.choice(
            (
                b"",
                piece * 2,
                rng.choice(SCRAPS),
                rng.randbytes(rng.choice((1, 2, 16))),
                bytes(byte ^ 1 << rng.randrange(8) for byte in piece[:8]) + piece[8:],
            )
        )
        data = data[:at] + new + data[to:]
    return data


def form(_: Rng, body: bytes) -> bytes:
    return b"payload=" + quote_plus(body).encode()


def wrapped(rng: Rng, body: bytes) -> bytes:
    """Deep in arrays, or many times in one."""
    if rng.random() < 0.5:
        depth = rng.choice((1, 63, 64, 65, 2000))
        return b"[" * depth + body + b"]" * depth
    count = min(rng.choice((2, 1000, 1001)), 200_000 // (len(body) + 1) + 1)
    return b"[" + b",".join([body] * count) + b"]"


def noise(rng: Rng, _: bytes) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 100, 5000)))


BODIES: tuple[Callable[[Rng, bytes], bytes], ...] = (spoil, spoil, spoil, form, wrapped, noise)
"""Before it is signed."""


def other_header(rng: Rng, message: Message) -> Message:
    """One more header, in front, behind, or instead of another."""
    headers = list(message.headers)
    pair = (rng.choice(NAMES), rng.choice(VALUES))
    at = rng.randint(0, len(headers))
    headers[at : at + rng.choice((0, 0, 1))] = [pair] * rng.choice((1, 1, 2, 120))
    return message.of(headers=tuple(headers))


def twice(rng: Rng, message: Message) -> Message:
    name, value = rng.choice(message.headers)
    return message.with_((name, rng.choice((value, value.upper(), spoil(rng, value)))))


def dropped(rng: Rng, message: Message) -> Message:
    return message.without(rng.choice(message.headers)[0].lower())


def header_value(rng: Rng, message: Message) -> Message:
    """The signature more often than others: it stands last."""
    at = rng.choice((len(message.headers) - 1, rng.randrange(len(message.headers))))
    headers = list(message.headers)
    name, value = headers[at]
    headers[at] = (name, rng.choice((spoil(rng, value), value.upper(), value[:-1], b" " + value)))
    return message.of(headers=tuple(headers))


def header_name(rng: Rng, message: Message) -> Message:
    headers = list(message.headers)
    at = rng.randrange(len(headers))
    headers[at] = (spoil(rng, headers[at][0]), headers[at][1])
    return message.of(headers=tuple(headers))


def shuffled(rng: Rng, message: Message) -> Message:
    return message.of(headers=tuple(rng.sample(message.headers, len(message.headers))))


def chunks(rng: Rng, message: Message) -> Message:
    """The body in chunks, rightly or nearly so."""
    body, pieces = message.body, []
    while body:
        size = rng.randint(1, len(body))
        pieces.append(body[:size])
        body = body[size:]
    raw = b"".join([chunk(rng, piece) for piece in pieces])
    end = rng.choice((b"0\r\n\r\n",) * 6 + (b"0\r\nX-A: 1\r\n\r\n", b"0;x\r\n\r\n", b"0\r\n", b""))
    return message.coded(raw + end)


def chunk(rng: Rng, piece: bytes) -> bytes:
    if rng.random() < 0.9:
        return b"%x\r\n%b\r\n" % (len(piece), piece)
    size = rng.choice((b"zz", b"-1", b"f" * 16, b"f" * 17, b"0x5", b"", b"%X;a=b" % len(piece)))
    return size + rng.choice((b"\r\n", b"\n")) + piece + rng.choice((b"\r\n", b"", b"XX"))


def wrong_length(rng: Rng, message: Message) -> Message:
    size = len(message.body)
    value = rng.choice((b"%d" % (size - 1), b"%d" % (size + 1), b"0", b"+%d" % size, b"9" * 20))
    bare = message.of(measured=rng.random() < 0.1)
    return bare.of(headers=(*bare.headers, (b"Content-Length", value)))


def line(rng: Rng, message: Message) -> Message:
    """Another method, path or version."""
    which = rng.randrange(4)
    if which == 0:
        return message.of(method=rng.choice(METHODS))
    if which == 1:
        return message.of(version=rng.choice(VERSIONS))
    path = rng.choice(
        (b"/", b"*", b"//" + message.path, message.path + b"/", b"http://h" + message.path)
    )
    return message.at(path if which == 2 else spoil(rng, message.path))


def other_body(rng: Rng, message: Message) -> Message:
    """Not the one that was signed."""
    return message.of(body=spoil(rng, message.body))


AFTER: tuple[Callable[[Rng, Message], Message], ...] = (
    other_header,
    other_header,
    twice,
    dropped,
    header_value,
    header_value,
    header_name,
    shuffled,
    chunks,
    chunks,
    wrong_length,
    line,
    other_body,
)
"""After it was signed."""


def pieces(rng: Rng, data: bytes) -> list[bytes]:
    """The same bytes in several writes."""
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.choice((0, 0, 1, 2, 7))))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]
