"""A small POST to an endpoint: gathered by its connection itself, without an application."""

import asyncio
from typing import Protocol

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from router.rules.live import LiveEndpoint

SMALL_BYTES = 65_536
"""
The largest body that is small. It comes with its head or nearly so: memory is reserved for it
beforehand only when it does not.
"""


class SmallPosts(Protocol):
    """Who takes them: see `router.web.ingest_group`."""

    tasks: set[asyncio.Task[None]]

    def endpoint(self, raw_path: bytes) -> LiveEndpoint | None:
        """The endpoint at exactly this raw path, if it takes POSTs."""

    def expected_s(self, endpoint: LiveEndpoint) -> float:
        """How long one more of this endpoint has to expect to wait for its turn."""

    def hold(self, post: "SmallPost", size: int) -> bool:
        """Reserve memory for a body that did not come at once; False: it has to wait for some."""

    def release(self, post: "SmallPost") -> None:
        """Give back what a request holds of the memory for bodies."""

    def offer(self, post: "SmallPost") -> None:
        """Take a whole request."""


class Connection(Protocol):
    """Where a small POST came from."""

    peer: str

    def is_late(self) -> bool:
        """Whether the request being answered has waited too long for its turn."""

    def answer_small(self, post: "SmallPost", answer: bytes, *, close: bool) -> None:
        """Send a whole answer, then go on with the next request or end."""


class SmallPost:
    """
    One request. Until it is answered it stands where uvicorn's `RequestResponseCycle` stands for
    others: what is set here first is what the connection's phases depend on.
    """

    more_body = True
    response_started = response_complete = False
    """Its answer is one write, after which the connection knows it no more."""
    keep_alive = True
    disconnected = False
    """Nobody waits for the answer any more: the sender has gone, or was refused meanwhile."""

    in_pieces = False
    """More of it may come: the connection lingers if it ends with it."""
    answered = False
    """It is known what the answer is, whether somebody hears it or not."""
    held = 0
    """Bytes it holds of the memory for bodies."""

    def __init__(
        self,
        connection: Connection,
        group: SmallPosts,
        endpoint: LiveEndpoint,
        target: tuple[bytes, bytes],
        headers: list[tuple[bytes, bytes]],
    ) -> None:
        self.connection = connection
        self.group = group
        self.endpoint = endpoint
        self.path, self.query = target
        self.headers = headers
        self.body = b""


def abandon(request: RequestResponseCycle | SmallPost | None) -> None:
    """Whoever still reads this request, or works for its answer, sees a disconnect."""
    if request is None or request.response_complete:
        return
    request.disconnected = True
    if isinstance(request, RequestResponseCycle):
        request.waiting_for_100_continue = False  # it would be said after the refusal
        request.message_event.set()
    elif request.more_body:  # of a whole one, the group gives it back
        request.group.release(request)
