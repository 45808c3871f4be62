"""
The public listener's application: it finds the endpoint, reads the body within its limits, hands
the request to the intake, and answers.

Deadlines are the connection's (`router.web.bounded_connection`): when one passes it answers by
itself, and the application sees a disconnect. It never cancels a request that the intake has begun
to accept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from typing import Any

from router import log
from router.clock import Clock
from router.intake.intake import Intake
from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.model.settings import Limits
from router.rules.live import LiveEndpoint
from router.web.answers import IngestRefusal, refusal, reply_headers
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.connections import LATE
from router.web.head import is_readable
from router.web.ingest_group import IngestGroup
from router.web.small_post import SMALL_BYTES

Headers = Sequence[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class ClientGone(Exception):
    """The sender went away, or the protocol has answered in our place: nothing more to do."""


class IngestApp:
    """One ASGI application for every path of the public listener."""

    def __init__(
        self,
        intake: Intake,
        *,
        clock: Clock,
        limits: Limits | None = None,
        peers: Peers | None = None,
        budget: Budget | None = None,
    ) -> None:
        limits = limits or Limits()
        self._intake = intake
        self._now = clock.now
        self._peers = peers or Peers()
        self._budget = budget or Budget(limits.in_flight_bytes, limits.in_flight_wait_s)
        self._log = log.get("web.ingest")
        self.group = IngestGroup(intake, clock=clock, peers=self._peers, budget=self._budget)
        """What takes small POSTs past this application; give it to the listener's `Wire`."""

    def refused_on_wire(self, raw_path: bytes, reason: str, status: int, peer: str) -> None:
        """Count a refusal of the protocol; give this to the listener as `Wire.refused`."""
        self._intake.refuse(self._intake.find(raw_path), reason, status, peer)

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request. No fault of ours becomes anything but a 503."""
        entry: LiveEndpoint | None = None
        try:
            entry = self._intake.find(scope["raw_path"])
            reply = await self._ask(entry, scope, receive)
        except IngestRefusal as refused:
            peer, headers = self._sender(scope), scope["headers"]
            self._intake.refuse(entry, refused.word, refused.status, peer, headers)
            await _refuse(send, refused, entry)
        except (ClientGone, asyncio.CancelledError):  # cancelled: the listener ends
            return
        except MemoryError:
            self._log.error("no memory for a request")
            await _refuse(send, IngestRefusal(503, "busy"), entry)
        except Exception as error:  # noqa: BLE001 - the last net: the sender must get 503
            self._log.error("request failed", error=repr(error), exc_info=error)
            await _refuse(send, IngestRefusal(503, "unavailable"), entry)
        else:
            await _reply(send, reply)

    async def _ask(self, entry: LiveEndpoint | None, scope: Any, receive: Receive) -> Reply:
        if entry is None:
            raise IngestRefusal(404, "not_found")
        if scope["method"] not in entry.methods:
            raise IngestRefusal(405, "method_not_allowed")
        length = _length(scope["headers"])
        if length > entry.body_max:
            raise IngestRefusal(413, "too_large")
        first = await receive() if length <= SMALL_BYTES else None
        if first is None or first["type"] != "http.request" or first.get("more_body"):
            return await self._accept_parts(entry, scope, receive, first)
        body = first.get("body", b"")  # all of it is here already
        size = len(body)
        if size > entry.body_max:
            raise IngestRefusal(413, "too_large")
        _in_time(scope)
        if not self._budget.take_whole(size):
            raise IngestRefusal(503, "busy")
        try:
            return await self._intake.accept(entry, self._request(scope, body))
        finally:
            self._budget.give(size)

    async def _accept_parts(
        self, entry: LiveEndpoint, scope: Any, receive: Receive, first: Any | None
    ) -> Reply:
        """A large or slow body: reserve memory first, then read."""
        reading = _Reading(self._budget, entry.body_max, _length(scope["headers"]))
        try:
            body = await reading.run(receive, first)
            if len(body) <= SMALL_BYTES:  # a large one has cost too much to be sent again
                _in_time(scope)
            return await self._intake.accept(entry, self._request(scope, body))
        finally:
            self._budget.give(reading.taken)

    def _request(self, scope: Any, body: bytes) -> InboundRequest:
        return InboundRequest(
            scope["method"],
            scope["raw_path"],
            scope["query_string"],
            tuple(scope["headers"]),
            body,
            self._sender(scope),
            self._now(),
        )

    def _sender(self, scope: Any) -> str:
        client = scope["client"]
        return self._peers.sender(client[0] if client else "", scope["headers"])


class _Reading:
    """One body being gathered; `taken` is what it holds of the budget."""

    def __init__(self, budget: Budget, body_max: int, length: int) -> None:
        self._budget = budget
        self._max = body_max
        self._length = length
        self.taken = 0

    async def run(self, receive: Receive, first: Any | None) -> bytes:
        """
        The whole body.

        Raises:
            IngestRefusal: too large, or no memory for it in time.
            ClientGone: the sender did not finish.
        """
        await self._hold(self._length)
        gathered = BytesIO()  # hands out its own bytes: joining parts would hold the body twice
        size = 0
        message = first if first is not None else await receive()
        while True:
            if message["type"] != "http.request":
                raise ClientGone
            part = message.get("body", b"")
            size += len(part)
            if size > self._max:
                raise IngestRefusal(413, "too_large")
            await self._hold(size)
            gathered.write(part)
            if not message.get("more_body"):
                return gathered.getvalue()
            message = await receive()

    async def _hold(self, size: int) -> None:
        more = size - self.taken
        if more <= 0:
            return
        if not await self._budget.take(more):
            raise IngestRefusal(503, "busy")
        self.taken += more


def _in_time(scope: Any) -> None:
    """
    Go on unless the request has waited too long for its turn.

    Raises:
        IngestRefusal: more comes than can be done; another connection would cost as much.
    """
    if (late := scope.get(LATE)) is not None and late():
        raise IngestRefusal(503, "busy", keep_alive=True)


def _length(headers: Headers) -> int:
    """
    The announced length of the body, 0 for none.

    Raises:
        IngestRefusal: the body is encoded as nobody here can read it.
    """
    if not is_readable(headers):
        raise IngestRefusal(415, "unsupported_encoding")
    return next((int(value) for name, value in headers if name == b"content-length"), 0)


async def _reply(send: Send, reply: Reply, further: Headers = ()) -> None:
    given = (reply.content_type, reply.retry_after, reply.challenge, reply.close)
    headers = [*reply_headers(len(reply.body), *given), *reply.headers, *further]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def _refuse(send: Send, refused: IngestRefusal, entry: LiveEndpoint | None) -> None:
    further = []
    if refused.status == 405 and entry is not None:
        further.append((b"allow", ", ".join(sorted(entry.methods)).encode("ascii")))
    await _reply(send, refusal(refused), further)
