"""
Listeners: accept connections, and end them without losing requests under way.

A listener binds first, so a wrong address is an error with our words before anything runs.
"""

import asyncio
import errno
import functools
import socket
import ssl
from typing import Any

from router.egress import host_and_port
from router.errors import CannotListen, UsageError
from router.web.connections import Wire
from router.web.protocol import WireProtocol

BACKLOG = 2048
HEARING_S = 0.5
"""How long a listener that stops waits for requests on their way."""
CROWD = 512
"""The most connections accepted at once when many wait."""
_REASONS: dict[int | None, str] = {
    errno.EADDRINUSE: "the address is in use; end what runs there, or name another "
    "(server.listen and server.admin, --listen, --admin)",
    errno.EACCES: "ports below 1024 need more rights",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}


class Listener:
    """
    One address. `given`: a socket that listens there already, and goes on to when the listener has
    stopped; it belongs to the listener from now on.
    """

    def __init__(
        self,
        address: str,
        wire: Wire,
        tls: ssl.SSLContext | None = None,
        given: socket.socket | None = None,
    ) -> None:
        self._address, self._given, self._tls, self._wire = address, given, tls, wire
        self._protocol = functools.partial(WireProtocol, wire)
        self._listening: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._connecting = set[asyncio.Task[None]]()
        self._tls_limits: dict[str, Any] = {}
        if tls is not None:  # asyncio keeps an unfinished handshake for a minute
            self._tls_limits["ssl_handshake_timeout"] = wire.limits.header_s
            self._tls_limits["ssl_shutdown_timeout"] = wire.linger_s

    @property
    def bound(self) -> tuple[str, int]:
        """Return the host and port really in use (port 0 asks the system for one)."""
        if self._listening is None:
            raise RuntimeError("the listener has not been started")
        return self._bound

    async def start(self) -> None:
        """
        Bind, unless a socket was given, and accept connections.

        Raises:
            CannotListen, UsageError: see `bind`.
        """
        loop, wire = asyncio.get_running_loop(), self._wire
        listening = self._listening = self._given or bind(self._address)
        name = listening.getsockname()
        self._bound = (str(name[0]), int(name[1]))
        wire.crowded, wire.opened_at = self._accept_all, loop.time()
        self._server = await loop.create_server(
            self._protocol, sock=listening, ssl=self._tls, backlog=BACKLOG, **self._tls_limits
        )

    def _accept_all(self) -> None:
        """
        Accept every waiting connection. uvloop accepts one a turn of the loop, and turns are long
        under overload: a refusal would wait as long as the work it was refused for.
        """
        loop, listening = asyncio.get_running_loop(), self._listening
        if self._server is None or listening is None:
            return
        for _ in range(CROWD):
            try:
                taken, _ = listening.accept()
            except OSError:  # no connection waits, or no file descriptor is free
                return
            taken.setblocking(False)
            task = loop.create_task(self._connect(loop, taken))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, loop: asyncio.AbstractEventLoop, taken: socket.socket) -> None:
        try:
            await loop.connect_accepted_socket(
                self._protocol, taken, ssl=self._tls, **self._tls_limits
            )
        except OSError:  # the peer is gone already, or does not speak TLS
            taken.close()

    async def stop(self, grace_s: float) -> None:
        """
        Refuse new connections, let requests finish for up to `grace_s`, then drop the rest.

        A request that the door has taken is not cancelled before that. Idempotent.
        """
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        await asyncio.sleep(0)  # who was accepted in this turn is a connection now
        every, tasks = self._wire.open, self._wire.door.tasks
        for connection in [one for one in every if not one.unheard]:
            connection.shutdown()
        await self._hear(min(grace_s, HEARING_S))
        for connection in list(every):
            connection.shutdown()
        await _finish(tasks, grace_s)
        for connection in list(every):
            connection.transport.abort()
        # The tasks of aborted requests see it in the next turn and end by themselves.
        await _finish(tasks, min(grace_s, 1.0))
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0)

    async def _hear(self, seconds: float) -> None:
        """Wait for requests that are still on their way on accepted connections."""
        loop = asyncio.get_running_loop()
        ends, every = loop.time() + seconds, self._wire.open
        while any(c.unheard for c in every) and loop.time() < ends:  # noqa: ASYNC110 - cheap
            await asyncio.sleep(0.01)  # an event would cost each request


async def _finish(tasks: set[asyncio.Task[None]], seconds: float) -> None:
    """Wait for the tasks of a door, and for those that follow them."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    await asyncio.sleep(0)
    while tasks and (left := ends - loop.time()) > 0:
        await asyncio.wait(tasks, timeout=left)


def bind(address: str) -> socket.socket:
    """
    A bound TCP socket for `host:port` or `[v6]:port`.

    Raises:
        CannotListen: it is in use, not permitted, or not an address of this machine.
        UsageError: it is malformed.
    """
    if (place := host_and_port(address)) is None:
        raise UsageError(f"cannot listen on {address!r}: write host:port")
    host, port = place
    try:
        family, _, _, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CannotListen(f"cannot listen on {address}: {host} is not an address") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
    except OSError as error:
        listening.close()
        raise CannotListen(
            f"cannot listen on {address}: {_REASONS.get(error.errno, error.strerror or error)}"
        ) from error
    listening.setblocking(False)
    return listening
