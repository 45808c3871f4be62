"""A link to a TCP server that can be cut, and held up so that nothing says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

READ = 1 << 16


class Link:
    """Relays connections to `127.0.0.1:server` from its own `port`."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._flows = asyncio.Event()
        self._flows.set()
        self._whole = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def relaying(self) -> AsyncIterator["Link"]:
        """It listens; in the end every connection is closed."""
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = listening.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listening.close()
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def lead_to(self, server: int) -> None:
        """New connections go to this port of 127.0.0.1; those that are there stay as they are."""
        self._server = server

    def cut(self) -> None:
        """Every connection is closed, and each new one at once."""
        self._whole = False
        for writer in tuple(self._writers):
            writer.transport.abort()

    def hold_up(self) -> None:
        """What is sent stays on the way; new connections are taken and hear nothing."""
        self._flows.clear()

    def mend(self) -> None:
        """All is as before; what was held up arrives now."""
        self._whole = True
        self._flows.set()

    def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._connected(client, to_client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(
        self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        self._writers.add(to_client)
        try:
            if self._whole:
                await self._relay(client, to_client)
        finally:
            to_client.transport.abort()
            self._writers.discard(to_client)

    async def _relay(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._server)
        except OSError:
            return  # it is down: so is what leads to it
        self._writers.add(to_server)
        ways = [
            asyncio.ensure_future(self._pass_on(client, to_server)),
            asyncio.ensure_future(self._pass_on(server, to_client)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            to_server.transport.abort()
            self._writers.discard(to_server)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b"?"
        while data:
            data = await reader.read(READ)
            await self._flows.wait()  # an end is on the way as long as bytes are
            writer.write(data)
            await writer.drain()
