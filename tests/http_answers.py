"""Answers of every kind, good and bad, made of random numbers that a seed brings back."""

from random import Random

_STATUS = (200, 200, 200, 201, 204, 304, 302, 404, 410, 429, 500, 503, 101)
_REASONS = (b"OK", b"", b"No Content At All", b"\xff\xfe", b"a" * 9000)
_VALUES = (b"1", b"text/plain", b"a, b", b"\xe4\xf6", b"x" * 300, b" \t padded \t", b"", b"a\0b")
_ENCODINGS = (b"chunked", b"Chunked", b"gzip, chunked", b"gzip", b"chunked, gzip", b"identity")
_LENGTHS = (b"-1", b"+2", b"0x2", b"two", b"", b"99999999999999999999", b"2, 2")
_BYTES = b'\0\r\n :;,\t0159afAZ{}"\\\x7f\x80\xff'


def random_answer(random: Random) -> bytes:
    """One answer, with what may come before and behind it; one in three is spoilt somewhere."""
    data = b"".join(_interim(random) for _ in range(random.choice((0, 0, 0, 0, 1, 2, 16, 17))))
    data += _final(random)
    if random.random() < 0.1:
        data += random.choice((b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"\r\n", b"rest"))
    if random.random() < 0.34:
        data = _spoilt(random, data)
    return data


def random_pieces(random: Random, data: bytes) -> list[bytes]:
    """
    The same bytes, cut at random places; mostly not near the end, where what is behind an answer
    counts only if it comes with it.
    """
    last = max(0, len(data) - 80)
    cuts = sorted(random.randrange(last + 1) for _ in range(random.choice((0, 0, 1, 2, 5))))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]


def _line_end(random: Random) -> bytes:
    return b"\n" if random.random() < 0.02 else b"\r\n"


def _interim(random: Random) -> bytes:
    status = random.choice((100, 102, 103, 103, 199))
    return b"HTTP/1.1 %d Word" % status + b"\r\n" + _headers(random, 2) + b"\r\n"


def _headers(random: Random, most: int) -> bytes:
    lines = b""
    for number in range(random.randrange(most + 1)):
        name = random.choice((b"X-%d" % number, b"Via", b"Set-Cookie", b"Content-Type", b"Trailer"))
        lines += name + b":" + random.choice((b" ", b"", b"  ")) + random.choice(_VALUES)
        lines += _line_end(random)
    return lines


def _final(random: Random) -> bytes:
    version = random.choice((b"1.1", b"1.1", b"1.1", b"1.0", b"2.0", b"0.9"))
    reason = random.choice(_REASONS) if random.random() < 0.2 else b"OK"
    head = b"HTTP/" + version + b" %d " % random.choice(_STATUS) + reason + b"\r\n"
    head += _headers(random, random.choice((2, 5, 5, 140)))
    if random.random() < 0.3:
        value = random.choice((b"close", b"keep-alive", b"Upgrade", b"close, x"))
        head += b"Connection: " + value + b"\r\n"
    if random.random() < 0.1:
        head += b"Retry-After: 7\r\n"
    body = random.choice((b"", b"ok", b'{"a": "\\u0041"}', b"[1.50]", b"\xff\xfe", b"y" * 70_000))
    return head + random.choice((_with_length, _with_chunks, _until_close))(random, body)


def _with_length(random: Random, body: bytes) -> bytes:
    length = b"%d" % len(body)
    lines = b"Content-Length: " + length + b"\r\n"
    chance = random.random()
    if chance < 0.1:
        lines = b"Content-Length: " + random.choice(_LENGTHS) + b"\r\n"
    elif chance < 0.2:
        lines = b"Content-Length: %d\r\n" % (len(body) + random.choice((-1, 1, 5)))
    elif chance < 0.25:
        lines += b"Content-Length: " + random.choice((length, b"9")) + b"\r\n"
    return lines + b"\r\n" + body


def _with_chunks(random: Random, body: bytes) -> bytes:
    encoding = b"chunked" if random.random() < 0.8 else random.choice(_ENCODINGS)
    lines = b"Transfer-Encoding: " + encoding + b"\r\n"
    if random.random() < 0.1:
        lines += random.choice((b"Content-Length: 2\r\n", b"Transfer-Encoding: gzip\r\n"))
    lines += b"\r\n"
    while body:
        size = random.choice((1, 2, 100, 5000, 70_000))
        part, body = body[:size], body[size:]
        extension = random.choice((b"", b"", b"", b";a=b", b" ", b";" + b"e" * 300))
        lines += b"%x" % len(part) + extension + _line_end(random) + part + b"\r\n"
        if len(lines) > 100_000:
            break
    last = random.choice(
        (b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX-T: 1\r\n\r\n", b"", b"0\r\n")
    )
    return lines + last


def _until_close(random: Random, body: bytes) -> bytes:
    return b"\r\n" + body


def _spoilt(random: Random, data: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(min(len(data), 400) or 1)
        byte = bytes([random.choice(_BYTES)])
        kind = random.randrange(4)
        if kind == 0:
            data = data[:place] + byte + data[place + 1 :]
        elif kind == 1:
            data = data[:place] + byte + data[place:]
        elif kind == 2:
            data = data[:place] + data[place + 1 :]
        else:
            data = data[:place]
    return data
