"""Servers that mean harm: what each does on the wire, and what must come of a call to it."""

import asyncio
import contextlib
import gzip
import os
import socket
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

OK = b"HTTP/1.1 200 OK\r\n"
SHORT = OK + b"Content-Length: 2\r\n\r\nok"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = CHUNKED + b"1\r\nx\r\n0\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
HINT_LINE = b"HTTP/1.1 103 Early Hints\r\n"
HINT = HINT_LINE + b"\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
BOMB = gzip.compress(b"\0" * 50_000_000)
CODED_BOMB = zlib.compress(b"\0" * 10_000_000)  # here: the loop that is watched must not make it


class Wire:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.written = 0

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        self.written += len(data)
        await self.writer.drain()

    async def request(self) -> bytes:
        request = head = await self.reader.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                request += await self.reader.readexactly(int(line.split(b":")[1]))
        return request

    async def slowly(self, data: bytes, pause_s: float = 0.02) -> None:
        for byte in data:
            await self.say(bytes([byte]))
            await asyncio.sleep(pause_s)

    async def endlessly(self, piece: bytes) -> None:
        while True:
            await self.say(piece)

    async def nothing(self) -> None:
        await asyncio.Event().wait()

    def half_close(self) -> None:
        """End what it says, over TLS without a `close_notify`, and go on reading."""
        with socket.socket(fileno=os.dup(self.writer.get_extra_info("socket").fileno())) as raw:
            raw.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Wire], Awaitable[None]]
TABLE: dict[str, tuple[str, Script]] = {}
"""Name to what must come of it (`done` or a class of failure) and what the server does."""


def target(expected: str) -> Callable[[Script], Script]:
    def kept(script: Script) -> Script:
        TABLE[script.__name__] = (expected, script)
        return script

    return kept


def answers(expected: str, name: str, data: bytes) -> None:
    """A target that reads the request, says this, and goes."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(data)

    TABLE[name] = (expected, script)


# -- slow -----------------------------------------------------------------------------------------


@target("timeout")
async def never_reads(wire: Wire) -> None:
    await wire.nothing()


@target("timeout")
async def slow_status_line(wire: Wire) -> None:
    await wire.request()
    await wire.slowly(OK * 100)


@target("timeout")
async def slow_headers(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK)
    await wire.slowly(b"X-A: 1\r\n" * 1_000)


@target("timeout")
async def slow_body(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"Content-Length: 100000\r\n\r\n")
    await wire.slowly(b"x" * 100_000)


@target("timeout")
async def slow_chunks(wire: Wire) -> None:
    await wire.request()
    await wire.say(CHUNKED)
    await wire.slowly(b"1\r\nx\r\n" * 100_000, 0.005)


@target("network")
async def interim_answers_without_end(wire: Wire) -> None:
    await wire.request()
    while True:
        await wire.say(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        await asyncio.sleep(0.001)


@target("network")
async def continues_without_end(wire: Wire) -> None:
    await wire.request()
    while True:
        await wire.say(CONTINUE * 100)
        await asyncio.sleep(0.001)


# -- too much -------------------------------------------------------------------------------------


@target("done")
async def endless_body(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"\r\n")
    await wire.endlessly(b"y" * 65_536)


@target("done")
async def endless_chunks(wire: Wire) -> None:
    await wire.request()
    await wire.say(CHUNKED)
    await wire.endlessly(b"10000\r\n" + b"y" * 65_536 + b"\r\n")


@target("done")
async def a_length_of_a_terabyte(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"Content-Length: 1099511627776\r\n\r\n")
    await wire.endlessly(b"y" * 65_536)


@target("network")
async def endless_headers(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK)
    await wire.endlessly(b"X-A: " + b"b" * 1_000 + b"\r\n")


@target("network")
async def one_huge_header(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"X-A: ")
    await wire.endlessly(b"b" * 65_536)


@target("network")
async def one_huge_status_line(wire: Wire) -> None:
    await wire.request()
    await wire.say(b"HTTP/1.1 200 ")
    await wire.endlessly(b"O" * 65_536)


def floods(expected: str, name: str, begin: bytes, piece: bytes) -> None:
    """A target that says the one, then the other as fast as it can, without a pause or an end."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(begin)
        await wire.endlessly(piece)

    TABLE[name] = (expected, script)


