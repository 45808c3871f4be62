"""The target that the routers of a fleet call: it keeps who called, from when until when."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

HEADER = re.compile(rb"(?i)\r\n(content-length|idempotency-key|router-attempt): *([^\r]*)")


@dataclass
class Call:
    """
    One call: `job` and `attempt` as its headers say, times of one monotonic clock in seconds.
    `status` None: the caller was gone before the answer.
    """

    path: str
    job: str
    attempt: int
    began: float
    ended: float | None = None
    status: int | None = None


class Target:
    """
    Answers with the status that `answer` says, after a drawn time or as many seconds as `delay`
    says. What calls a path below /held/ is answered when it is released. It understands requests
    with a content-length and nothing else, which is what a router sends.
    """

    def __init__(
        self,
        rng: random.Random,
        answer: Callable[[Call], int],
        delay: Callable[[Call], float] | None = None,
    ) -> None:
        self.answer = answer
        self.delay = delay or (lambda _: rng.uniform(0.005, 0.05))
        self.calls: list[Call] = []
        self.held: list[Callable[[], None]] = []

    def release(self) -> None:
        """Answer the held call that came first."""
        self.held.pop(0)()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Target"]:
        server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self), "127.0.0.1", 0
        )
        self.port: int = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()


class _Connection(asyncio.Protocol):
    """One caller's connection, one call after the other."""

    def __init__(self, target: Target) -> None:
        self._target, self._held = target, b""
        self._call: Call | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._call is not None:
            self._call.ended, self._call = self._loop.time(), None

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._held[: end + 2]
        headers = {name.lower(): value for name, value in HEADER.findall(head)}
        past = end + 4 + int(headers.get(b"content-length", 0))
        if len(self._held) < past:
            return
        self._held = self._held[past:]
        self._begin(head.split(b" ", 2)[1].decode(), headers)

    def _begin(self, path: str, headers: dict[bytes, bytes]) -> None:
        job, attempt = headers[b"idempotency-key"].decode(), int(headers[b"router-attempt"])
        call = self._call = Call(path, job, attempt, self._loop.time())
        self._target.calls.append(call)
        if path.startswith("/held/"):
            self._target.held.append(lambda: self._end(call))
        else:
            self._loop.call_later(self._target.delay(call), self._end, call)

    def _end(self, call: Call) -> None:
        if self._call is not call:
            return  # the caller is gone
        self._call = None
        call.ended, call.status = self._loop.time(), self._target.answer(call)
        self._transport.write(b"HTTP/1.1 %d Word\r\ncontent-length: 0\r\n\r\n" % call.status)
