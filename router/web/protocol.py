"""
HTTP/1.1 as strangers may speak it to us: uvicorn's protocol with deadlines, limits and strictness.

Every connection carries one timer that looks, at least once every `Wire.step_s`, which deadline
applies now; a request therefore starts no timer of its own. No deadline is shorter than the step,
so none can pass between two looks.

    nothing yet, or half a head     header_s, from the connection or the first byte of the head
    between requests                keep_alive_s
    half a body                     body_idle_s since its last byte, body_total_s in all
    whole body, no answer yet       answer_s
    half an answer                  answer_s in which the peer has taken nothing of it
    after a closing answer          linger_s: what still arrives is read away, so that the answer
                                    is not lost in a reset
"""

import asyncio
import re
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from router.model.headers import BLANKS
from router.web.connections import LATE, Wire, closing_answer
from router.web.transports import CorkedTransport, LingeringTransport, waited_s
from router.web.upgrade import parser_of_rest

_HOST = re.compile(rb"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
"""What a Host may be made of (RFC 3986, 3.2.2)."""
_WATCHED = frozenset({b"host", b"expect", b"transfer-encoding"})
CROWDED_S = 0.05
_VERSIONS = ("1.1", "1.0")
_BODY_OVERHEAD = 8  # wire bytes a body byte may cost: a chunk of one byte takes six


class HeadRefused(Exception):
    """The head of a request is not acceptable; raised through the parser to stop it."""

    def __init__(self, status: int, word: str) -> None:
        super().__init__(word)
        self.status = status
        self.word = word


class WireProtocol(HttpToolsProtocol):
    """One connection of a stranger."""

    def __init__(self, *args: Any, wire: Wire, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wire = wire
        self._peer = ""
        self._admitted = False
        self._timer: asyncio.TimerHandle | None = None
        self._active: RequestResponseCycle | None = None
        self._pending: tuple[int, str] | None = None  # refusal that waits for earlier answers
        self._deaf = False  # nothing more is parsed
        self._leaving_since: float | None = None
        self._served = False
        # Times are the loop's; one reading of the clock per chunk serves all parser callbacks.
        self._now = 0.0
        self._idle_since = 0.0
        self._head_since = 0.0
        self._body_since = 0.0
        self._answer_since = 0.0
        self._stalled_since: float | None = None  # the peer does not take what we send
        self._last_byte = 0.0
        # Of the request being parsed.
        self._in_head = False
        self._begun = 0  # requests on this connection so far
        self._hosts = 0
        self._codings = 0
        self._blanks = 0  # bytes that header values lost
        self._chunk_bytes = 0
        self._late_head_bytes = 0  # head bytes after the chunk in which the head began
        self._late_body_bytes = 0  # wire bytes after the chunk in which the body began
        self._body_bytes = 0

    # -- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection and start its one timer."""
        super().connection_made(transport)
        self._now = self._idle_since = self.loop.time()
        if self.client is not None:  # a v6 socket shows v4 senders as mapped addresses
            self._peer = self.client[0].removeprefix("::ffff:")
            self.client = (self._peer, self.client[1])
        self._admitted = self._wire.admit(self._peer)
        if not self._admitted:
            self._wire.refused(b"", "too_many_connections", 0, self._peer)
            self._deaf = True
            transport.abort()
            return
        self._timer = self.loop.call_later(self._wire.step_s, self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything; whoever still reads the request sees a disconnect."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._admitted:
            self._admitted = False
            self._wire.release(self._peer)
        self._deaf = True
        self._abandon(self._active)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; refuse what it or the head checks do not accept."""
        if self._deaf:
            return
        self._now = self.loop.time()
        if not self._served and self._came_too_late():
            return
        self._chunk_bytes = len(data)
        in_head, begun = self._in_head, self._begun
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._not_parsed(error)
        else:
            if self._in_head:
                self._more_head(in_head)
            elif self.cycle is not None and self.cycle.more_body:
                self._more_body()
            elif self._codings and self._begun - begun < 2:
                self._whole_body()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """
        A peer that only closed its sending side still gets the answer to a whole request; one that
        is being sent an answer without end has gone.
        """
        active = self._active
        waiting = active is not None and not active.response_started and not active.more_body
        if active is None or not waiting or self.scheme == "https":
            return None
        self.cycle.keep_alive = False
        return True

    def _came_too_late(self) -> bool:
        """The first bytes may have been here for long; then others wait to be accepted as well."""
        arrived = self._now - waited_s(self.transport)
        if self._now - arrived > CROWDED_S:
            self._wire.crowded()
            if self._wire.patience.spent(arrived, self._now):
                self._deaf = True
                self._send_refusal(503, "busy")
        self._now = arrived
        return self._deaf

    def pause_writing(self) -> None:
        """The peer reads more slowly than we write."""
        self._stalled_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._stalled_since = None
        super().resume_writing()

    def is_late(self) -> bool:
        """Whether the request being answered has waited too long for its turn."""
        return self._wire.patience.spent(self._answer_since, self.loop.time())

    def read_no_more(self) -> None:
        """Whatever else comes is not looked at."""
        self._deaf = True

    def linger(self) -> None:
        """Close our sending side; read and drop the rest until the peer closes or linger_s."""
        if self._leaving_since is not None or self.transport.is_closing():
            return
        self._deaf = True
        self._leaving_since = self.loop.time()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # -- the parser's callbacks ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head = True
        self._begun += 1
        self._hosts = self._codings = self._blanks = self._late_head_bytes = 0
        self._late_body_bytes = self._body_bytes = 0
        self._head_since = self._now if self._served else self._idle_since
        self._served = True

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self.url += url
        if len(self.url) > self._wire.limits.uri_bytes:
            _stop(414, "uri_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        One field of the head, for every reader without the blanks around its value. Trailers are
        dropped: nobody may add a header after the body.
        """
        if not self._in_head:
            return
        name, bare = name.lower(), value.strip(BLANKS)
        self._blanks += len(value) - len(bare)
        if name in _WATCHED:
            self._watch_header(name, bare.lower())
        self.headers.append((name, bare))

    def on_headers_complete(self) -> None:
        """The head is whole: check it, then hand the request to the application."""
        self._check_head()
        self._in_head = False
        self._body_since = self._last_byte = self._now
        super().on_headers_complete()
        if self.scope["http_version"] not in _VERSIONS:  # found out above; 0.9 and 2.0 parse too
            _stop(400, "malformed_request")

    def on_body(self, body: bytes) -> None:
        """A piece of the body; what nobody will read any more is dropped."""
        self._body_bytes += len(body)
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.more_body = False
        cycle.message_event.set()
        if cycle is self._active:
            self._answer_since = self._now

    def _watch_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
            if not _HOST.fullmatch(value):
                _stop(400, "malformed_request")
        elif name == b"expect":
            if value != b"100-continue":
                _stop(417, "expectation_failed")
            self.expect_100_continue = True
        else:
            self._codings += 1
            if value != b"chunked" or self._codings > 1:
                _stop(400, "malformed_request")

    def _check_head(self) -> None:
        limits = self._wire.limits
        headers = self.headers
        if len(headers) > limits.header_count:
            _stop(431, "too_many_headers")
        # Most heads are smaller than the limit because the chunk they came in is.
        if self._chunk_bytes + self._late_head_bytes > limits.header_bytes:
            size = sum([len(name) + len(value) + 4 for name, value in headers])
            if size + self._blanks > limits.header_bytes:
                _stop(431, "headers_too_large")
        if self.url == b"*":
            _stop(400, "malformed_request")
        if self._hosts != 1:
            version = self.parser.get_http_version()
            if self._hosts or version == "1.1":
                _stop(400, "bad_host")

    # -- pieces of requests --------------------------------------------------------------------

    def _more_head(self, began_earlier: bool) -> None:
        if not began_earlier:
            return
        self._late_head_bytes += self._chunk_bytes
        limits = self._wire.limits
        if self._late_head_bytes > limits.header_bytes + limits.uri_bytes:
            self._refuse(431, "headers_too_large")

    def _more_body(self) -> None:
        cycle = self.cycle
        self._last_byte = self._now
        if not isinstance(cycle.transport, LingeringTransport):
            cycle.transport = LingeringTransport(self.linger, self.transport)  # type: ignore[assignment]
            return
        self._late_body_bytes += self._chunk_bytes
        if self._late_body_bytes > self._body_allowed():
            self._refuse(400, "malformed_request")

    def _whole_body(self) -> None:
        """
        A chunked request that ended in this chunk and shares it with no other: the same bound as
        for one that came in many, so that the answer does not depend on how it was cut.
        """
        cycle = self.cycle
        if cycle is not self._active or cycle.response_started:
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
        if (cycle := self.cycle) is None:
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
        self._answer_since = self._now
        cycle.scope[LATE] = self.is_late  # type: ignore[literal-required]
        if not cycle.waiting_for_100_continue and cycle.transport is self.transport:
            cycle.transport = CorkedTransport(self.transport)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """An answer is out: start the next pipelined request, or wait for one."""
        self.server_state.total_requests += 1
        sent = self._active.transport if self._active is not None else None
        if isinstance(sent, CorkedTransport):
            sent.flush()
        if self.transport.is_closing() or self._leaving_since is not None:
            return
        self._now = self._idle_since = self.loop.time()
        self.flow.resume_reading()
        if self.pipeline and not (self._pending and self.pipeline[-1][0].more_body):
            self._start_asgi_task(*self.pipeline.pop())
        elif self._pending is not None:
            self._send_refusal(*self._pending)

    # -- deadlines -----------------------------------------------------------------------------

    def _tick(self) -> None:
        now = self.loop.time()
        due, status, word = self._deadline(now)
        if now >= due:
            self._expire(status, word)
            due = now + self._wire.step_s
        wait = min(due - now, self._wire.step_s)
        self._timer = None
        if self._admitted:
            self._timer = self.loop.call_later(max(wait, 0.001), self._tick)

    def _deadline(self, now: float) -> tuple[float, int, str]:
        """When, and with which answer, the present phase ends. Status 0: silently."""
        limits = self._wire.limits
        if self.transport.is_closing() and self._leaving_since is None:
            self._leaving_since = now
        if self._leaving_since is not None:
            return self._leaving_since + self._wire.linger_s, 0, "gone"
        if (active := self._active) is not None and not active.response_complete:
            if not active.more_body:
                since = self._answer_since
                if active.response_started:
                    since = now if self._stalled_since is None else self._stalled_since
                return since + limits.answer_s, 503, "timeout"
            if self.flow.read_paused:  # ours to resume: the sender is not to blame
                self._last_byte = now
            idle = self._last_byte + limits.body_idle_s
            return min(idle, self._body_since + limits.body_total_s), 408, "body_timeout"
        if self._in_head:
            return self._head_since + limits.header_s, 408, "header_timeout"
        wait = limits.keep_alive_s if self._served else limits.header_s
        return self._idle_since + wait, 0, "idle"

    def _expire(self, status: int, word: str) -> None:
        if word == "gone":
            self.transport.abort()
        elif word == "idle":
            self.transport.close()
        else:
            self._deaf = True
            self._send_refusal(status, word)

    # -- refusals ------------------------------------------------------------------------------

    def _refuse(self, status: int, word: str) -> None:
        """Refuse the request being parsed, once the answers to earlier ones are out."""
        self._deaf = True
        if (active := self._active) is None or active.response_complete or active.more_body:
            self._send_refusal(status, word)
        else:
            self._pending = (status, word)

    def _send_refusal(self, status: int, word: str) -> None:
        """Answer in place of the application, whose own answer is dropped, and close."""
        self._pending = None
        self.pipeline.clear()
        active = self._active
        started = active is not None and active.response_started and not active.response_complete
        self._abandon(active)
        path = self.url.partition(b"?")[0] if self._served else b""
        self._wire.refused(path, word, status, self._peer)
        if self.transport.is_closing():
            return
        if started:
            self.transport.close()
            return
        self.transport.write(closing_answer(status, word))
        self.linger()

    @staticmethod
    def _abandon(cycle: RequestResponseCycle | None) -> None:
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.waiting_for_100_continue = False  # it would be said after the refusal
            cycle.message_event.set()


def _stop(status: int, word: str) -> NoReturn:
    raise HeadRefused(status, word)
