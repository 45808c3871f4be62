"""Where one request ends and the next begins: lengths, chunks, pipelines, halves."""

from tests.wire.row import FULL, TE, H, HalfClose, Heard, Row, bad, chunked, cut, good, post

_UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
_FIFTY = [b"%d" % n for n in range(50)]
_MALFORMED = "x:malformed_request"


def _refused(name: str, sent: bytes, *, framing: bool = True) -> Row:
    return bad(name, sent, 400, _MALFORMED, framing=framing, cuts=len(sent) < 400)


def _taken(name: str, sent: bytes, *stored: bytes) -> Row:
    return good(name, sent, *stored, framing=True, cuts=len(sent) < 600)


_ROWS = (
    # -- one body, by its length
    _taken("a length", post(b'{"a": 1}'), b'{"a": 1}'),
    _taken("no body at all", H + b"\r\n", b""),
    _taken("a length of nothing", post(b""), b""),
    _taken("bytes that are no text", post(b"\xff\x00\r\n\r\n{"), b"\xff\x00\r\n\r\n{"),
    _taken("empty lines first", b"\r\n\r\n" + post(b"1"), b"1"),
    _taken("blanks after a length", H + b"Content-Length: 2 \t\r\n\r\n{}", b"{}"),
    _taken("a query", post(b"1", path=b"/wh_x?a=%20&b"), b"1"),
    _taken("an absolute target", post(b"1", path=b"http://h/wh_x"), b"1"),
    _refused("two equal lengths", H + b"Content-Length: 2\r\n" + FULL),
    _refused("two different lengths", H + b"Content-Length: 3\r\n" + FULL),
    _refused("a list of lengths", H + b"Content-Length: 2, 2\r\n\r\n{}"),
    _refused("a negative length", H + b"Content-Length: -1\r\n\r\n"),
    _refused("a signed length", H + b"Content-Length: +2\r\n\r\n{}"),
    _refused("a hexadecimal length", H + b"Content-Length: 0x2\r\n\r\n{}"),
    _refused("an empty length", H + b"Content-Length:\r\n\r\n"),
    _refused("a length of 23 digits", H + b"Content-Length: 1" + b"0" * 22 + b"\r\n\r\n"),
    # -- one body, in chunks
    _taken("chunks", H + TE + b"\r\n" + chunked(b'{"a"', b": 1}"), b'{"a": 1}'),
    _taken("no chunk but the last", H + TE + b"\r\n0\r\n\r\n", b""),
    _taken("a size in capitals", H + TE + b"\r\nA\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
    _taken("zeros before a size", H + TE + b"\r\n0002\r\n{}\r\n000\r\n\r\n", b"{}"),
    _taken("a chunk extension", H + TE + b'\r\n2;a=b;c="d"\r\n{}\r\n0;e\r\n\r\n', b"{}"),
    _taken("a long extension", H + TE + b"\r\n2;" + b"e" * 1000 + b"\r\n{}\r\n0\r\n\r\n", b"{}"),
    _taken("trailers", H + TE + b"\r\n2\r\n{}\r\n0\r\nX-A: 1\r\nHost: b\r\n\r\n", b"{}"),
    _taken("in capitals", H + b"TRANSFER-ENCODING: Chunked \r\n\r\n" + chunked(b"1"), b"1"),
    _refused("a chunk that goes on", H + TE + b"\r\n2\r\n{}XX0\r\n\r\n"),
    _refused("a size of letters", H + TE + b"\r\nzz\r\n"),
    _refused("no size", H + TE + b"\r\n\r\n{}\r\n0\r\n\r\n"),
    _refused("a negative size", H + TE + b"\r\n-2\r\n"),
    _refused("a size in hexadecimal words", H + TE + b"\r\n0x2\r\n{}\r\n0\r\n\r\n"),
    _refused("a size that overflows", H + TE + b"\r\n" + b"f" * 17 + b"\r\n"),
    _refused("bare LF in chunk lines", H + TE + b"\r\n2\n{}\n0\n\n"),
    # -- both, or neither
    _refused("a length and a coding", H + b"Content-Length: 2\r\n" + TE + b"\r\n" + chunked(b"1")),
    _refused("a coding and a length", H + TE + FULL),
    _refused("a coding twice", H + TE + TE + b"\r\n" + chunked(b"{}")),
    _refused("gzip, chunked", H + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(b"{}"),
             framing=False),  # others take what is in the chunks for the body
    _refused("chunked, gzip", H + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + chunked(b"{}")),
    _refused("another coding", H + b"Transfer-Encoding: xchunked\r\n\r\n" + chunked(b"{}")),
    _refused("identity and a length", H + b"Transfer-Encoding: identity\r\n" + FULL),
    # -- several
    _taken("three in one", post(b"1") + post(b"2") + post(b"3"), b"1", b"2", b"3"),
    _taken("chunks, a length, nothing", H + TE + b"\r\n" + chunked(b"1", b"2") + post(b"3") + H
           + b"\r\n", b"12", b"3", b""),
    _taken("a request in a body", post(post(b"1", path=b"/y")), post(b"1", path=b"/y")),
    _taken("fifty at once", b"".join(map(post, _FIFTY)), *_FIFTY),
    _taken("a hundred behind chunks", H + TE + b"\r\n" + chunked(b"1") + post(b"x" * 900) * 100,
           b"1", *[b"x" * 900] * 100),
    good("one after the other", (post(b"1"), Heard(), post(b"2"), Heard(2), H + TE + b"\r\n"
         + chunked(b"3")), b"1", b"2", b"3", framing=True),
    Row("garbage behind a good one", (post(b"1") + b"\0\0 garbage\r\n\r\n",),
        "200 400 lingers", (b"1",), ("malformed_request",), cuts=True),
    Row("two lengths behind a good one", (post(b"1") + H + b"Content-Length: 1\r\n" * 2 + b"\r\n2"
        + post(b"4"),), "200 400 lingers", (b"1",), (_MALFORMED,), cuts=True),
    # -- whole, then silence; and less than whole
    good("half-closed", (post(b"1"), HalfClose()), b"1", said="200 closes", framing=True),
    good("half-closed behind three", (post(b"1") + post(b"2") + H + TE + b"\r\n" + chunked(b"3"),
         HalfClose()), b"1", b"2", b"3", said="200 200 200 closes"),
    *(Row(f"half-closed in {what}", (sent, HalfClose()), "closes", framing=True)
      for what, sent in (("a body", H + b"Content-Length: 9\r\n\r\nabc"), ("a head", H + b"X: "),
                         ("a chunk", H + TE + b"\r\n9\r\nabc"), ("silence", b""))),
    Row("half-closed in a second head", (post(b"1"), Heard(), H, HalfClose()), "200 closes",
        (b"1",), framing=True),
    # -- leave to send
    good("a body after the 100", (H + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", Heard(),
         b"{}"), b"{}", said="100 200 stays", framing=True),
    good("chunks after the 100", (H + TE + b"Expect: 100-Continue\r\n\r\n", Heard(),
         chunked(b"{}")), b"{}", said="100 200 stays", framing=True),
    # -- another protocol is offered
    good("a length behind an upgrade", H + _UPGRADE + b"Content-Length: 4\r\n\r\nbody", b"body",
         said="200 goes", cuts=True),
    good("chunks behind an upgrade", H + _UPGRADE + TE + b"\r\n" + chunked(b"bo", b"dy"), b"body",
         said="200 goes", cuts=True),
    good("nothing behind an upgrade is looked at", post(b"1") + post(b"2", head=_UPGRADE)
         + post(b"3") + b"\0garbage", b"1", b"2", said="200 200 goes", cuts=True),
    good("an upgrade behind an upgrade is not looked at", post(b"1") + post(b"2", head=_UPGRADE)
         + post(b"3", head=_UPGRADE), b"1", b"2", said="200 200 lingers"),
    # -- the older protocol
    good("HTTP/1.0", b"POST /wh_x HTTP/1.0\r\n" + FULL, b"{}", said="200 goes", framing=True,
         cuts=True),
    good("HTTP/1.0 that would stay", post(b"1", version=b"1.0", head=b"Connection: keep-alive\r\n"),
         b"1", said="200 goes", cuts=True),
    good("HTTP/1.1 that goes", post(b"1", head=b"Connection: close\r\n") + post(b"2"), b"1",
         said="200 goes", framing=True, cuts=True),
)  # fmt: skip

FRAMING = tuple(one for row in _ROWS for one in cut(row))