floods("network", "hints_a_thousand_at_once", b"", HINT * 1_000)
floods("network", "continues_a_thousand_at_once", b"", CONTINUE * 1_000)
floods("network", "interim_headers_without_end", HINT_LINE, b"A: b\r\n" * 5_000)
floods("network", "line_ends_without_end", b"", b"\r\n" * 30_000)
floods("network", "short_headers_without_end", OK, b"A: b\r\n" * 5_000)
floods("network", "blanks_in_a_header_without_end", OK + b"X-A:", b" " * 65_536)
floods("network", "chunks_of_one_byte", CHUNKED, b"1\r\nx\r\n" * 5_000)
floods("network", "one_endless_chunk_size", CHUNKED, b"0" * 65_536)
floods("network", "one_endless_chunk_extension", CHUNKED + b"1;", b"e" * 65_536)
floods("network", "chunk_extensions_without_end", CHUNKED, b"1;" + b"e" * 4_000 + b"\r\nx\r\n")
floods("network", "trailers_without_end", LAST_CHUNK, b"A: b\r\n" * 5_000)
floods("network", "one_endless_trailer", LAST_CHUNK + b"X-A:", b"b" * 65_536)
floods("network", "blanks_in_a_trailer_without_end", LAST_CHUNK + b"X-A:", b" " * 65_536)
floods("done", "hints_after_the_answer", SHORT, HINT * 1_000)
floods("done", "answers_after_the_answer", SHORT, SHORT * 1_000)
floods("client", "a_flood_after_a_switch", SWITCH, b"x" * 65_536)


@target("done")
async def a_gzip_bomb(wire: Wire) -> None:
    await wire.request()
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)
    await wire.say(head + BOMB)


@target("done")
async def a_bomb_by_transfer_coding(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"Transfer-Encoding: deflate, chunked\r\n\r\n")
    await wire.say(b"%x\r\n" % len(CODED_BOMB) + CODED_BOMB + b"\r\n0\r\n\r\n")


answers("done", "bad_gzip", OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")


# -- lies -----------------------------------------------------------------------------------------


answers("network", "no_http", b"<html>HTTP/0.9 says hello</html>\r\n")


@target("network")
async def another_protocol(wire: Wire) -> None:
    await wire.say(b"220 mail.example ESMTP\r\n")
    await wire.nothing()


answers("network", "http_two", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\0" * 18)


@target("network")
async def an_answer_before_the_question(wire: Wire) -> None:
    wire.reset()


# -- broken ---------------------------------------------------------------------------------------


@target("network")
async def closes_before_it_reads(wire: Wire) -> None:
    wire.writer.close()


@target("network")
async def resets_after_the_request(wire: Wire) -> None:
    await wire.request()
    wire.reset()


@target("network")
async def resets_in_the_status_line(wire: Wire) -> None:
    await wire.request()
    await wire.say(b"HTTP/1.1 20")
    wire.reset()


@target("network")
async def resets_in_the_headers(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"X-A: ")
    wire.reset()


@target("network")
async def resets_in_the_body(wire: Wire) -> None:
    await wire.request()
    await wire.say(OK + b"Content-Length: 100\r\n\r\nabc")
    await asyncio.sleep(0.02)
    wire.reset()


# -- serving ---------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def serving(
    script: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[tuple[str, list[Wire]]]:
    """The server, as long as the block lasts: its URL, and its side of each connection."""
    wires: list[Wire] = []
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        wires.append(Wire(reader, writer))
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await script(wires[-1])
        writer.close()

    server = await asyncio.start_server(connected, host, port, ssl=tls)
    scheme, shown = "https" if tls else "http", f"[{host}]" if ":" in host else host
    try:
        yield f"{scheme}://{shown}:{server.sockets[0].getsockname()[1]}/", wires
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
