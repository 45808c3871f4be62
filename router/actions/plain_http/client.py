"""Connections that are kept from call to call, and the calls on their way over them."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from router.actions.plain_http.request import Origin, PlainRequest
from router.actions.plain_http.response import (
    HttpAnswer,
    ResponseReader,
    TransferError,
    errno_words,
)
from router.egress import EgressPolicy, is_written, literal_address
from router.errors import EgressRefused

IDLE_S = 15.0
"""How long a connection is kept that nobody uses."""
IDLE_MAX = 256
"""Connections that are kept at once; one more is closed after its answer."""

Ended = Callable[[HttpAnswer | Exception], object]
Addresses = Callable[[str], Awaitable[list[str]]]
"""The addresses of a name. Raises OSError."""


class Exchange:
    """A request on its way to its answer: `ended` is told once, or never if it is cancelled."""

    __slots__ = ("_ended", "connecting", "connection", "deadline", "request")

    def __init__(self, request: PlainRequest, ended: Ended, deadline: float) -> None:
        self.request, self.deadline = request, deadline
        self._ended: Ended | None = ended
        self.connecting: asyncio.Task[None] | None = None
        self.connection: ClientConnection | None = None

    def end(self, found: HttpAnswer | Exception) -> None:
        """Tell what came of it."""
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(found)

    def cancel(self) -> None:
        """Give it up: its connection is closed, nobody is told. Nothing if it has ended."""
        if self._ended is None:
            return  # its connection may serve another one by now
        self._ended = None
        if self.connection is not None:
            self.connection.drop()
        elif self.connecting is not None:
            self.connecting.cancel()


class ClientConnection(asyncio.Protocol):
    """One connection, with at most one exchange at a time."""

    def __init__(self, client: "PlainClient", origin: Origin) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self._client, self._loop = client, client.loop
        self._reader = ResponseReader()
        self._transport: Any = None  # set before anything else happens
        self._exchange: Exchange | None = None
        self._used = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport

    @property
    def closing(self) -> bool:
        """Whether it cannot be used any more."""
        return bool(self._transport.is_closing())

    def send(self, exchange: Exchange) -> None:
        """Write the request; the exchange ends by what comes back."""
        self._exchange, exchange.connection = exchange, self
        self._reader.expect()
        self._transport.write(exchange.request.data)
        self._watch(exchange.deadline)

    def data_received(self, data: bytes) -> None:
        """A part of the answer, or what nobody asked for."""
        if self._exchange is None:
            self.drop()
            return
        try:
            answer = self._reader.feed(data)
        except TransferError as error:
            self._finish(error)
        else:
            if answer is not None:
                self._finish(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self._client.lost(self)
        if self._timer is not None:
            self._timer.cancel()
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        if self._used and exchange.request.idempotent and not self._reader.heard:
            self._client.connect(exchange)  # it was closed before the request could arrive
            return
        try:
            found: HttpAnswer | Exception = self._reader.end(
                exc if isinstance(exc, OSError) else None
            )
        except TransferError as error:
            found = error
        exchange.end(found)

    def drop(self) -> None:
        """Hang up at once, and tell nobody."""
        self._exchange = None
        self._transport.abort()

    def hang_up(self) -> None:
        """Hang up at once: what is on its way has no answer."""
        self._transport.abort()

    def _finish(self, found: HttpAnswer | Exception) -> None:
        """The end of the exchange; the connection waits for another one if it can."""
        exchange, self._exchange = self._exchange, None
        if self._reader.reusable:
            self._used = True
            self._client.keep(self)
        else:
            self._transport.abort()
        if exchange is not None:
            exchange.end(found)

    def _watch(self, deadline: float) -> None:
        """
        Look at the clock then, if not before: one timer serves many exchanges, whose deadlines
        mostly lie behind it when it rings.
        """
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._rung)

    def _rung(self) -> None:
        self._timer = None
        if self._exchange is None:
            return
        if self._loop.time() < self._exchange.deadline:
            self._watch(self._exchange.deadline)
            return
        self._reader.reusable = False
        self._finish(TimeoutError())


class PlainClient:
    """
    Sends requests over connections of its own, made and used again as needed.

    Every address is checked as it is connected to: `egress` refuses, but for literal addresses
    that the operator wrote. How many calls run at once is the caller's to bound.
    """

    def __init__(
        self,
        egress: EgressPolicy,
        addresses: Addresses,
        *,
        idle_s: float = IDLE_S,
        idle_max: int = IDLE_MAX,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._egress, self._addresses = egress, addresses
        self._idle_s, self._idle_max = idle_s, idle_max
        self._open: set[ClientConnection] = set()
        self._connecting: dict[asyncio.Task[None], Exchange] = {}
        self._idle: dict[Origin, list[ClientConnection]] = {}
        self._kept = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._closed: asyncio.Future[None] | None = None

    def send(self, request: PlainRequest, ended: Ended) -> Callable[[], None]:
        """
        Send it, and tell `ended` once, later, what came of it: an answer, TimeoutError,
        EgressRefused, or TransferError. What is returned cancels it: then nobody is told.
        """
        exchange = Exchange(request, ended, self.loop.time() + request.timeout_s)
        idle = self._idle.get(request.origin)
        while idle:
            connection = idle.pop()  # the youngest, the likeliest to be open still
            self._kept -= 1
            if not connection.closing and connection.idle_since > self.loop.time() - self._idle_s:
                connection.send(exchange)
                return exchange.cancel
            connection.drop()
        self.connect(exchange)
        return exchange.cancel

    async def close(self) -> None:
        """Close every connection; calls that are on their way end without an answer."""
        if self._sweep is not None:
            self._sweep.cancel()
        self._closed = self.loop.create_future()
        for task, exchange in self._connecting.items():
            task.cancel()  # it may not even have begun: it tells nobody itself
            exchange.end(TransferError("no connection"))
        for connection in self._open:
            connection.hang_up()
        if self._open:
            await self._closed

    def connect(self, exchange: Exchange) -> None:
        """Send it over a new connection."""
        if self._closed is not None:
            exchange.end(TransferError("the connection was closed without an answer"))
            return
        exchange.connection = None
        task = exchange.connecting = self.loop.create_task(self._opened(exchange))
        self._connecting[task] = exchange
        task.add_done_callback(self._connecting.pop)

    def keep(self, connection: ClientConnection) -> None:
        """An answer was whole: the connection may serve again."""
        if self._kept >= self._idle_max:
            connection.drop()
            return
        connection.idle_since = self.loop.time()
        self._idle.setdefault(connection.origin, []).append(connection)
        self._kept += 1
        if self._sweep is None:
            self._sweep = self.loop.call_later(self._idle_s, self._close_idle)

    def lost(self, connection: ClientConnection) -> None:
        """It is closed."""
        self._open.discard(connection)
        self._forget(connection)
        if self._closed is not None and not self._open and not self._closed.done():
            self._closed.set_result(None)

    def _forget(self, connection: ClientConnection) -> None:
        idle = self._idle.get(connection.origin, [])
        if connection in idle:
            idle.remove(connection)
            self._kept -= 1
        if not idle:
            self._idle.pop(connection.origin, None)

    def _close_idle(self) -> None:
        """Close what nobody has used for a while, and look again while anything is kept."""
        self._sweep = None
        before = self.loop.time() - self._idle_s
        for connection in [one for idle in self._idle.values() for one in idle]:
            if connection.idle_since <= before:
                self._forget(connection)
                connection.drop()
        if self._kept:
            self._sweep = self.loop.call_later(self._idle_s, self._close_idle)

    async def _opened(self, exchange: Exchange) -> None:
        """Connect, then send; the exchange hears of whatever keeps it from that."""
        request = exchange.request
        left_s = min(request.connect_timeout_s, exchange.deadline - self.loop.time())
        found: Exception
        try:
            async with asyncio.timeout(left_s):
                connection = await self._connected(request.origin, left_s)
        except (TimeoutError, TransferError, EgressRefused) as error:
            found = error
        except OSError as error:
            found = TransferError("no connection" + errno_words(error))
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            found = error
        else:
            connection.send(exchange)
            return
        exchange.end(found)

    async def _connected(self, origin: Origin, left_s: float) -> ClientConnection:
        """
        A connection to the first address that takes it; of several, each has its share of the
        time.
        """
        addresses = await self._addresses_of(origin.host)
        refusal: Exception | None = None
        failure: Exception | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(left_s / len(addresses)):
                    return await self._dialled(origin, address)
            except EgressRefused as error:
                refusal = error
            except OSError as error:  # TimeoutError is one
                failure = error
        raise failure or refusal or TransferError("the name was not found")

    async def _addresses_of(self, host: str) -> list[str]:
        if literal_address(host) is not None:
            return [host]
        try:
            return await self._addresses(host)
        except OSError as error:
            raise TransferError("the name was not found" + errno_words(error)) from None

    async def _dialled(self, origin: Origin, address: str) -> ClientConnection:
        """The address that is checked is the one that is connected to: nothing lies between."""
        self._egress.check(address, literal=is_written(address, origin.host, (origin.host,)))
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV  # nothing is looked up
        found = socket.getaddrinfo(address, origin.port, type=socket.SOCK_STREAM, flags=flags)
        family, kind, proto, _, place = found[0]
        raw = socket.socket(family, kind, proto)
        try:
            raw.setblocking(False)
            await self.loop.sock_connect(raw, place)
            connection = ClientConnection(self, origin)
            await self.loop.create_connection(lambda: connection, sock=raw)
        except BaseException:
            raw.close()
            raise
        self._open.add(connection)
        return connection
