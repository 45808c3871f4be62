"""A relay before a PostgreSQL server that loses a client's connection at a chosen moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import urlsplit

Side = Literal["request", "connection", "answer", "silence"]
"""
What is lost: the request, so that the server never sees it; the connection, while the server is
busy with it; or the answer, when it is there: what was asked for has happened. Silence: the server
has the request, its client hears nothing of it, and the connection stays until the server ends it.
"""
READ = 1 << 16


class Relay:
    """Relays to the server at an address (by TCP), from its own `address`."""

    def __init__(self, server: str) -> None:
        self._server = urlsplit(server)
        self._losing: tuple[bytes, Side] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.lost = asyncio.Event()

    def lose(self, marker: bytes, side: Side) -> None:
        """Lose the connection on which a request with these bytes comes next; only that one."""
        self._losing = (marker, side)
        self.lost.clear()

    @asynccontextmanager
    async def relaying(self) -> AsyncIterator["Relay"]:
        """It listens; in the end every connection is closed."""
        listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        user = self._server.username
        self.address = self._server._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()
        try:
            yield self
        finally:
            listening.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        server, to_server = await asyncio.open_connection("127.0.0.1", self._server.port)
        answers = asyncio.create_task(_pass_on(server, to_client))
        try:
            await self._requests(client, server, to_server, answers)
        finally:
            answers.cancel()
            to_client.transport.abort()
            to_server.close()
            self._tasks.discard(task)

    async def _requests(
        self,
        client: asyncio.StreamReader,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        answers: "asyncio.Task[None]",
    ) -> None:
        seen = b""
        while data := await client.read(READ):
            seen = seen[-READ:] + data
            if (side := self._loses(seen)) is None:
                to_server.write(data)
                continue
            if side in ("answer", "silence"):
                answers.cancel()
                await asyncio.wait([answers])
            if side != "request":
                to_server.write(data)
                await to_server.drain()
            if side == "answer":
                await server.read(READ)
            self.lost.set()
            while side == "silence" and await server.read(READ):
                pass
            return

    def _loses(self, seen: bytes) -> Side | None:
        if self._losing is None or self._losing[0] not in seen:
            return None
        (_, side), self._losing = self._losing, None
        return side


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(READ):
        writer.write(data)
    writer.close()
