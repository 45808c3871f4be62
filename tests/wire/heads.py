"""What a request's head may be, what else is refused, and what refusals say."""

from tests.wire.row import (
    FULL,
    TE,
    H,
    HalfClose,
    Heard,
    Leave,
    Pause,
    Row,
    bad,
    chunked,
    cut,
    good,
    post,
)

_MALFORMED = "x:malformed_request"
_TOKEN = "provider: token, secrets: token, body_max: 1KiB"
_BIG = "provider: none, verify: none, body_max: 5MiB"
_KIB = 1024


def _head(name: str, sent: bytes, status: int = 400, reason: str = _MALFORMED) -> Row:
    """Refused for its head; bytes that are nearer than that to a request have one."""
    return bad(name, sent, status, reason, cuts=len(sent) < 300)


def _place(name: str, path: bytes) -> Row:
    said = {"said": "404 goes", "body": b'{"error":"not_found"}'}
    return bad(name, post(path=path), 404, "not_found", **said)


def _method(name: bytes, **more: object) -> Row:
    allowed = {"allow": "POST", "connection": "close"}
    sent = b"%b /wh_x HTTP/1.1\r\nHost: h\r\n\r\n" % name
    reason = "x:method_not_allowed"
    return bad(name.decode(), sent, 405, reason, head=allowed, said="405 goes", **more)


def _fields(count: int) -> bytes:
    return b"".join(b"X-%d: 1\r\n" % n for n in range(count))


