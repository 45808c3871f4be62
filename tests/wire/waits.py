"""Each phase of a connection that the router ends by itself: what is said, counted, and when."""

from tests.wire.row import (
    TE,
    Drip,
    H,
    HalfClose,
    Heard,
    Leave,
    Pause,
    Row,
    bad,
    chunked,
    good,
    post,
)

ASKED = "provider: issued, body_max: 1KiB"
"""Of an endpoint whose issuer is asked about each token, and says nothing."""
_TOKEN = b"Authorization: Bearer whichever\r\n"
_HEAD, _BODY, _ANSWER = "x:header_timeout", "x:body_timeout", "x:timeout"
_SOON = {"on": "short", "after_s": 0.29}
_LATE = {"on": "late", "after_s": 0.29, "endpoint": ASKED}
_BUSY = {"retry-after": "5", "connection": "close"}
_BEGUN = H + b"Content-Length: 9\r\n\r\nabc"

_SHORT = (
    Row("silence", (), "closes", **_SOON),
    Row("empty lines, then silence", (b"\r\n" * 50,), "closes", **_SOON),
    bad("half a head", H, 408, _HEAD, **_SOON),
    bad("half a path", b"POST /wh", 408, "header_timeout", **_SOON),
    bad("a dripping head", (H + b"X: ", Drip(b"a")), 408, _HEAD, **_SOON),
    bad("half a second head", (post(b"1"), Heard(), Pause(0.3), H), 0, _HEAD, on="short",
        said="200 408 lingers", stored=(b"1",), after_s=0.59),
    bad("half a head behind a good one", post(b"1") + H, 0, _HEAD, **_SOON,
        said="200 408 lingers", stored=(b"1",)),
    bad("half a body", _BEGUN, 408, _BODY, **_SOON),
    bad("no body", H + b"Content-Length: 9\r\n\r\n", 408, _BODY, **_SOON),
    bad("half a body behind a good one", post(b"1") + _BEGUN, 0, _BODY, **_SOON,
        said="200 408 lingers", stored=(b"1",)),
    bad("a body that stops", (_BEGUN, Pause(0.1), b"d"), 408, _BODY, on="short", after_s=0.39),
    bad("half a large body", H + b"Content-Length: 200000\r\n\r\n" + b"x" * 99_000, 408, _BODY,
        endpoint="provider: none, verify: none, body_max: 5MiB", **_SOON),
    bad("half a chunk", H + TE + b"\r\n5\r\nab", 408, _BODY, **_SOON),
    bad("no last chunk", H + TE + b"\r\n2\r\n{}\r\n", 408, _BODY, **_SOON),
    bad("a chunk that never comes", H + TE + b"\r\nffffffff\r\n", 408, _BODY, **_SOON),
    bad("leave to send, then silence", H + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", 0,
        _BODY, said="100 408 lingers", **_SOON),
    good("a body in time, piece by piece", (H + b"Content-Length: 4\r\n\r\na", Pause(0.1), b"b",
        Pause(0.1), b"c", Pause(0.1), b"d"), b"abcd", on="short"),
    good("an answer, then a rest", (post(b"1"), Heard(), Pause(0.5), post(b"2")), b"1", b"2",
        on="short"),
    bad("no answer", post(head=_TOKEN), 503, _ANSWER, head=_BUSY,
        body=b'{"error":"timeout"}', **_LATE),
    bad("no answer to what came in pieces", (H + _TOKEN + b"Content-Length: 2\r\n\r\n{",
        Pause(0.1), b"}"), 503, _ANSWER, endpoint=ASKED, on="late", after_s=0.39),
    bad("no answer, half-closed", (post(head=_TOKEN), HalfClose()), 0, _ANSWER, said="503 closes",
        **_LATE),
    bad("no answer, garbage behind", post(head=_TOKEN) + b"\0\r\n\r\n", 503, _ANSWER, **_LATE),
    bad("no answer, others behind", post(head=_TOKEN) + post(b"2", head=_TOKEN), 503, _ANSWER,
        **_LATE),
    Row("leaves before the answer", (post(head=_TOKEN), Pause(0.1), Leave()), "left",
        refused=(_ANSWER,), endpoint=ASKED, on="late"),
    Row("a refusal that is out", (b"\0garbage", Heard(), Pause(0.5), b"more", Pause(1.2)),
        "400 closes", (), ("malformed_request",), on="short"),
)  # fmt: skip

