"""
Listeners: uvicorn embedded in our own loop, without its signals, its ticking and its logs.

A listener binds first, so that a wrong address is an error with our words before anything runs.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import Generator
from typing import Any, cast

import uvicorn

from router.egress import host_and_port
from router.errors import CannotListen, UsageError
from router.web.connections import Wire
from router.web.protocol import WireProtocol

BACKLOG = 2048
HEARING_S = 0.5
"""How long who has connected may take to say all that he wants when the listener ends."""
CROWD = 512
"""So many connections are taken in at once when there is a queue of them."""
_REASONS: dict[int | None, str] = {
    errno.EADDRINUSE: "the address is in use; end what runs there, or name another "
    "(server.listen and server.admin, --listen, --admin)",
    errno.EACCES: "ports below 1024 need more rights",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}


class _Embedded(uvicorn.Server):
    """uvicorn's start-up and connection book-keeping; signals and the wait for them are ours."""

    _listening: socket.socket
    _tls: ssl.SSLContext | None
    _wire: Wire

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._connecting: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave every signal to whoever runs the process."""
        yield

    async def open(self, listening: socket.socket, tls: ssl.SSLContext | None, wire: Wire) -> None:
        """Accept connections on a bound socket; returns at once."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        self._listening, self._tls, self._wire = listening, tls, wire
        wire.crowded, wire.opened_at = self._take_in, asyncio.get_running_loop().time()
        if tls is None:
            await self.startup(sockets=[listening])
            return
        # As `startup` does, but a stranger who never ends his handshake is not kept for a minute.
        server = await asyncio.get_running_loop().create_server(
            self._protocol,
            sock=listening,
            ssl=tls,
            backlog=BACKLOG,
            ssl_handshake_timeout=wire.limits.header_s,
            ssl_shutdown_timeout=wire.linger_s,
        )
        self.servers = [server]
        self.started = True

    def _take_in(self) -> None:
        """
        Accept everybody who waits to be accepted. uvloop takes one a turn of the loop, and turns
        are long under overload: a refusal would wait as long as the work it was refused for.
        """
        loop = asyncio.get_running_loop()
        for _ in range(CROWD if self.started else 0):
            try:
                taken, _ = self._listening.accept()
            except OSError:  # nobody is left, or no file is
                return
            taken.setblocking(False)
            task = loop.create_task(self._connect(loop, taken))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, loop: asyncio.AbstractEventLoop, taken: socket.socket) -> None:
        handshake_s = None if self._tls is None else self._wire.limits.header_s
        try:
            await loop.connect_accepted_socket(
                self._protocol, taken, ssl=self._tls, ssl_handshake_timeout=handshake_s
            )
        except OSError:  # gone already, or no TLS
            taken.close()

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


class Listener:
    """
    One address that one application answers on. `given`: a socket that listens there already, and
    goes on to when we have ended; it belongs to the listener from now on.
    """

    def __init__(
        self,
        app: Any,
        address: str,
        wire: Wire,
        tls: ssl.SSLContext | None = None,
        given: socket.socket | None = None,
    ) -> None:
        self._address = address
        self._given = given
        self._tls = tls
        self._wire = wire
        self._server = _Embedded(_config(app, wire))
        self._bound: tuple[str, int] | None = None

    @property
    def bound(self) -> tuple[str, int]:
        """Host and port really in use (port 0 asks the system for one)."""
        if self._bound is None:
            raise RuntimeError("the listener has not been started")
        return self._bound

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._server.server_state.connections)

    async def start(self) -> None:
        """
        Bind, unless a socket was given, and accept.

        Raises:
            CannotListen, UsageError: see `bind`.
        """
        listening = self._given or bind(self._address)
        name = listening.getsockname()
        self._bound = (str(name[0]), int(name[1]))
        await self._server.open(listening, self._tls, self._wire)

    async def stop(self, grace_s: float) -> None:
        """
        Refuse new connections, let requests finish for up to `grace_s`, then drop the rest.

        A request that is being accepted is not cancelled before that; idempotent.
        """
        if self._bound is None or not self._server.started:
            return
        self._server.started = False
        state = self._server.server_state
        for server in self._server.servers:
            server.close()
        await asyncio.sleep(0)  # who has been accepted is a connection now
        for connection in state.connections - self._unheard():
            connection.shutdown()
        await self._hear(min(grace_s, HEARING_S))
        for connection in list(state.connections):
            connection.shutdown()
        await self._finish(grace_s)
        for connection in list(state.connections):
            connection.transport.abort()
        # Aborted requests see it on the next turn and end by themselves.
        await self._finish(min(grace_s, 1.0))
        for task in self._tasks():
            task.cancel()
        await asyncio.sleep(0)

    def _tasks(self) -> set[asyncio.Task[None]]:
        """All that is being accepted: the application's requests, and the groups of small POSTs."""
        group = self._wire.group
        return self._server.server_state.tasks | (group.tasks if group is not None else set())

    async def _hear(self, seconds: float) -> None:
        """What is still on its way on an accepted connection is answered, too."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while self._unheard() and loop.time() < ends:  # noqa: ASYNC110 - an event costs each request
            await asyncio.sleep(0.01)

    def _unheard(self) -> set[Any]:
        """The connections on which a request is yet to come, or the rest of it."""
        every = self._server.server_state.connections
        return {one for one in every if isinstance(one, WireProtocol) and one.unheard}

    async def _finish(self, seconds: float) -> None:
        """Wait for whatever is being accepted, and for what follows it."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        await asyncio.sleep(0)
        while (tasks := self._tasks()) and (left := ends - loop.time()) > 0:
            await asyncio.wait(tasks, timeout=left)


def _config(app: Any, wire: Wire) -> uvicorn.Config:
    protocol = cast(type[asyncio.Protocol], functools.partial(WireProtocol, wire=wire))
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        interface="asgi3",
        lifespan="off",
        backlog=BACKLOG,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        access_log=False,
        log_config=None,
        log_level="warning",
    )


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
