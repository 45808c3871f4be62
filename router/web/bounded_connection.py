"""
One connection: admitted, held to its deadlines, answered in order, refused, closed.

A connection has one timer. At least once every `Wire.step_s` it looks which deadline applies now
(`router.web.phases`), so a request starts no timer. No deadline is shorter than the step.
"""

import asyncio
from math import inf

from router.intake.reply import Reply
from router.web.answers import IngestRefusal, refusal, reply_bytes
from router.web.connections import Wire
from router.web.phases import Progress, ends_at, phase_of
from router.web.wire_request import SMALL_BYTES, WireRequest

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BoundedConnection(asyncio.Protocol):
    """A connection within the limits of `wire`. A subclass parses what is received."""

    transport: asyncio.Transport

    def __init__(self, wire: Wire) -> None:
        self.peer = ""
        self._wire = wire
        self._time = asyncio.get_running_loop().time
        self._timer: asyncio.TimerHandle | None = None
        self._at = Progress()
        self._now = 0.0  # the clock is read once for each chunk
        self._url = b""
        # Requests without a whole response, in order. Those of one chunk are all parsed; what comes
        # after that chunk is kept as bytes, and reading pauses.
        self._requests: list[WireRequest] = []
        self._active: WireRequest | None = None  # the first one, once its turn has come
        self._kept = b""
        self._pending: IngestRefusal | None = None  # a refusal behind unanswered requests
        self._admitted = False
        self._deaf = False  # nothing more is parsed
        self._ended = False  # the peer sends no more
        self._read_paused = self._write_paused = False
        self._drained: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection and start its timer."""
        self.transport, wire = transport, self._wire
        self._now = self._at.idle_since = self._time()
        if name := transport.get_extra_info("peername"):  # a v6 socket maps v4 addresses
            self.peer = str(name[0]).removeprefix("::ffff:")
        wire.open.add(self)
        self._admitted = wire.admit(self.peer)
        if self._admitted:
            self._timer = asyncio.get_running_loop().call_later(wire.step_s, self._tick)
        else:
            wire.door.count_refusal(b"", "too_many_connections", 0, self.peer)
            self._deaf = True
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Forget the connection and disconnect its requests."""
        self._wire.open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._admitted:
            self._admitted = False
            self._wire.release(self.peer)
        self._deaf = True
        self._abandon()

    def eof_received(self) -> bool | None:
        """Keep the connection of a peer that only half-closed until its requests are answered."""
        active = self._active
        secure = self.transport.get_extra_info("sslcontext") is not None
        if secure or active is None or active.more_body or active.answering:
            return None
        self._ended = True
        if not self._kept:
            self._requests[-1].keep_alive = False
        return True

    def shutdown(self) -> None:
        """Close the connection once its requests are answered."""
        if self._requests:
            self._requests[-1].keep_alive = False
        elif not self.transport.is_closing():  # asyncio's TLS cannot be aborted after two closes
            self.transport.close()

    def pause_writing(self) -> None:
        """Note that the peer reads more slowly than we write."""
        self._at.stalled_since = self._time()
        self._write_paused = True

    def resume_writing(self) -> None:
        """Go on after the peer has read."""
        self._at.stalled_since = inf
        self._write_paused = False
        self._wake()
        if self._active is None:
            self._go_on()

    @property
    def unheard(self) -> bool:
        """Whether a request is yet to come, or the rest of one."""
        at, active = self._at, self._active
        unread = active is not None and active.more_body
        return at.leaving_since == inf and (not at.served or at.in_head or unread)

    # -- responses, in the order of their requests ---------------------------------------------

    def answer(self, request: WireRequest, reply: Reply) -> None:
        """Send a whole response, then go on with the next request or close."""
        if reply.close:
            request.keep_alive = False
        head_only = request.method == "HEAD"
        data = reply_bytes(reply, keep_alive=request.keep_alive, head_only=head_only)
        self.send(request, data, end=True)

    def send(self, request: WireRequest, data: bytes, *, end: bool) -> None:
        """Send bytes of a response; `end`: the last ones. Close then unless `keep_alive`."""
        self.transport.write(data)
        if not end:
            request.answering = True
            return
        self._active = None
        del self._requests[0]
        if request.keep_alive:
            self._go_on()
        elif request.in_pieces or self._read_paused or self._requests:
            self._linger()
        else:
            self._deaf = True
            self.transport.close()

    async def drain(self) -> None:
        """Wait until the peer has read enough of what was sent, or is gone."""
        while self._write_paused and self._requests:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def _go_on(self) -> None:
        """Begin the next request that is here, or wait for one."""
        at, requests = self._at, self._requests
        if self.transport.is_closing() or at.leaving_since < inf:
            return
        self._now = at.idle_since = self._time()
        if self._write_paused:
            return
        if requests and not (requests[0].more_body and (self._pending or self._ended)):
            request = self._active = requests[0]
            at.whole_since = at.body_since = at.last_byte = request.whole_since = self._now
            self._advance(request)
            if self._active is request:
                self._read_on()
        elif self._pending is not None:
            self._send_refusal(self._pending)
        elif self._read_paused or self._ended:
            self._read_on()

    def _advance(self, request: WireRequest) -> None:
        """Refuse the active request, reserve memory for it, or offer it to the door."""
        door = self._wire.door
        try:
            if request.more_body:
                request.in_pieces = True
            if request.refused is None:
                if (request.more_body or request.size > SMALL_BYTES) and not self._held(request):
                    return
                # Not one of many: each refusal would begin the next one, and recurse.
                alone = len(self._requests) == 1 and not self._kept
                if alone and door.patience.busy(self._now) and door.hopeless(request, self._now):
                    request.refused = IngestRefusal(503, "busy", keep_alive=True)
            request.offered = True
            if request.refused is None:
                door.offer(request)
            else:
                door.refuse(request, request.refused)
        except Exception as error:  # noqa: BLE001 - the last net: the sender must get 503
            door.fail((request,), error)

    def _held(self, request: WireRequest) -> bool:
        """Reserve memory for a body that is large or not whole; whether it can be offered."""
        size = max(request.length, request.size)
        if request.held < size and not self._wire.door.hold(request, size):
            self._pause_reading()
            return False
        if request.more_body and request.expects:
            request.expects = False
            self.transport.write(_CONTINUE)
        return not request.more_body

    def go_on_reading(self, request: WireRequest) -> None:
        """Go on with the body of a request that has memory for it now."""
        if request is self._active:
            self._now = self._at.last_byte = self._time()
            self._advance(request)
            if request is self._active:
                self._read_on()

    # -- reading -------------------------------------------------------------------------------

    def _takes_more(self) -> bool:
        """Whether bytes can be parsed now: they begin a request, or continue the active one."""
        if not self._requests:
            return not self._write_paused
        active = self._active
        if active is None or len(self._requests) > 1:
            return False
        return active.more_body and active.waiting is None

    def _read_on(self) -> None:
        """Parse what was kept, then what comes."""
        if self._kept and self._takes_more():
            kept, self._kept = self._kept, b""
            self.data_received(kept)
        closing = self.transport.is_closing()
        if self._read_paused and not self._kept and not closing and self._takes_more():
            self._read_paused = False
            self.transport.resume_reading()
        if self._ended and not self._kept and not closing:
            if self._takes_more():  # what is missing will not come
                self.transport.close()
            elif self._requests:
                self._requests[-1].keep_alive = False

    def _pause_reading(self) -> None:
        if not self._read_paused and not self.transport.is_closing():
            self._read_paused = True
            self.transport.pause_reading()

    def _linger(self) -> None:
        """Close our sending side; drop what still comes until the peer closes, or for linger_s."""
        if self._at.leaving_since < inf or self.transport.is_closing():
            return
        self._deaf = True
        self._at.leaving_since = self._time()
        self._abandon()
        if self._read_paused:
            self._read_paused = False
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _abandon(self) -> None:
        """Disconnect every request that has no whole response."""
        requests, self._requests = self._requests, []
        self._active, self._kept = None, b""
        self._wake()
        for request in requests:
            request.disconnected = True
            if request.when_gone is not None:
                request.when_gone()
            if not request.offered:
                self._wire.door.release(request)

    # -- deadlines -----------------------------------------------------------------------------

    def _tick(self) -> None:
        now, step_s = self._time(), self._wire.step_s
        if self.transport.is_closing() and self._at.leaving_since == inf:
            self._at.leaving_since = now
        phase = phase_of(self._progress(now))
        due = ends_at(phase, self._at, self._wire.allowed)
        if now >= due:
            due = now + step_s
            if phase.word == "gone":
                self.transport.abort()
            elif phase.word == "idle":
                self.transport.close()
            else:
                self._send_refusal(IngestRefusal(phase.status, phase.word))
        if self._admitted:
            wait = max(min(due - now, step_s), 0.001)
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _progress(self, now: float) -> Progress:
        at, active = self._at, self._active
        at.unanswered = bool(self._requests or self._kept)
        # Without an active request, the peer has not read an earlier response.
        at.answering = at.unanswered if active is None else active.answering
        at.more_body = active is not None and active.more_body
        if at.more_body and self._read_paused:  # by us: the sender is not late
            at.last_byte = now
        return at

    # -- refusals ------------------------------------------------------------------------------

    def _refuse(self, refused: IngestRefusal) -> None:
        """Refuse the request being parsed, once those before it are answered."""
        self._deaf = True
        requests = self._requests
        if requests and not (len(requests) == 1 and requests[0].more_body):
            self._pending = refused
        else:
            self._send_refusal(refused)

    def _send_refusal(self, refused: IngestRefusal) -> None:
        """Answer in place of the door, whose own response is dropped, and close."""
        self._deaf, self._pending = True, None
        active = self._active
        stalled = self._write_paused or (active is not None and active.answering)
        path = self._url.partition(b"?")[0] if active is None else active.path
        self._abandon()
        self._wire.door.count_refusal(path, refused.word, refused.status, self.peer)
        if self.transport.is_closing():
            return
        if stalled:
            self.transport.close()
        else:
            self.transport.write(reply_bytes(refusal(refused), keep_alive=False))
            self._linger()
