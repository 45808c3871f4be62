"""Requests byte for byte as a stranger may send them, and the one answer each gets."""

PATH = b"/wh_x"


def post(
    body: bytes = b"{}",
    *,
    path: bytes = PATH,
    head: bytes = b"",
    method: bytes = b"POST",
    length: bool = True,
) -> bytes:
    """A request; `head` holds whole extra header lines."""
    size = b"Content-Length: %d\r\n" % len(body) if length else b""
    return method + b" " + path + b" HTTP/1.1\r\nHost: h\r\n" + size + head + b"\r\n" + body


def chunked(*parts: bytes) -> bytes:
    """Parts as the chunks of a whole chunked body."""
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
TE = b"Transfer-Encoding: chunked\r\n"
FULL = b"Content-Length: 2\r\n\r\n{}"

ACCEPTED = {
    "minimal": post(),
    "HTTP/1.0 without a Host": b"POST /wh_x HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
    "chunked": H + TE + b"\r\n" + chunked(b"{", b"}"),
    "chunk extension of 1 KB": H + TE + b"\r\n2;" + b"e" * 1000 + b"\r\n{}\r\n0\r\n\r\n",
    "latin-1 in a header": post(head=b"X-Name: \xe9\r\n"),
    "absolute-form target": post(path=b"http://h/wh_x"),
    "a query": post(path=b"/wh_x?a=1"),
    "a blank after a transfer coding": H + b"Transfer-Encoding: chunked \r\n\r\n" + chunked(b"{}"),
    "blanks after a length": H + b"Content-Length: 2 \t\r\n\r\n{}",
    "blanks around an expectation": post(head=b"Expect:\t 100-continue \r\n"),
    "blanks after an encoding": post(head=b"Content-Encoding: identity \t\r\n"),
    "expect 100-continue": post(head=b"Expect: 100-Continue\r\n"),
    "upgrade to h2c": post(head=b"Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    "no body at all": H + b"\r\n",
    "identity encoding": post(head=b"Content-Encoding: identity\r\n"),
    "odd content types": post(head=b"Content-Type: " + b";" * 5000 + b"\r\nContent-Type: a\r\n"),
    "exactly the largest body": post(b"x" * 1000),
    "100 headers": post(head=b"".join(b"X-%d: 1\r\n" % n for n in range(98))),
}

REFUSED: dict[str, tuple[bytes, int]] = {
    "no Host": (b"POST /wh_x HTTP/1.1\r\n" + FULL, 400),
    "two Hosts": (H + b"Host: h\r\n" + FULL, 400),
    "a malformed Host": (b"POST /wh_x HTTP/1.1\r\nHost: a b<\r\n" + FULL, 400),
    "HTTP/0.9 with headers": (b"POST /wh_x\r\nHost: h\r\n" + FULL, 400),
    "HTTP/2.0 in the words of 1.1": (b"POST /wh_x HTTP/2.0\r\nHost: h\r\n" + FULL, 400),
    "an HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40, 400),
    "length and transfer coding": (H + TE + FULL, 400),
    "transfer coding and length": (H + b"Content-Length: 2\r\n" + TE + b"\r\n{}", 400),
    "gzip, chunked": (H + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(b"{}"), 400),
    "transfer coding twice": (H + TE + TE + b"\r\n" + chunked(b"{}"), 400),
    "an unknown transfer coding": (H + b"Transfer-Encoding: xchunked\r\n\r\n", 400),
    "identity and length": (H + b"Transfer-Encoding: identity\r\n" + FULL, 400),
    "two equal lengths": (H + b"Content-Length: 2\r\n" + FULL, 400),
    "a list of lengths": (H + b"Content-Length: 2, 2\r\n\r\n{}", 400),
    "two different lengths": (H + b"Content-Length: 3\r\n" + FULL, 400),
    "a negative length": (H + b"Content-Length: -1\r\n\r\n", 400),
    "a signed length": (H + b"Content-Length: +2\r\n\r\n{}", 400),
    "a hexadecimal length": (H + b"Content-Length: 0x2\r\n\r\n{}", 400),
    "an empty length": (H + b"Content-Length:\r\n\r\n", 400),
    "a length of 23 digits": (H + b"Content-Length: 1" + b"0" * 22 + b"\r\n\r\n", 400),
    "a length above the limit": (H + b"Content-Length: 1001\r\n\r\nx", 413),
    "one byte too many": (post(b"x" * 1001), 413),
    "one byte too many, chunked": (H + TE + b"\r\n" + chunked(b"x" * 500, b"x" * 501), 413),
    "a chunk not ended": (H + TE + b"\r\n2\r\n{}XX0\r\n\r\n", 400),
    "a chunk size of letters": (H + TE + b"\r\nzz\r\n", 400),
    "a chunk extension of 100 KB": (
        H + TE + b"\r\n2;" + b"e" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
        400,
    ),
    "trailers of 100 KB": (
        H + TE + b"\r\n2\r\n{}\r\n0\r\n" + b"X-A: 1\r\n" * 12_500 + b"\r\n",
        400,
    ),
    "a negative chunk size": (H + TE + b"\r\n-2\r\n", 400),
    "a chunk size that overflows": (H + TE + b"\r\n" + b"f" * 17 + b"\r\n", 400),
    "bare LF in chunk lines": (H + TE + b"\r\n2\n{}\n0\n\n", 400),
    "space before the colon": (H + b"X-A : 1\r\n" + FULL, 400),
    "an empty header name": (H + b": 1\r\n" + FULL, 400),
    "a folded header": (H + b"X-A: 1\r\n 2\r\n" + FULL, 400),
    "NUL in a header": (H + b"X-A: 1\x002\r\n" + FULL, 400),
    "bare CR in a header": (H + b"X-A: 1\r2\r\n" + FULL, 400),
    "LF alone": (post().replace(b"\r\n", b"\n"), 400),
    "a header of 20 KB": (post(head=b"X-A: " + b"a" * 20_000 + b"\r\n"), 431),
    "a header of 200 KB": (post(head=b"X-A: " + b"a" * 200_000 + b"\r\n"), 431),
    "a header that never ends": (H + b"X-A: " + b"a" * 1_000_000, 431),
    "101 headers": (post(head=b"".join(b"X-%d: 1\r\n" % n for n in range(99))), 431),
    "20,000 headers": (post(head=b"X: 1\r\n" * 20_000), 431),
    "a target of 100 KB": (post(path=b"/" + b"a" * 100_000), 414),
    "a target just too long": (post(path=b"/" + b"a" * 2048), 414),
    "OPTIONS *": (b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    "CONNECT": (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    "GET": (post(b"", method=b"GET"), 405),
    "HEAD": (b"HEAD /wh_x HTTP/1.0\r\n\r\n", 405),
    "PUT": (post(method=b"PUT"), 405),
    "DELETE": (post(method=b"DELETE"), 405),
    "an unknown method": (post(method=b"FOO"), 400),
    "a method of odd bytes": (post(method=b"P\xffST"), 400),
    "dots": (post(path=b"/a/../wh_x"), 404),
    "escaped dots": (post(path=b"/%2e%2e/wh_x"), 404),
    "an escaped slash": (post(path=b"/wh_%2fx"), 404),
    "an escaped letter": (post(path=b"/wh_%78"), 404),
    "two slashes": (post(path=b"//wh_x"), 404),
    "a slash behind": (post(path=b"/wh_x/"), 404),
    "%00": (post(path=b"/wh_%00"), 404),
    "%ff": (post(path=b"/wh_%ff"), 404),
    "%zz": (post(path=b"/wh_%zz"), 404),
    "an escaped line break": (post(path=b"/wh_a%0d%0aX:y"), 404),
    "the root": (post(path=b"/"), 404),
    "raw UTF-8 in the path": (post(path="/wh_é".encode()), 400),
    "a space in the path": (post(path=b"/wh x"), 400),
    "an empty id": (post(path=b"/wh_"), 404),
    "an id of 300 characters": (post(path=b"/wh_" + b"x" * 300), 404),
    "an id in upper case": (post(path=b"/WH_X"), 404),
    "another expectation": (post(head=b"Expect: foo\r\n"), 417),
    "a websocket": (
        b"GET /wh_x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        405,
    ),
    "garbage": (b"\x00\x01\x02garbage\r\n\r\n", 400),
    "brotli": (post(b"\x1f\x8b", head=b"Content-Encoding: br\r\n"), 415),
}
