"""
A connection of a stranger, whatever it says: admitted, held to its deadlines, refused, ended.

Every connection carries one timer that looks, at least once every `Wire.step_s`, which deadline
applies now (`router.web.phases`); a request therefore starts no timer of its own. No deadline is
shorter than the step, so none can pass between two looks.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from router.web.answers import IngestRefusal, refusal_bytes
from router.web.connections import Wire
from router.web.phases import Progress, ends_at, phase_of
from router.web.small_post import SmallPost, abandon


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's protocol within the bounds of `wire`; what is said on it is its heirs' matter."""

    cycle: Any  # the last request: uvicorn's RequestResponseCycle, or a SmallPost

    def __init__(self, *args: Any, wire: Wire, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._wire = wire
        self.peer = ""
        self._admitted = False
        self._timer: asyncio.TimerHandle | None = None
        self._active: RequestResponseCycle | SmallPost | None = None
        self._pending: tuple[int, str] | None = None  # refusal that waits for earlier answers
        self._deaf = False  # nothing more is parsed
        self._at = Progress()
        self._now = 0.0  # one reading of the loop's clock per chunk serves all parser callbacks

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection and start its one timer."""
        super().connection_made(transport)
        self._now = self._at.idle_since = self.loop.time()
        if self.client is not None:  # a v6 socket shows v4 senders as mapped addresses
            self.peer = self.client[0].removeprefix("::ffff:")
            self.client = (self.peer, self.client[1])
        self._admitted = self._wire.admit(self.peer)
        if not self._admitted:
            self._wire.refused(b"", "too_many_connections", 0, self.peer)
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
            self._wire.release(self.peer)
        self._deaf = True
        abandon(self._active)
        self.cycle = None if type(self.cycle) is SmallPost else self.cycle
        super().connection_lost(exc)
        self.cycle = self._active = None
        self.scope = None  # type: ignore[assignment]  # it knows us: both would wait for a collection

    def shutdown(self) -> None:
        """End it once its answer is out. asyncio's TLS cannot be aborted after a second close."""
        if not self.transport.is_closing():
            super().shutdown()

    def pause_writing(self) -> None:
        """The peer reads more slowly than we write."""
        self._at.stalled_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._at.stalled_since = None
        super().resume_writing()

    @property
    def unheard(self) -> bool:
        """Whether who has connected, or begun a request, has yet to say the rest."""
        at, active = self._at, self._active
        unread = active is not None and active.more_body and not active.response_complete
        return at.leaving_since is None and (not at.served or at.in_head or unread)

    def is_late(self) -> bool:
        """Whether the request being answered has waited too long for its turn."""
        return self._wire.patience.spent(self._at.whole_since, self.loop.time())

    def read_no_more(self) -> None:
        """Whatever else comes is not looked at."""
        self._deaf = True

    def linger(self) -> None:
        """Close our sending side; read and drop the rest until the peer closes or linger_s."""
        if self._at.leaving_since is not None or self.transport.is_closing():
            return
        self._deaf = True
        self._at.leaving_since = self.loop.time()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # -- deadlines -----------------------------------------------------------------------------

    def _tick(self) -> None:
        now = self.loop.time()
        if self.transport.is_closing() and self._at.leaving_since is None:
            self._at.leaving_since = now
        phase = phase_of(self._progress(now))
        due = ends_at(phase, self._at, self._wire.allowed)
        if now >= due:
            self._expire(phase.status, phase.word)
            due = now + self._wire.step_s
        wait = max(min(due - now, self._wire.step_s), 0.001)
        self._timer = self.loop.call_later(wait, self._tick) if self._admitted else None

    def _progress(self, now: float) -> Progress:
        at, active = self._at, self._active
        at.unanswered = active is not None and not active.response_complete
        if active is not None and at.unanswered:
            at.more_body, at.answering = active.more_body, active.response_started
            if at.more_body and self.flow.read_paused:  # by us: the sender is not to blame
                at.last_byte = now
        return at

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
        abandon(active)
        path = self.url.partition(b"?")[0] if self._at.served else b""
        self._wire.refused(path, word, status, self.peer)
        if self.transport.is_closing():
            return
        if started:
            self.transport.close()
        else:
            self.transport.write(refusal_bytes(IngestRefusal(status, word), keep_alive=False))
            self.linger()
