"""
HTTP/1.1 on a connection: httptools' parser, with our limits and strictness.

Every request goes one way: its head is checked, the door admits it, its body is gathered within
the memory for bodies, and the door takes it. One request is active at a time.
"""

from types import SimpleNamespace

import httptools

from router.model.headers import BLANKS
from router.web.answers import IngestRefusal
from router.web.bounded_connection import BoundedConnection
from router.web.connections import Wire, waited_s
from router.web.head import WATCHED, RequestHead
from router.web.wire_request import WireRequest

CROWDED_S = 0.05
PIPELINED_MAX = 1024
"""The most requests of one chunk that are answered one after the other."""
_BODY_OVERHEAD = 8  # wire bytes allowed for a body byte: a chunk of one byte takes six
_HTTP_1_1 = b" HTTP/1.1\r\n"
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class WireProtocol(BoundedConnection):
    """Parses the requests of one connection."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # it is not read
        # Of the request being parsed.
        self._head = RequestHead()
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunk, self._chunk_bytes = b"", 0  # the first if a request begins with it

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the parser, too: it holds the connection."""
        super().connection_lost(exc)
        self.parser = None  # type: ignore[assignment]  # nothing is parsed any more

    def data_received(self, data: bytes) -> None:
        """Parse a chunk, or keep it while requests before it are unanswered."""
        if self._deaf:
            return
        if (self._requests or self._write_paused) and not self._takes_more():
            self._kept += data
            self._pause_reading()
            return
        self._now = self._time()
        if not self._at.served and self._came_too_late():
            return
        self._feed(data)
        active = self._active
        if active is not None and not active.offered:
            self._advance(active)

    def _feed(self, data: bytes) -> None:
        in_head = self._at.in_head
        self._chunk, self._chunk_bytes = b"" if in_head or self._requests else data, len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._not_parsed(error)
        else:
            self._chunk = b""
            if self._at.in_head:
                self._more_head(in_head)
            elif self._requests and (self._requests[-1].more_body or self._head.codings):
                self._more_body(self._requests[-1])

    def _came_too_late(self) -> bool:
        """Refuse a new connection that waited too long to be accepted; others wait, too."""
        arrived = max(self._now - waited_s(self.transport), self._wire.opened_at)
        now, self._now = self._now, arrived
        if now - arrived > CROWDED_S:
            self._wire.crowded()
            if self._wire.door.patience.spent(arrived, now):
                self._send_refusal(IngestRefusal(503, "busy"))
        return self._deaf

    # -- the parser's callbacks ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        at = self._at
        self._url = b""
        self._head = RequestHead()
        at.in_head = True
        at.head_since = self._now if at.served else at.idle_since
        at.served = True

    def on_url(self, url: bytes) -> None:
        """Append a piece of the request target."""
        self._url += url
        if len(self._url) > self._wire.limits.uri_bytes:
            raise IngestRefusal(414, "uri_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field of the head. Trailers are dropped: they cannot add headers to a body."""
        if not self._at.in_head:
            return
        name, bare = name.lower(), value.strip(BLANKS)
        if bare is not value:
            self._head.blanks += len(value) - len(bare)
        if name in WATCHED:
            self._head.watch(name, bare)
        self._headers.append((name, bare))

    def on_headers_complete(self) -> None:
        """Check the head and make a request of it."""
        parser, head, at, requests = self.parser, self._head, self._at, self._requests
        method, url = parser.get_method(), self._url
        # Asking the parser for the version costs as much as three headers.
        usual = not requests and self._chunk.startswith(_HTTP_1_1, len(method) + 1 + len(url))
        version = "1.1" if usual else parser.get_http_version()
        head.check(url, self._headers, self._chunk_bytes, self._wire.limits, version)
        at.in_head = False
        at.body_since = at.last_byte = self._now
        plain = url.startswith(b"/") and b"?" not in url and b"#" not in url
        word = "POST" if method == b"POST" else method.decode("ascii")
        target = (url, b"") if plain else _split(url)
        request = WireRequest(word, target, tuple(self._headers), self.peer)
        self._headers.clear()  # an idle connection keeps none
        request.connection, request.length = self, head.length
        if version != "1.1" or not parser.should_keep_alive():
            request.keep_alive = False
        if head.unusual:
            request.expects = head.expects and version == "1.1"
        else:
            request.plain = True
        self._wire.door.admit(request)
        requests.append(request)
        if len(requests) == 1:
            self._active = request
            return
        self._pause_reading()
        if len(requests) > PIPELINED_MAX:
            raise IngestRefusal(503, "busy")

    def on_body(self, body: bytes) -> None:
        """Append a piece of the body."""
        if not self._deaf:
            self._requests[-1].add(body)

    def on_message_complete(self) -> None:
        """End a request. The parser ends one that offers an upgrade at its head: not so we."""
        if not self.parser.should_upgrade():
            self._requests[-1].end(self._now)
            self._at.whole_since = self._now

    # -- pieces of requests --------------------------------------------------------------------

    def _more_head(self, began_earlier: bool) -> None:
        self._head.cut = True
        if began_earlier:
            self._head.late_bytes += self._chunk_bytes
            limits = self._wire.limits
            if self._head.late_bytes > limits.header_bytes + limits.uri_bytes:
                self._refuse(IngestRefusal(431, "headers_too_large"))

    def _more_body(self, request: WireRequest) -> None:
        """
        Refuse a body that takes too many wire bytes: chunk extensions and trailers have an end.

        The limit is the same however the request was cut. Bytes shared with others do not count.
        """
        if request.more_body:
            self._at.last_byte = self._now
            request.in_pieces = True
        if len(self._requests) == 1:
            head, limits = self._head, self._wire.limits
            head.wire_bytes += self._chunk_bytes
            allowed = limits.header_bytes + limits.uri_bytes  # of the head, too
            if head.wire_bytes > allowed + _BODY_OVERHEAD * (request.size + 8):
                self._send_refusal(_malformed())

    def _not_parsed(self, error: httptools.HttpParserError) -> None:
        cause = error.__context__
        if self._deaf:  # it stands behind the last request to be answered
            return
        if isinstance(cause, MemoryError):  # not the sender's fault, who can try again
            cause = IngestRefusal(503, "busy")
        self._refuse(cause if isinstance(cause, IngestRefusal) else _malformed())

    def _ignore_upgrade(self, rest: bytes) -> None:
        """
        Serve a request that asks for another protocol as if it did not, as the last one.

        The parser stops at its head. Another parser, given the framing alone, reads the body.
        """
        if self._deaf or not self._requests:
            self._deaf = True
            return
        request = self._requests[-1]
        request.keep_alive = False
        reader = SimpleNamespace(on_body=self.on_body, on_message_complete=self._end_of_last)
        self.parser = httptools.HttpRequestParser(reader)
        framing = [b"%b: %b\r\n" % pair for pair in request.headers if pair[0] in _FRAMING]
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(framing))
        if not self._deaf:
            self._feed(rest)

    def _end_of_last(self) -> None:
        if not self._deaf:
            self._deaf = True
            self._requests[-1].end(self._now)
            self._at.whole_since = self._now


def _split(target: bytes) -> tuple[bytes, bytes]:
    """
    Return path and query of a request target, in origin or absolute form.

    Raises:
        IngestRefusal: it has no path.
    """
    parsed = httptools.parse_url(target)
    if parsed.path is None:
        raise _malformed()
    return parsed.path, parsed.query or b""


def _malformed() -> IngestRefusal:
    return IngestRefusal(400, "malformed_request")
