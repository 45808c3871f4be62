"""
HTTP/1.1 as strangers may speak it to us: uvicorn's protocol with limits and strictness.

A small POST to an endpoint is gathered here and given to the listener's group; uvicorn's cycle,
its task and the application are for all other requests.
"""

from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from router.model.headers import BLANKS
from router.web.answers import BUSY_ANSWER
from router.web.bounded_connection import BoundedConnection
from router.web.connections import LATE, TRANSPORT, Wire
from router.web.head import WATCHED, HeadRefused, RequestHead
from router.web.small_post import SMALL_BYTES, SmallPost
from router.web.transports import CorkedTransport, LingeringTransport, waited_s
from router.web.upgrade import parser_of_rest
from router.web.whole_post import path_if_hopeless

CROWDED_S = 0.05
_BODY_OVERHEAD = 8  # wire bytes a body byte may cost: a chunk of one byte takes six


class WireProtocol(BoundedConnection):
    """One connection of a stranger: its requests, one after the other."""

    def __init__(self, *args: Any, wire: Wire, **kwargs: Any) -> None:
        super().__init__(*args, wire=wire, **kwargs)
        # Of the request being parsed.
        self._begun = 0  # requests on this connection so far
        self._head = RequestHead()
        self._chunk_bytes = 0
        self._late_body_bytes = 0  # wire bytes after the chunk in which the body began
        self._body_bytes = 0

    # -- what comes ----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Feed the parser; refuse what it or the head checks do not accept."""
        if self._deaf:
            return
        self._now = self.loop.time()
        if not self._at.served and self._came_too_late():
            return
        if self._wire.patience.busy(self._now) and self._turned_away(data):
            return
        self._chunk_bytes = len(data)
        in_head, begun = self._at.in_head, self._begun
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._not_parsed(error)
        else:
            if self._at.in_head:
                self._more_head(in_head)
            elif self.cycle is not None and self.cycle.more_body:
                self._more_body()
            elif self._head.codings and self._begun - begun < 2:
                self._whole_body()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """
        A peer that only closed its sending side still gets the answer to a whole request; one that
        is being sent an answer without end has gone.
        """
        active = self._active
        if active is None or active.response_started or active.more_body or self.scheme == "https":
            return None
        self.cycle.keep_alive = False
        return True

    def _came_too_late(self) -> bool:
        """The first bytes may have been here for long; then others wait to be accepted as well."""
        arrived = max(self._now - waited_s(self.transport), self._wire.opened_at)
        now, self._now = self._now, arrived
        if now - self._now > CROWDED_S:
            self._wire.crowded()
            if self._wire.patience.spent(self._now, now):
                self._deaf = True
                self._send_refusal(503, "busy")
        return self._deaf

    def _turned_away(self, data: bytes) -> bool:
        """Refuse a whole small POST that would wait too long, before anything is made of it."""
        between = self.cycle is None and not self._at.in_head and not self.flow.write_paused
        path = path_if_hopeless(data, self._wire, self._now) if between else None
        if path is None:
            return False
        self._at.served = True
        self._wire.refused(path, "busy", 503, self.peer)
        self.transport.write(BUSY_ANSWER)
        self._go_on()
        return True

    # -- the parser's callbacks ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.url = b""
        self.headers = []
        self._head = RequestHead()
        self._at.in_head = True
        self._begun += 1
        self._late_body_bytes = self._body_bytes = 0
        self._at.head_since = self._now if self._at.served else self._at.idle_since
        self._at.served = True

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self.url += url
        if len(self.url) > self._wire.limits.uri_bytes:
            raise HeadRefused(414, "uri_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        One field of the head, for every reader without the blanks around its value. Trailers are
        dropped: nobody may add a header after the body.
        """
        if not self._at.in_head:
            return
        name, bare = name.lower(), value.strip(BLANKS)
        if bare is not value:
            self._head.blanks += len(value) - len(bare)
        if name in WATCHED:
            self._head.watch(name, bare)
        self.headers.append((name, bare))

    def on_headers_complete(self) -> None:
        """The head is whole: check it, then gather a small POST, or ask the application."""
        limits, version = self._wire.limits, self.parser.get_http_version
        self._head.check(self.url, self.headers, self._chunk_bytes, limits, version)
        self._at.in_head = False
        self._at.body_since = self._at.last_byte = self._now
        post = None if self._head.unusual else self._small_post()
        if post is None:
            self._ask_application()
        else:
            self.cycle = self._active = post

    def _small_post(self) -> SmallPost | None:
        """The request if it is a usual one, and the only one here that is unanswered."""
        parser, cycle, group = self.parser, self.cycle, self._wire.group
        usual = parser.get_method() == b"POST" and parser.get_http_version() == "1.1"
        waits = self.flow.write_paused or (cycle is not None and not cycle.response_complete)
        if group is None or not usual or waits or self._head.length > SMALL_BYTES:
            return None
        path, query = self.url, b""
        if b"?" in path:
            parsed = httptools.parse_url(path)
            path, query = parsed.path, parsed.query or b""
        endpoint = group.endpoint(path)
        if endpoint is None or self._head.length > endpoint.body_max:
            return None
        post = SmallPost(self, group, endpoint, (path, query), self.headers)
        post.keep_alive = parser.should_keep_alive()
        return post

    def _ask_application(self) -> None:
        """Begin what uvicorn keeps of a request, and start the application on it."""
        url, headers = self.url, self.headers
        super().on_message_begin()
        self.url = url
        self.headers += headers  # the list that the scope has, too
        self.expect_100_continue = self._head.expects
        super().on_headers_complete()
        if self.scope["http_version"] not in ("1.1", "1.0"):  # found out above: 0.9 and 2.0 parse
            raise HeadRefused(400, "malformed_request")

    def on_body(self, body: bytes) -> None:
        """A piece of the body; what nobody will read any more is dropped."""
        self._body_bytes += len(body)
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if type(cycle) is SmallPost:
            return
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.more_body = False
        if cycle is self._active:
            self._at.whole_since = self._now
        if type(cycle) is SmallPost:
            cycle.group.offer(cycle)
        else:
            cycle.message_event.set()

    # -- pieces of requests --------------------------------------------------------------------

    def _more_head(self, began_earlier: bool) -> None:
        if began_earlier:
            self._head.late_bytes += self._chunk_bytes
            limits = self._wire.limits
            if self._head.late_bytes > limits.header_bytes + limits.uri_bytes:
                self._refuse(431, "headers_too_large")

    def _more_body(self) -> None:
        cycle = self.cycle
        self._at.last_byte = self._now
        if type(cycle) is SmallPost:
            self._more_of_small(cycle)
            return
        if not isinstance(cycle.transport, LingeringTransport):
            cycle.transport = LingeringTransport(self.linger, self.transport)
            return
        self._late_body_bytes += self._chunk_bytes
        if self._late_body_bytes > self._body_allowed():
            self._refuse(400, "malformed_request")

    def _more_of_small(self, post: SmallPost) -> None:
        """What does not come at once needs memory meanwhile; the application can wait for some."""
        post.in_pieces = True
        if post.held or post.group.hold(post, self._head.length):
            return
        self.cycle = None
        self._ask_application()
        if post.body:
            self.on_body(post.body)
        self._more_body()

    def _whole_body(self) -> None:
        """
        A chunked request that ended in this chunk and shares it with no other: the same bound as
        for one that came in many, so that the answer does not depend on how it was cut.
        """
        active = self._active
        if active is None or active is not self.cycle or active.response_started:
            return
        allowed = self._body_allowed() + self._wire.limits.uri_bytes
        if self._late_body_bytes + self._chunk_bytes > allowed:
            self._deaf = True
            self._send_refusal(400, "malformed_request")

    def _body_allowed(self) -> int:
        """Wire bytes the body may take by now: chunk extensions and trailers have an end."""
        return self._wire.limits.header_bytes + _BODY_OVERHEAD * self._body_bytes

    def _not_parsed(self, error: httptools.HttpParserError) -> None:
        if self._deaf:  # what stands behind the last request to be answered
            return
        cause = error.__context__
        if isinstance(cause, HeadRefused):
            self._refuse(cause.status, cause.word)
        elif isinstance(cause, MemoryError):  # not the sender's fault: he is to come again
            self._refuse(503, "busy")
        else:
            self._refuse(400, "malformed_request")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """
        We speak nothing else: answer the request as if it had no such header, then close.

        The parser takes what follows such a head for the other protocol. It is the body, as long
        as the head says: another parser, given only that, reads on.
        """
        if (cycle := self.cycle) is None or self._deaf:  # deaf: another behind the last request
            self._deaf = True
            return
        cycle.keep_alive = False
        if cycle.response_complete:
            self._deaf = True
            self.transport.close()
            return
        cycle.more_body = True
        self.parser = parser_of_rest(self, self.headers)
        if not self._deaf:
            self.data_received(rest)

    # -- the application's side ----------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._active = cycle
        self._at.whole_since = self._now
        cycle.scope[LATE] = self.is_late  # type: ignore[literal-required]
        cycle.scope[TRANSPORT] = self.transport  # type: ignore[literal-required]
        if not cycle.waiting_for_100_continue and cycle.transport is self.transport:
            cycle.transport = CorkedTransport(self.transport)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """An answer of the application is out."""
        if isinstance(sent := getattr(self._active, "transport", None), CorkedTransport):
            sent.flush()
        self._go_on()

    def answer_small(self, post: SmallPost, answer: bytes, *, close: bool) -> None:
        """Send the whole answer to a small POST whose sender is still here."""
        self._active = None
        if self.cycle is post:  # else another waits behind it
            self.cycle = None
        self.transport.write(answer)
        if close:
            (self.linger if post.in_pieces else self.transport.close)()
        self._go_on()

    def _go_on(self) -> None:
        """Start the next pipelined request, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing() or self._at.leaving_since is not None:
            return
        self._now = self._at.idle_since = self.loop.time()
        self.flow.resume_reading()
        if self.pipeline and not (self._pending and self.pipeline[-1][0].more_body):
            self._start_asgi_task(*self.pipeline.pop())
        elif self._pending is not None:
            self._send_refusal(*self._pending)
