"""Connections that are cut when the server has done what was asked, and before its answer comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit, urlunsplit


class Cutter:
    """
    Stands between a store and the server's socket. After `cut` the next answer of the server is
    dropped, and its connection with it; then all is as before.
    """

    def __init__(self, socket: str, folder: str) -> None:
        self._socket, self.folder = socket, folder
        self._dropping = False
        self.dropped = 0

    def cut(self) -> None:
        self._dropping = True

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_unix_connection(self._socket)
        both = self._pass(reader, questions, answers=False), self._pass(answers, writer)
        await asyncio.gather(*both)

    async def _pass(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, answers: bool = True
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await source.read(65_536):
                if answers and self._dropping:
                    self._dropping, self.dropped = False, self.dropped + 1
                    break
                to.write(chunk)
                await to.drain()
        to.close()


@asynccontextmanager
async def cutting(address: str, folder: str) -> AsyncIterator[tuple[str, Cutter]]:
    """The address of one before the database at `address`, and it."""
    parts = urlsplit(address)
    place = parse_qs(parts.query)
    name = f".s.PGSQL.{place['port'][0]}"
    cutter = Cutter(f"{place['host'][0]}/{name}", folder)
    server = await asyncio.start_unix_server(cutter.connected, f"{folder}/{name}")
    async with server:
        query = f"host={folder}&port={place['port'][0]}"
        yield urlunsplit(parts._replace(query=query)), cutter