_LINES = (
    _head("no Host", b"POST /wh_x HTTP/1.1\r\n" + FULL, reason="x:bad_host"),
    _head("two Hosts", H + b"Host: h\r\n" + FULL, reason="x:bad_host"),
    _head("a malformed Host", b"POST /wh_x HTTP/1.1\r\nHost: a b<\r\n" + FULL),
    _head("a Host with a path", b"POST /wh_x HTTP/1.1\r\nHost: a/b\r\n" + FULL),
    _head("two Hosts of HTTP/1.0", b"POST /wh_x HTTP/1.0\r\nHost: a\r\nHost: b\r\n" + FULL,
          reason="x:bad_host"),
    _head("HTTP/0.9 with headers", b"POST /wh_x\r\nHost: h\r\n" + FULL),
    _head("HTTP/2.0 in the words of 1.1", b"POST /wh_x HTTP/2.0\r\nHost: h\r\n" + FULL),
    _head("HTTP/0.9 in the words of 1.1", b"POST /wh_x HTTP/0.9\r\nHost: h\r\n" + FULL),
    _head("an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", reason="malformed_request"),
    _head("a TLS hello", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\0" * 40,
          reason="malformed_request"),
    _head("garbage", b"\0\1\2garbage\r\n\r\n", reason="malformed_request"),
    _head("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", reason="malformed_request"),
    _head("CONNECT", b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", reason="malformed_request"),
    _head("an unknown method", post(method=b"FOO"), reason="malformed_request"),
    _head("a method in small letters", post(method=b"post"), reason="malformed_request"),
    _head("a method of odd bytes", post(method=b"P\xffST"), reason="malformed_request"),
    _head("raw UTF-8 in the path", post(path="/wh_é".encode()), reason="malformed_request"),
    _head("a space in the path", post(path=b"/wh x"), reason="malformed_request"),
    _head("LF alone", post().replace(b"\r\n", b"\n")),
    _head("space before the colon", H + b"X-A : 1\r\n" + FULL),
    _head("an empty header name", H + b": 1\r\n" + FULL),
    _head("a folded header", H + b"X-A: 1\r\n 2\r\n" + FULL),
    _head("NUL in a header", H + b"X-A: 1\x002\r\n" + FULL),
    _head("bare CR in a header", H + b"X-A: 1\r2\r\n" + FULL),
    _head("another expectation", post(head=b"Expect: foo\r\n"), 417, "x:expectation_failed"),
    _head("another expectation elsewhere", post(head=b"Expect: foo\r\n", path=b"/none"), 417,
          "expectation_failed"),
    bad("br", post(b"x", head=b"Content-Encoding: br\r\n"), 415, "x:unsupported_encoding",
        said="415 goes"),
)  # fmt: skip

_SIZES = (
    _head("a header of 20 KB", post(head=b"X-A: " + b"a" * 20_000 + b"\r\n"), 431,
          "x:headers_too_large"),
    _head("20 KB of blanks", post(head=b"X-A: a" + b" " * 20_000 + b"\r\n"), 431,
          "x:headers_too_large"),
    _head("a header of 200 KB", post(head=b"X-A: " + b"a" * 200_000 + b"\r\n"), 431,
          "x:headers_too_large"),
    bad("a header that never ends", [H + b"X-A: ", *[b"a" * 65_536] * 20], 431,
        "x:headers_too_large"),
    _head("101 headers", post(head=_fields(99)), 431, "x:too_many_headers"),
    _head("20,000 headers", post(head=b"X: 1\r\n" * 20_000), 431, "x:too_many_headers"),
    good("100 headers", post(b"1", head=_fields(98)), b"1"),
    good("a header of 15 KB", post(b"1", head=b"X-A: " + b"a" * 15_000 + b"\r\n"), b"1"),
    _head("a target of 100 KB", post(path=b"/" + b"a" * 100_000), 414, "uri_too_long"),
    _head("a target just too long", post(path=b"/" + b"a" * 2048), 414, "uri_too_long"),
    good("a long query", post(b"1", path=b"/wh_x?" + b"q" * 2000), b"1"),
    bad("too long a query", post(path=b"/wh_x?" + b"q" * 2048), 414, "x:uri_too_long"),
    bad("an extension of 100 KB", H + TE + b"\r\n2;" + b"e" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
        400, _MALFORMED),
    bad("an extension of 19 KB in pieces", (H + TE + b"\r\n2;" + b"e" * 10_000, Pause(0.05),
        b"e" * 9_000 + b"\r\n{}\r\n0\r\n\r\n"), 400, _MALFORMED),
    bad("an extension that never ends", [H + TE + b"\r\n1;", *[b"e" * 65_536] * 16], 400,
        _MALFORMED),
    bad("trailers of 100 KB", H + TE + b"\r\n2\r\n{}\r\n0\r\n" + b"X-A: 1\r\n" * 12_500 + b"\r\n",
        400, _MALFORMED),
    bad("trailers that never end", [H + TE + b"\r\n2\r\n{}\r\n0\r\n", *[b"X-A: 1\r\n" * 8_000]
        * 16], 400, _MALFORMED),
    # -- bodies
    good("exactly the largest body", post(b"x" * _KIB), b"x" * _KIB),
    bad("a length above the limit", H + b"Content-Length: 1025\r\n\r\nx", 413, "x:too_large",
        cuts=True),
    bad("one byte too many", post(b"x" * 1025), 413, "x:too_large", said="413 goes"),
    good("exactly the largest body, in chunks", H + TE + b"\r\n" + chunked(b"x" * 512, b"y" * 512),
         b"x" * 512 + b"y" * 512),
    bad("one byte too many, in chunks", H + TE + b"\r\n" + chunked(b"x" * 512, b"x" * 513), 413,
        "x:too_large", said="413 goes"),
    bad("chunks without end", [H + TE + b"\r\n", *[b"100\r\n" + b"x" * 256 + b"\r\n"] * 900], 413,
        "x:too_large"),
    bad("too large behind an upgrade", H + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + TE + b"\r\n"
        + chunked(b"x" * 600, b"x" * 600), 413, "x:too_large", said="413 goes"),
    bad("413 while the sender goes on", [H + b"Content-Length: 5000000\r\n\r\n",
        *[b"x" * 65_536] * 40], 413, "x:too_large", head={"connection": "close"}),
    bad("a request behind a 413", [H + b"Content-Length: 5000\r\n\r\n", Heard(), post(b"1")], 413,
        "x:too_large"),
    good("a large body", post(b"y" * 3_000_000), b"y" * 3_000_000, endpoint=_BIG),
    good("a large body in chunks", H + TE + b"\r\n" + chunked(*[b"z" * 100_000] * 20),
         b"z" * 2_000_000, endpoint=_BIG),
    good("small ones behind a large one", post(b"y" * 300_000) + post(b"1") + post(b"2"),
         b"y" * 300_000, b"1", b"2", endpoint=_BIG),
    good("chunks of one byte", H + TE + b"\r\n" + chunked(*[b"1"] * 1000), b"1" * 1000),
)  # fmt: skip

_ANSWERS = (
    _method(b"GET"), _method(b"PUT"), _method(b"DELETE"), _method(b"OPTIONS"), _method(b"HEAD"),
    bad("a websocket", b"GET /wh_x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
        b"Upgrade: websocket\r\n\r\n", 405, "x:method_not_allowed", said="405 goes"),
    *(_place(name, path) for name, path in {
        "the root": b"/", "dots": b"/a/../wh_x", "escaped dots": b"/%2e%2e/wh_x",
        "an escaped slash": b"/wh_%2fx", "an escaped letter": b"/wh_%78", "two slashes": b"//wh_x",
        "a slash behind": b"/wh_x/", "%00": b"/wh_%00", "%ff": b"/wh_%ff", "%zz": b"/wh_%zz",
        "an escaped line break": b"/wh_a%0d%0aX:y", "capitals": b"/WH_X", "no name": b"/wh_",
        "300 characters": b"/wh_" + b"x" * 300, "a fragment": b"/wh_none#a",
    }.items()),
    good("a usual one", post(b"1"), b"1", head={"content-type": "application/json", "server": None,
         "date": None, "x-powered-by": None, "connection": None}),
    good("blanks around an expectation", (H + b"Content-Length: 1\r\nExpect:\t 100-Continue \r\n"
         b"\r\n", Heard(), b"1"), b"1", said="100 200 stays"),
    good("no leave to send what is here", post(b"1", head=b"Expect: 100-continue\r\n"), b"1",
         said="200 stays"),
    good("an encoding that is none", post(b"1", head=b"Content-Encoding: identity \t\r\n"), b"1"),
    good("Latin-1 in a header", post(b"1", head=b"X-Name: \xe9\r\n"), b"1"),
    good("odd content types", post(b"1", head=b"Content-Type: " + b";" * 5000 + b"\r\n"
         b"Content-Type: a\r\n"), b"1"),
    Row("no proof", (post(b"1"),), "401 stays", (), ("x:missing_signature",), endpoint=_TOKEN,
        head={"connection": None}),
    Row("a wrong proof, then the right one", (post(b"1", head=b"Authorization: Bearer bad\r\n")
        + post(b"2", head=b"Authorization:\t Bearer a-made-up-token-of-more-than-32-bytes \r\n"),),
        "401 200 stays", (b"2",), ("x:bad_signature",), endpoint=_TOKEN, cuts=True),
    Row("a proof in a trailer", (H + TE + b"\r\n1\r\n1\r\n0\r\n"
        b"Authorization: Bearer a-made-up-token-of-more-than-32-bytes\r\n\r\n",), "401 stays", (),
        ("x:missing_signature",), endpoint=_TOKEN, cuts=True),
    Row("no endpoint behind a good one", (post(b"1") + post(b"2", path=b"/none") + post(b"3"),),
        "200 404 goes", (b"1",), ("not_found",), cuts=True),
    Row("a large head behind a good one", (post(b"1") + post(head=_fields(99)),),
        "200 431 lingers", (b"1",), ("x:too_many_headers",)),
    # -- leave to send
    bad("no leave for too much", H + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n", 413,
        "x:too_large", cuts=True),
    bad("no leave where nobody is", b"POST /no HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
        b"Content-Length: 2\r\n\r\n", 404, "not_found", cuts=True),
    bad("no leave behind a refusal", H + TE + b"Expect: 100-continue\r\n\r\nzz\r\n", 400,
        _MALFORMED),
    # -- early ends
    Row("leaves in a head", (H + b"X: ", Leave()), "left"),
    Row("leaves in a body", (H + b"Content-Length: 9\r\n\r\nabc", Pause(0.05), Leave()), "left"),
    Row("leaves in a chunk", (H + TE + b"\r\n9\r\nabc", Pause(0.05), Leave()), "left"),
    Row("leaves behind a whole request", (post(b"1"), Pause(0.3), Leave()), "200 left", (b"1",)),
    Row("half-closed in a large body", (H + b"Content-Length: 99999\r\n\r\nabc", Pause(0.02),
        HalfClose()), "closes", endpoint=_BIG),
)  # fmt: skip

HEADS = tuple(one for row in (*_LINES, *_SIZES, *_ANSWERS) for one in cut(row))
