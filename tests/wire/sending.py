"""One connection of a row: its bytes go out, the answers come in, and how it ends is found out."""

import asyncio
import contextlib
import ssl
import time
from dataclasses import dataclass, field

from tests.wire.row import Drip, HalfClose, Heard, Leave, Pause, Row, Step

PATIENCE_S = 10.0
"""Far more than anything takes that shall happen, and less than any deadline that shall not."""
MORE_S = 0.03


@dataclass
class Answer:
    status: int
    head: dict[str, str]
    body: bytes

    @property
    def closed(self) -> bool:
        """Whether it says that the connection ends."""
        return self.head.get("connection") == "close"


async def read_answer(
    reader: asyncio.StreamReader, *, bodiless: bool = False, cut: bool = False
) -> Answer | None:
    """
    The next answer, interim ones too; None at the end. One may be `cut` in its body: that to a HEAD
    announces what is not sent.

    Raises:
        ValueError: it is no HTTP.
        asyncio.IncompleteReadError: it ends in the middle.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    if not first.startswith("HTTP/1.1 "):
        raise ValueError(first)
    fields = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
    size = 0 if bodiless else int(fields.get("content-length", "0"))
    try:
        body = await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        if not cut:
            raise
        body = error.partial
    return Answer(int(first[9:12]), fields, body)


@dataclass
class Seen:
    """What came of a row's connection."""

    answers: list[Answer] = field(default_factory=list)
    end: str = "hangs"
    seconds: float = 0.0
    odd: str = ""

    def __str__(self) -> str:
        return " ".join([*(str(a.status) for a in self.answers), self.end]) + self.odd


class Link:
    """A connection; `answers` grows while it is read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.seen = Seen()
        self.heads_only = self.halved = False
        self.moved = asyncio.Event()
        self.over = False
        self.began = time.monotonic()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while answer := await read_answer(self.reader, bodiless=self.heads_only):
                self.seen.answers.append(answer)
                self.moved.set()
        except ConnectionError:
            self.seen.end = "breaks off"
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self.seen.odd = f" ({error!r})"
        self.over = True
        self.seen.seconds = time.monotonic() - self.began
        self.moved.set()

    async def heard(self, count: int) -> bool:
        """Wait for so many answers, or the end; whether they came."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while len(self.seen.answers) < count and not self.over:
                    self.moved.clear()
                    await self.moved.wait()
        return len(self.seen.answers) >= count

    async def send(self, data: bytes) -> None:
        """Say this; nobody may be left to hear it."""
        with contextlib.suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def take(self, step: Step) -> None:
        """One step of a row."""
        match step:
            case bytes():
                await self.send(step)
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Heard(count):
                await self.heard(count)
            case Drip(data, every_s):
                ends = time.monotonic() + PATIENCE_S
                while not (self.seen.answers or self.over or time.monotonic() > ends):
                    await self.send(data)
                    await asyncio.sleep(every_s)
            case HalfClose():
                self.halved = True
                self.writer.write_eof()
            case Leave():
                self.close()

    async def ends(self) -> str:
        """How the router ends it: by itself, or not at all."""
        if not await self.heard(10**6) and not self.over:
            return "hangs"
        if self.seen.end != "hangs" or self.seen.odd:
            return self.seen.end
        if self.halved:  # whether it reads on, nobody can tell who says no more
            return "closes"
        for _ in range(2):  # the first is answered by a reset if nobody reads any more
            await self.send(b"x")
            await asyncio.sleep(MORE_S)
        return "closes" if self.writer.transport.is_closing() else "lingers"

    def close(self) -> None:
        self._reading.cancel()
        self.writer.transport.abort()


async def opened(
    place: tuple[str, int], source: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Link:
    """A new connection, from this address."""
    name, began = "localhost" if tls else None, time.monotonic()
    pair = await asyncio.open_connection(
        *place, local_addr=(source, 0), ssl=tls, server_hostname=name, limit=1 << 20
    )
    link = Link(*pair)
    link.began = began  # the router may have accepted it long before we are told
    return link


async def played(link: Link, row: Row, further: bytes) -> Seen:
    """All of a row, on this connection; `further` is what anybody may ask on one that goes on."""
    link.heads_only = any(isinstance(s, bytes) and s.startswith(b"HEAD ") for s in row.sent)
    for step in row.sent:
        await link.take(step)
    seen, count = link.seen, len(row.statuses)
    if row.end == "left":
        seen.end = "left"
    elif row.end == "stays":
        if await link.heard(count) and not link.over:
            link.heads_only = False
            await link.send(further)
            if await link.heard(len(seen.answers) + 1):
                del seen.answers[-1]
                seen.end = "stays"
    else:
        seen.end = await link.ends()
    link.close()
    return seen
