"""Connections that are kept from call to call, and the way to a new one."""

import asyncio
import ssl
from collections.abc import Callable

from router.actions.http_client.connection import ClientConnection, Exchange, ExchangeEnded
from router.actions.http_client.dialling import Addresses, Dialler
from router.actions.http_client.request import Origin, OutgoingRequest
from router.actions.http_client.response import TransferError, errno_words
from router.egress import EgressPolicy
from router.errors import EgressRefused

IDLE_S = 15.0
"""How long a connection is kept that nobody uses."""
IDLE_MAX = 256
"""Connections that are kept at once; one more is closed after its answer."""
RECEIVED_MAX = 64 * 1024
"""What is taken from a connection at once."""


class HttpClient:
    """
    Sends requests over connections of its own, made and used again as needed. How many calls run
    at once is the caller's to bound.
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
        self.buffer = memoryview(bytearray(RECEIVED_MAX))
        self._dialler = Dialler(egress, addresses)
        self._idle_s, self._idle_max = idle_s, idle_max
        self._open: set[ClientConnection] = set()
        self._connecting: dict[asyncio.Task[None], Exchange] = {}
        self._idle: dict[Origin, list[ClientConnection]] = {}
        self._kept = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._closed: asyncio.Future[None] | None = None

    def send(self, request: OutgoingRequest, ended: ExchangeEnded) -> Callable[[], None]:
        """
        Send it, and tell `ended` once, later, what came of it: an answer, TimeoutError,
        EgressRefused, or TransferError. What is returned cancels it: then nobody is told.
        """
        now = self.loop.time()
        exchange = Exchange(request, ended, now + request.timeout_s)
        idle = self._idle.get(request.origin)
        while idle:
            connection = idle.pop()  # the youngest, the likeliest to be open still
            self._kept -= 1
            if connection.usable(now - self._idle_s):
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
            error = TransferError("the connection was closed without an answer")
            self.loop.call_soon(exchange.end, error)
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
        try:
            async with asyncio.timeout(left_s):
                connection = await self._connected(request.origin)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            exchange.end(_worded(error))
        else:
            connection.send(exchange)

    async def _connected(self, origin: Origin) -> ClientConnection:
        """A connection, over TLS with a certificate that was checked if the origin wants that."""
        raw = await self._dialler.connected(origin.host, origin.port)
        connection = ClientConnection(self, origin, raw)
        name = None if origin.tls is None else origin.host.rstrip(".")
        try:
            await self.loop.create_connection(
                lambda: connection, sock=raw, ssl=origin.tls, server_hostname=name
            )
        except BaseException:
            connection.hang_up()
            raw.close()
            raise
        self._open.add(connection)
        return connection


def _worded(error: Exception) -> Exception:
    """Our own words for what keeps a connection from being made; anything else as it is."""
    if isinstance(error, ssl.CertificateError):
        return TransferError("the certificate was not accepted")
    if isinstance(error, ssl.SSLError):
        return TransferError("the TLS handshake failed")
    if isinstance(error, OSError) and not isinstance(error, TimeoutError | EgressRefused):
        return TransferError("no connection" + errno_words(error))
    return error
