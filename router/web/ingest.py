"""
The door of the public listener: checks requests, then hands them to the intake.

Small requests go through the intake in groups. A large or packed one, and one to an endpoint that
asks others about it, each goes in a task of its own. Deadlines are the connection's: it answers by
itself when one passes, and never cancels a request that the intake has begun to accept.
"""

import asyncio
from collections.abc import AsyncIterator

from router.clock import Clock
from router.intake.intake import Intake
from router.intake.reply import Reply
from router.model.delivery import InboundRequest
from router.model.packed import HEADER
from router.model.settings import Limits
from router.web.answers import IngestRefusal, refusal
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.door import Door
from router.web.head import is_readable
from router.web.ingest_group import IngestGroup
from router.web.load_shedding import LoadShedder
from router.web.wire_request import SMALL_BYTES, WireRequest


class ClientGone(Exception):
    """The sender of a request went away before its body was whole."""


class Ingest(Door):
    """The one way in for deliveries."""

    def __init__(
        self,
        intake: Intake,
        *,
        clock: Clock,
        limits: Limits | None = None,
        peers: Peers | None = None,
        budget: Budget | None = None,
        patience: LoadShedder | None = None,
    ) -> None:
        limits = limits or Limits()
        budget = budget or Budget(limits.in_flight_bytes, limits.in_flight_wait_s)
        super().__init__(budget, patience or LoadShedder())
        self._intake, self._now, self._body_s = intake, clock.now, limits.body_total_s
        self._peers = peers or Peers()
        self.group = IngestGroup(self, intake, self._inbound, clock=clock)

    def admit(self, request: WireRequest) -> None:
        """Find the endpoint; refuse what it does not take."""
        endpoint = request.endpoint = self._intake.find(request.path)
        if endpoint is None:
            request.refused = IngestRefusal(404, "not_found")
        elif request.method not in endpoint.methods:
            request.refused = IngestRefusal(405, "method_not_allowed")
        elif not request.plain and not is_readable(request.headers):
            request.refused = IngestRefusal(415, "unsupported_encoding")
        elif request.length > endpoint.body_max:
            request.refused = IngestRefusal(413, "too_large")
        else:
            request.body_max = endpoint.body_max

    def hopeless(self, request: WireRequest, now: float) -> bool:
        """Whether it would wait too long for its turn, so that it is refused at once."""
        if request.in_pieces or request.size > SMALL_BYTES:  # it has cost too much to be sent again
            return False
        return self.patience.hopeless(self.group.expected_s(request.endpoint), now)

    def offer(self, request: WireRequest) -> None:
        """Take a whole request, and answer it later."""
        size = len(request.body)
        packed = not request.plain and any(name == HEADER for name, _ in request.headers)
        if packed or request.endpoint.waits or size > SMALL_BYTES:
            self.spawn(self._accept(request))
            return
        if not request.held and self._budget.take_whole(size):
            request.held = size
        self.group.offer(request)

    async def ask(self, request: WireRequest, body: AsyncIterator[bytes]) -> Reply:
        """
        Return the reply to a request that came without a connection of ours.

        It is checked as every other: endpoint, method, encoding, size, memory for its body, and how
        long it waits for its turn. `body` is read as far as there is memory for it, for at most
        `body_total_s`.

        Raises:
            ClientGone: `body` raised it.
        """
        loop = asyncio.get_running_loop()
        request.asked = loop.create_future()
        try:
            await self._read(request, body)
            request.end(loop.time())
            if request.refused is None:
                request.offered = True
                self.offer(request)
            else:
                self.refuse(request, request.refused)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - the last net: the sender must get 503
            self.fail((request,), error)
        finally:
            if not request.offered:
                self.release(request)
        return await asyncio.shield(request.asked)

    async def _read(self, request: WireRequest, body: AsyncIterator[bytes]) -> None:
        self.admit(request)
        try:
            async with asyncio.timeout(self._body_s):
                if request.length > SMALL_BYTES:
                    await self.take(request, request.length)
                while request.refused is None and (piece := await anext(body, None)) is not None:
                    request.add(piece)
                    if request.size != request.length:  # a whole small one takes none in advance
                        await self.take(request, max(request.size, request.length))
        except TimeoutError:
            request.refused = IngestRefusal(408, "body_timeout")

    def refuse(self, request: WireRequest, refused: IngestRefusal) -> None:
        """Count a refusal and answer with it."""
        self.release(request)
        endpoint, headers = request.endpoint, request.headers
        peer = self._peers.sender(request.peer, headers)
        self._intake.refuse(endpoint, refused.word, refused.status, peer, headers)
        request.answer(refusal(refused, endpoint.methods if endpoint else ()))

    def count_refusal(self, raw_path: bytes, word: str, status: int, peer: str) -> None:
        """Count a refusal that a connection made; raw_path b"": no request had begun."""
        self._intake.refuse(self._intake.find(raw_path), word, status, peer)

    async def _accept(self, request: WireRequest) -> None:
        try:
            inbound = self._inbound(request, self._now(), asyncio.get_running_loop().time())
            reply = await self._intake.accept(request.endpoint, inbound)
        except IngestRefusal as refused:
            self.refuse(request, refused)
        except Exception as error:  # noqa: BLE001 - the last net: the sender must get 503
            self.fail((request,), error)
        else:
            request.answer(reply)
        finally:  # also when cancelled
            self.release(request)

    def _inbound(self, request: WireRequest, now: int, now_s: float) -> InboundRequest:
        """
        Return what the intake takes. `now` in Unix milliseconds, `now_s` in the loop's seconds.

        Raises:
            IngestRefusal: it waited too long for its turn, or there is no memory for its body.
        """
        size = len(request.body)
        if size <= SMALL_BYTES:  # a larger one has cost too much to be sent again
            if self.patience.spent(request.whole_since, now_s):
                raise IngestRefusal(503, "busy", keep_alive=True)
            if not request.held:
                if not self._budget.take_whole(size):
                    raise IngestRefusal(503, "busy")
                request.held = size
        headers = request.headers
        peer = self._peers.sender(request.peer, headers)
        return InboundRequest(
            request.method, request.path, request.query, headers, request.body, peer, now
        )
