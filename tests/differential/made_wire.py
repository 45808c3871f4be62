"""Made-up senders: the bytes of a connection, request after request, good and bad, cut anywhere."""

import random
import zlib
from itertools import pairwise

from router.providers import builtin
from tests.clocks import START_MS

KEY = b"a-secret-of-some-length"
SMALL_MAX = 120
PATHS = {
    b"/wh_shop": "shopify",
    b"/wh_code": "github",
    b"/wh_small": "shopify",
    b"/wh_open": "none",
    b"/wh_chat": "slack",
}
_EVENTS = {"shopify": "orders/paid", "github": "push", "slack": "message", "none": "x"}
_BODIES = (
    b"",
    b"{}",
    b'{"id": 1, "total": 10}',
    b'{"id": 2, "ref": "refs/heads/main"}',
    b"[1, 2]",
    b"not json",
    b"\xff\x00{",
    b'{"a":' * 200 + b"1" + b"}" * 200,
    b'{"type": "url_verification", "challenge": "abc"}',
)
_ODD_HEADS = (
    b"Expect: 100-continue",
    b"Expect: a-miracle",
    b"Content-Encoding: gzip",
    b"Content-Encoding: identity",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: Upgrade\r\nUpgrade: h2c",
    b"Upgrade: websocket",
    b"Transfer-Encoding: gzip",
    b"Host: again",
    b"Content-Length: 3",
    b"Content-Length: 1_0",
    b"X-A : 1",
    b": 1",
    b"X-Folded: a\r\n b",
    b"X-Nul: \x00",
    b"X-Latin: \xe9",
    b"X-Long: " + b"a" * 17_000,
    b"Trailer: X-A",
)
_LINES = (
    b"%b %b HTTP/1.0",
    b"%b %b HTTP/2.0",
    b"%b %b HTTP/0.9",
    b"%b  %b HTTP/1.1",
    b"%b http://h%b HTTP/1.1",
    b"%b /%b HTTP/1.1",
    b"%b %b/ HTTP/1.1",
    b"%b %b?a=%%20b&c HTTP/1.1",
    b"%b %b?#fragment HTTP/1.1",
    b"%b %b# HTTP/1.1",
    b"%b %b?\xc3\xa9 HTTP/1.1",
    b"%b /wh_%%73hop%b HTTP/1.1",
    b"%b %b" + b"x" * 2100 + b" HTTP/1.1",
)
_METHODS = (b"GET", b"PUT", b"HEAD", b"OPTIONS", b"DELETE", b"CONNECT", b"post", b"BREW")
_GARBAGE = (b"\x00\x01garbage\r\n\r\n", b"\r\n\r\n", b"POST\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\n")


def stream(rng: random.Random, place: str) -> bytes:
    """All that one connection says: up to five requests, mostly as senders write them."""
    sent, said = list[tuple[bytes, bytes]](), b""
    for number in range(rng.choice((1, 1, 2, 3, 5))):
        roll = rng.random()
        if roll < 0.04:
            said += rng.choice(_GARBAGE)
        elif roll < 0.12 and sent:  # a redelivery
            head, body = rng.choice(sent)
            said += head + body
        else:
            sent.append(_request(rng, f"{place}-{number}"))
            said += b"".join(sent[-1])
    return said[: rng.randrange(len(said))] if rng.random() < 0.1 else said


def pieces(rng: random.Random, data: bytes) -> list[bytes]:
    """The same bytes as a network may bring them."""
    how = rng.random()
    if how < 0.4 or len(data) < 2:
        return [data]
    if how < 0.45:
        size = max(1, len(data) // 400)
        return [data[n : n + size] for n in range(0, len(data), size)]
    cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(rng.randint(1, 6)))})
    return [data[a:b] for a, b in pairwise(cuts)]


def _request(rng: random.Random, name: str) -> tuple[bytes, bytes]:
    path = rng.choice(list(PATHS))
    body = _body(rng)
    if PATHS[path] == "slack":
        # Keyed by its body, and nobody promises which of two connections comes first.
        body += _blanks(name.partition("-")[0])
    fields = _signed(rng, path, body, name)
    while rng.random() < 0.25:
        fields.insert(rng.randrange(len(fields) + 1), rng.choice(_ODD_HEADS))
    if rng.random() < 0.15:
        fields.append(b"X-Forwarded-For: 203.0.113.%d, 10.0.0.1" % rng.randrange(3))
    method = b"POST" if rng.random() < 0.92 else rng.choice(_METHODS)
    line = b"%b %b HTTP/1.1" if rng.random() < 0.88 else rng.choice(_LINES)
    if rng.random() < 0.03:
        path = b"/wh_nobody"
    fields, body = _framed(rng, fields, body)
    if rng.random() < 0.98:
        fields.insert(0, b"Host: h")
    head = b"\r\n".join([line % (method, path), *(_spelled(rng, one) for one in fields), b"", b""])
    return head, body


def _blanks(place: str) -> bytes:
    """Blanks and tabs that tell this connection from others, and change no JSON."""
    return f"{zlib.crc32(place.encode()):032b}".replace("0", " ").replace("1", "\t").encode()


def _body(rng: random.Random) -> bytes:
    body = rng.choice(_BODIES)
    roll = rng.random()
    if roll < 0.1:  # around the limits of the endpoint, of a small body, of what is held back
        size = rng.choice((SMALL_MAX - 1, SMALL_MAX, SMALL_MAX + 1, 65_535, 65_536, 65_537))
        return b'"' + b"x" * (size - 2) + b'"'
    if roll < 0.2:
        return b'{"id": "%d", "text": "%b"}' % (rng.randrange(5), b"y" * rng.randrange(3000))
    return body


def _signed(rng: random.Random, path: bytes, body: bytes, name: str) -> list[bytes]:
    provider = PATHS[path]
    number = name if rng.random() < 0.9 else name.partition("-")[0]
    key = KEY if rng.random() < 0.9 else b"another"
    signed = builtin()[provider].sign(
        event=_EVENTS[provider], body=body, key=key, delivery_id=number, now_ms=START_MS
    )
    fields = [f"{name}: {value}".encode() for name, value in signed]
    if rng.random() < 0.08 and fields:
        fields.pop(rng.randrange(len(fields)))
    if rng.random() < 0.05 and fields:
        fields.append(rng.choice(fields))
    return fields


def _framed(rng: random.Random, fields: list[bytes], body: bytes) -> tuple[list[bytes], bytes]:
    """The length, or the chunks; sometimes neither, both, or a lie."""
    length = b"Content-Length: %d" % len(body)
    roll = rng.random()
    if roll < 0.85:
        return [*fields, length], body
    if roll < 0.93:
        half = len(body) // 2
        parts = [part for part in (body[:half], body[half:]) if part]
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        both = [length] if rng.random() < 0.1 else []
        return [*fields, b"Transfer-Encoding: chunked", *both], chunks + b"0\r\n\r\n"
    if roll < 0.96:
        return fields, body if rng.random() < 0.5 else b""
    return [*fields, b"Content-Length: %d" % (len(body) + rng.choice((-1, 1, 7)))], body


def _spelled(rng: random.Random, field: bytes) -> bytes:
    roll = zlib.crc32(field) % 7 if rng.random() < 0.5 else 7
    name, colon, value = field.partition(b":")
    if roll == 0:
        return name.upper() + colon + value
    if roll == 1:
        return name.lower() + colon + value.strip()
    if roll == 2:
        return name + colon + b" \t" + value + b" \t "
    return field
