"""One connection, and the call on its way over it."""

import asyncio
import select
import socket
import ssl
from collections.abc import Callable
from typing import Any, Protocol

from router.actions.http_client.request import IDEMPOTENT, Origin, OutgoingRequest
from router.actions.http_client.response import HttpAnswer, ResponseReader, TransferError

PIECE = 64 * 1024
"""Of a large body, what is written at once."""

ExchangeEnded = Callable[[HttpAnswer | Exception], object]


class Exchange:
    """A request on its way to its answer: `ended` is told once, or never if it is cancelled."""

    __slots__ = ("_ended", "connecting", "connection", "deadline", "request")

    def __init__(self, request: OutgoingRequest, ended: ExchangeEnded, deadline: float) -> None:
        self.request, self.deadline = request, deadline
        self._ended: ExchangeEnded | None = ended
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


class ConnectionPool(Protocol):
    """Whom a connection belongs to. What comes over any of them is put into `buffer`."""

    buffer: memoryview

    def keep(self, connection: "ClientConnection") -> None:
        """An answer was whole: the connection may serve again."""

    def lost(self, connection: "ClientConnection") -> None:
        """It is closed."""

    def connect(self, exchange: Exchange) -> None:
        """Send it over a new connection."""


class ClientConnection(asyncio.BufferedProtocol):
    """One connection, with at most one exchange at a time."""

    def __init__(self, pool: ConnectionPool, origin: Origin, raw: socket.socket) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self._pool, self._loop = pool, asyncio.get_running_loop()
        self._lying = select.poll()
        self._lying.register(raw.fileno(), select.POLLIN)
        self._reader = ResponseReader()
        self._transport: Any = None
        self._exchange: Exchange | None = None
        self._used = self._paused = False
        self._rest: memoryview | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport

    def usable(self, since: float) -> bool:
        """
        Whether it may serve another call: it has rested no longer than that, it is open, and
        nothing has come since the last answer, not even an end. What lies in the socket would be
        read as the next one's answer.
        """
        fresh = self.idle_since > since and not self._transport.is_closing()
        return fresh and not self._lying.poll(0)

    def send(self, exchange: Exchange) -> None:
        """Write the request; the exchange ends by what comes back."""
        self._exchange, exchange.connection = exchange, self
        request = exchange.request
        self._reader.expect(bare=request.method == "HEAD")
        self._transport.write(request.data)
        self._watch(exchange.deadline)
        if request.rest:
            self._rest = memoryview(request.rest)
            self._write_on()

    def pause_writing(self) -> None:
        """The target takes no more for now."""
        self._paused = True

    def resume_writing(self) -> None:
        """It does again."""
        self._paused = False
        self._write_on()

    def get_buffer(self, sizehint: int) -> memoryview:
        """
        Where what comes is put: it is read at once, so that all connections share it. asyncio
        takes parts of it, which must be no copies.
        """
        del sizehint
        return self._pool.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """A part of the answer, or what nobody asked for."""
        if self._exchange is None:
            self.drop()
            return
        try:
            answer = self._reader.feed(self._pool.buffer[:nbytes])
        except TransferError as error:
            self._finish(error)
        else:
            if answer is not None:
                self._finish(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self._pool.lost(self)
        if self._timer is not None:
            self._timer.cancel()
        exchange, self._exchange, self._rest = self._exchange, None, None
        if exchange is None:
            return
        if self._used and exchange.request.method in IDEMPOTENT and not self._reader.heard:
            self._pool.connect(exchange)  # it was closed before the request could arrive
            return
        if isinstance(exc, ssl.SSLError):
            exc = OSError()  # its numbers are OpenSSL's
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
        self.hang_up()

    def hang_up(self) -> None:
        """Hang up at once: what is on its way has no answer."""
        if self._transport is not None:
            self._transport.abort()

    def _write_on(self) -> None:
        """More of a large body, for as long as it is taken."""
        while self._rest and not self._paused and not self._transport.is_closing():
            piece, self._rest = self._rest[:PIECE], self._rest[PIECE:]
            self._transport.write(piece)

    def _finish(self, found: HttpAnswer | Exception) -> None:
        """The end of the exchange; the connection waits for another one if it can."""
        exchange, self._exchange = self._exchange, None
        unsent = self._rest or self._transport.get_write_buffer_size()
        self._rest = None
        if self._reader.reusable and not unsent:
            self._used = True
            self._pool.keep(self)
        else:
            self.hang_up()
        if exchange is None:
            return
        if self.origin.tls is None:
            exchange.end(found)
        else:  # what is written while the loop's TLS reads costs it twice
            exchange.connection = None
            self._loop.call_soon(exchange.end, found)

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
