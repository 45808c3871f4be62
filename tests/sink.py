"""A loopback HTTP server whose paths say how it behaves; it keeps what it was sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Writer = asyncio.StreamWriter


@dataclass
class Seen:
    """One request as it came: `head` is the request line and headers, as text."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass
class Sink:
    """
    `url` has no trailing slash. `seen` holds every request. `release` ends the hanging ones.

    Paths: /status/N, /after/VALUE (503 with that Retry-After), /json, /echo, /hang, /drip, /huge,
    /reset, /cut, /badgzip, /manyheaders, /garbage, /redirect/STATUS, /cookie.
    """

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    closed_by_peer: asyncio.Event = field(default_factory=asyncio.Event)


@contextlib.asynccontextmanager
async def running_sink() -> AsyncIterator[Sink]:
    """A sink on a free port of 127.0.0.1."""
    sink = Sink()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        sink.open += 1
        try:
            await _serve(sink, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            sink.closed_by_peer.set()
        except asyncio.CancelledError:
            return  # the server is closing
        finally:
            sink.open -= 1
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    sink.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield sink
    finally:
        sink.release.set()
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _serve(sink: Sink, reader: asyncio.StreamReader, writer: Writer) -> None:
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return
        line, *rest = head.rstrip("\r\n").split("\r\n")
        headers = [(name, value.strip()) for name, _, value in (h.partition(":") for h in rest)]
        length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
        seen = Seen(line, headers, await reader.readexactly(length))
        sink.seen.append(seen)
        path = line.split(" ")[1]
        _, word, *arguments = path.split("/")
        if not await _BEHAVIOURS[word](sink, writer, [seen, *arguments]):
            return


def _answer(writer: Writer, status: int, body: bytes = b"", *headers: str) -> None:
    lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}", *headers, "", ""]
    if status in (204, 304):
        lines.pop(1)
        body = b""
    writer.write("\r\n".join(lines).encode("latin-1") + body)


async def _status(_sink: Sink, writer: Writer, arguments: list[Any]) -> bool:
    _answer(writer, int(arguments[1]), b"text", "Content-Type: text/plain")
    return True


async def _after(_sink: Sink, writer: Writer, arguments: list[Any]) -> bool:
    _answer(writer, 503, b"", f"Retry-After: {arguments[1].replace('%20', ' ')}")
    return True


async def _json(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    _answer(writer, 201, b'{"id": 12, "price": 1.50}', "Content-Type: application/json")
    return True


async def _echo(_sink: Sink, writer: Writer, arguments: list[Any]) -> bool:
    seen: Seen = arguments[0]
    text = "\n".join([seen.line, *(f"{k}: {v}" for k, v in seen.headers)]).encode()
    _answer(writer, 200, text + seen.body, "X-Echo: " + dict(seen.headers).get("X-Api-Key", ""))
    return True


async def _hang(sink: Sink, _writer: Writer, _arguments: list[Any]) -> bool:
    await sink.release.wait()
    return False


async def _drip(sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not sink.release.is_set():
        writer.write(b"x")
        await writer.drain()
        await asyncio.wait({asyncio.ensure_future(sink.release.wait())}, timeout=0.01)
    return False


async def _huge(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"y" * 65_536)
        await writer.drain()


async def _reset(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.transport.abort()
    return False


async def _cut(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
    return False


async def _badgzip(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    _answer(writer, 200, b"\x1f\x8b not gzip at all", "Content-Encoding: gzip")
    return True


async def _many(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for index in range(100):
        writer.write(b"X-%d: " % index + b"z" * 1_000_000 + b"\r\n")
        await writer.drain()
    return False


async def _garbage(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    return False


async def _redirect(sink: Sink, writer: Writer, arguments: list[Any]) -> bool:
    _answer(writer, int(arguments[1]), b"", f"Location: {sink.url}/status/200")
    return True


async def _cookie(_sink: Sink, writer: Writer, _arguments: list[Any]) -> bool:
    _answer(writer, 200, b"", "Set-Cookie: session=abc; Path=/")
    return True


_BEHAVIOURS: dict[str, Callable[[Sink, Writer, list[Any]], Awaitable[bool]]] = {
    "status": _status,
    "after": _after,
    "json": _json,
    "echo": _echo,
    "hang": _hang,
    "drip": _drip,
    "huge": _huge,
    "reset": _reset,
    "cut": _cut,
    "badgzip": _badgzip,
    "manyheaders": _many,
    "garbage": _garbage,
    "redirect": _redirect,
    "cookie": _cookie,
}
