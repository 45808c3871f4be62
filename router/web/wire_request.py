"""One HTTP request, from the end of its head until its answer."""

import asyncio
from collections.abc import Callable
from io import BytesIO
from typing import Any, Protocol

from router.intake.reply import Reply
from router.web.answers import IngestRefusal

SMALL_BYTES = 65_536
"""The largest body that joins a group. Memory for a larger one is reserved before it is read."""


class Connection(Protocol):
    """The connection of a request. It calls none of these when the request is disconnected."""

    transport: asyncio.Transport

    def answer(self, request: "WireRequest", reply: Reply) -> None:
        """Send a whole response, then go on with the next request or close."""

    def send(self, request: "WireRequest", data: bytes, *, end: bool) -> None:
        """Send bytes of a response; `end`: the last ones. Close then unless `keep_alive`."""

    async def drain(self) -> None:
        """Wait until the peer has read enough of what was sent, or is gone."""

    def go_on_reading(self, request: "WireRequest") -> None:
        """Read its body: there is memory for it now."""


class WireRequest:
    """
    One request and how far it is.

    `path` is raw: percent signs are not decoded. `headers`: names in lower case, values without
    blanks around them. `peer` is the address of the connection, not that of a proxy's client.
    """

    connection: Connection
    asked: asyncio.Future[Reply] | None = None
    """Gets the reply in place of the connection; see `Ingest.ask`."""
    endpoint: Any = None
    """Its LiveEndpoint, set by `Door.admit`. None: there is none, and it is refused."""
    refused: IngestRefusal | None = None
    """What to answer at its turn, whatever the body is."""
    body_max = 0
    """Bytes; a larger body is refused with 413."""
    length = 0
    """The announced length of the body in bytes; 0: none, or chunked."""
    size = 0
    """Bytes of the body that came."""
    plain = False
    """The head has no field but Host and Content-Length that concerns the body."""
    expects = False
    """The sender waits for `100 Continue` before it sends the body."""
    keep_alive = True

    more_body = True
    whole_since = 0.0
    """When its turn came and its body was whole, in the loop's seconds."""
    in_pieces = False
    """The body did not come with its head: closing lingers, for more of it can come."""
    offered = False
    """It is whole and the door has it; the door gives its memory back."""
    answering = False
    """A part of the response was sent."""
    answered = False
    """The response is decided, sent or not."""
    disconnected = False
    """The sender is gone, or the connection answered in place of the door."""
    when_gone: Callable[[], None] | None = None
    """Called once when it becomes disconnected."""
    held = 0
    """Bytes of the memory for bodies that it holds."""
    waiting: asyncio.Task[None] | None = None
    """The task that waits for memory for it."""
    _gathered: BytesIO | None = None

    def __init__(
        self,
        method: str,
        target: tuple[bytes, bytes],
        headers: tuple[tuple[bytes, bytes], ...],
        peer: str,
    ) -> None:
        self.method = method
        self.path, self.query = target
        self.headers = headers
        self.peer = peer
        self.body = b""

    def add(self, piece: bytes) -> None:
        """Append a piece of the body. Pieces of a refused request are dropped."""
        before, self.size = self.size, self.size + len(piece)
        if self.refused is not None:
            return
        if self.size > self.body_max:
            self.body, self._gathered = b"", None
            self.refused = IngestRefusal(413, "too_large")
        elif not before:
            self.body = piece
        else:
            if self._gathered is None:  # joining the pieces at the end holds the body twice
                self._gathered = BytesIO()
                self._gathered.write(self.body)
            self._gathered.write(piece)

    def end(self, now: float) -> None:
        """Take the body as whole."""
        self.more_body, self.whole_since = False, now
        if self._gathered is not None:
            self.body, self._gathered = self._gathered.getvalue(), None

    def answer(self, reply: Reply) -> None:
        """Send this response, if the sender is still there."""
        self.answered = True
        if self.disconnected:
            return
        if self.asked is None:
            self.connection.answer(self, reply)
        else:
            self.asked.set_result(reply)