_SMALL = (
    Row("no further request", (post(b"1"),), "200 closes", (b"1",), on="small", after_s=0.29),
    Row("no further request behind two", (post(b"1"), Heard(), Pause(0.1), post(b"2")),
        "200 200 closes", (b"1", b"2"), on="small", after_s=0.39),
    bad("a dripping body", (H + b"Content-Length: 999\r\n\r\n", Drip(b"x")), 408, _BODY, on="small",
        after_s=0.59),
    bad("dripping chunks", (H + TE + b"\r\n", Drip(b"1\r\nx\r\n")), 408, _BODY, on="small",
        after_s=0.59),
    bad("11 headers", post(head=b"X: 1\r\n" * 9), 431, "x:too_many_headers", on="small"),
    bad("a head of 1.1 KB", post(head=b"X: " + b"a" * 1100 + b"\r\n"), 431, "x:headers_too_large",
        on="small"),
    bad("a head of 1.1 KB in pieces", (H + b"X: " + b"a" * 600, Pause(0.3), b"a" * 500
        + b"\r\n\r\n"), 431, "x:headers_too_large", on="small"),
    bad("a path of 1.1 KB", post(path=b"/" + b"a" * 1100), 414, "uri_too_long", on="small"),
    Row("just small enough", (post(b"1", path=b"/wh_x?" + b"q" * 1000, head=b"X: 1\r\n" * 7 + b"Y: "
        + b"a" * 900 + b"\r\n"),), "200 closes", (b"1",), on="small", after_s=0.29),
)  # fmt: skip

# -- the operator's listener has the same limits, and the same deadlines but that of the answer

_A = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
_LOGIN = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\n" + _FORM


def _admin(name: str, sent: object, said: str, **more: object) -> Row:
    steps = (sent,) if isinstance(sent, bytes) else sent
    return Row(f"admin: {name}", steps, said, door="admin", **more)  # type: ignore[arg-type]


_ADMIN = (
    _admin("a head of 3 MB", (_A + b"X: ", *[b"a" * 65_536] * 46), "431 lingers"),
    _admin("a head of 20 KB", _A + b"X: " + b"a" * 20_000 + b"\r\n\r\n", "431 lingers"),
    _admin("101 headers", _A + b"X: 1\r\n" * 100 + b"\r\n", "431 lingers"),
    _admin("a long target", b"GET /" + b"a" * 2048 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
           "414 lingers"),
    _admin("two Hosts", _A + b"Host: h\r\n\r\n", "400 lingers"),
    _admin("garbage", b"\0\1\r\n\r\n", "400 lingers"),
    _admin("another expectation", _A + b"Expect: foo\r\n\r\n", "417 lingers"),
    _admin("a length and chunks", _LOGIN + TE + b"Content-Length: 3\r\n\r\n" + chunked(b"1"),
           "400 lingers"),
    _admin("three in one", (_A + b"\r\n") * 3, "200 200 200 stays"),
    _admin("garbage behind a good one", _A + b"\r\n\0\1", "200 400 lingers"),
    _admin("half-closed", (_A + b"\r\n", HalfClose()), "200 closes"),
    _admin("the older protocol", b"GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", "200 goes"),
    _admin("HTTP/1.1 that goes", _A + b"Connection: close\r\n\r\n", "200 goes"),
    _admin("a head alone", b"HEAD /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "405 goes"),
    _admin("no trailers without end", (_LOGIN + TE + b"\r\n1\r\na\r\n0\r\n",
        *[b"X-A: 1\r\n" * 8_000] * 16), "400 goes"),
    _admin("silence", (), "closes", **_SOON),
    _admin("half a head", _A, "408 lingers", **_SOON),
    _admin("a dripping head", (_A + b"X: ", Drip(b"a")), "408 lingers", **_SOON),
    _admin("half a body", _LOGIN + b"Content-Length: 9\r\n\r\ntok", "408 lingers", **_SOON),
    _admin("half a second head", (_A + b"\r\n", Heard(), _A), "200 408 lingers", **_SOON),
    _admin("no further request", _A + b"\r\n", "200 closes", on="small", after_s=0.29),
    _admin("a dripping body", (_LOGIN + b"Content-Length: 999\r\n\r\n", Drip(b"x")), "408 lingers",
        on="small", after_s=0.59),
    _admin("a head of 1.1 KB in pieces", (_A + b"X: " + b"a" * 600, Pause(0.3), b"a" * 500
           + b"\r\n\r\n"), "431 lingers", on="small"),
    _admin("11 headers", _A + b"X: 1\r\n" * 10 + b"\r\n", "431 lingers", on="small"),
)  # fmt: skip

WAITS = (*_SHORT, *_SMALL, *_ADMIN)
