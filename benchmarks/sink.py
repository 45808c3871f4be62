"""
A target that answers 200 as fast as Python can: `benchmarks.sink PORT [FILE [TLS [close]]]`.

It understands requests with a content-length and nothing else, which is what the router sends.
`GET /calls` is answered with how many other requests there were. FILE gets the idempotency key of
each of them, a line each, before it is answered. With the file TLS, of a certificate and its key,
it speaks https; with `close` each connection ends with its answer.
"""

import asyncio
import re
import ssl
import sys
from collections.abc import Callable
from pathlib import Path

import uvloop

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
LAST = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
KEY = re.compile(rb"(?i)\r\nidempotency-key: *([^\r]*)")
QUESTION = b"GET /calls "


class Quick(asyncio.Protocol):
    """
    One connection; requests may come in pieces or several at once. `heard` gets each one's head.
    """

    calls = 0
    closes = False
    heard: Callable[[bytes], object] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.held = b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.held, 0, end)
            past = end + 4 + (int(length[1]) if length else 0)
            if len(self.held) < past:
                return
            asked = self.held.startswith(QUESTION)
            if Quick.heard is not None and not asked:
                Quick.heard(self.held[:end])
            self.held = self.held[past:]
            answer = LAST if Quick.closes else ANSWER
            self.transport.write(told() if asked else answer)  # type: ignore[attr-defined]
            Quick.calls += not asked
            if Quick.closes and not asked:
                self.transport.close()


def told() -> bytes:
    count = str(Quick.calls).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(count), count)


class Keys:
    """Writes down the idempotency key of each call."""

    def __init__(self, place: Path) -> None:
        self.file = place.open("ab", buffering=0)

    def heard(self, head: bytes) -> None:
        found = KEY.search(head)
        self.file.write((found[1] if found else b"none") + b"\n")


async def serve(port: int, certificate: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    if context is not None:
        context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Quick, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


def main(port: str, place: str = "", certificate: str = "", ends: str = "") -> None:
    if place:
        Quick.heard = Keys(Path(place)).heard
    Quick.closes = ends == "close"
    uvloop.run(serve(int(port), certificate))


if __name__ == "__main__":
    main(*sys.argv[1:])
