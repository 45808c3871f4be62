"""The bridge of the admin listener: streamed answers, slow readers, who goes away."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from router.model.settings import Limits
from router.web.admin.asgi import UNREAD_BYTES, AsgiDoor
from router.web.budget import Budget
from router.web.connections import Wire
from router.web.load_shedding import LoadShedder
from router.web.server import Listener
from tests.waiting import until

ASK = b"%b /a%%20b?c HTTP/1.1\r\nHost: h\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b")]}


class App:
    """Streams `pieces` (None: without end), then fails if it is told to."""

    def __init__(self, pieces: int | None = 3, *, fails: bool = False) -> None:
        self.pieces, self.fails, self.sent = pieces, fails, 0
        self.scope: dict[str, Any] = {}
        self.over = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope, _ = scope, await receive()
        gone = asyncio.ensure_future(receive())
        await send(START)
        while not gone.done() and self.sent != self.pieces:
            await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
            self.sent += 1
            await asyncio.sleep(0)
        if self.fails:
            raise ValueError("a secret word")
        await send({"type": "http.response.body"})
        await gone
        self.over = True


@asynccontextmanager
async def served(app: App, **limits: Any) -> AsyncIterator[Listener]:
    door = AsgiDoor(app, Budget(1000, 1.0), LoadShedder())
    listener = Listener("127.0.0.1:0", Wire(Limits(**limits), door, linger_s=0.05))
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop(0)


async def _asked(listener: Listener, method: bytes = b"GET") -> tuple[Any, Any]:
    reader, writer = await asyncio.open_connection(*listener.bound)
    writer.write(ASK % method)
    return reader, writer


@pytest.mark.parametrize(
    ("pieces", "fails", "method", "has", "ends"),
    [
        (3, False, b"GET", b"transfer-encoding: chunked", b"\r\n0\r\n\r\n"),
        (3, False, b"HEAD", b"x-a: b", b"\r\n\r\n"),
        (3, True, b"GET", b"chunked", b"x\r\n"),
        (0, True, b"GET", b"500 Internal Server Error", b'"internal_server_error"}'),
    ],
    ids=["streamed", "HEAD", "fails in the middle", "fails at once"],
)
async def test_it_answers_as_the_application_does(
    pieces: int, fails: bool, method: bytes, has: bytes, ends: bytes
) -> None:
    app = App(pieces, fails=fails)
    async with served(app, keep_alive_s=0.1) as listener:
        reader, writer = await _asked(listener, method)
        said = await reader.read()
        writer.close()
        assert (has in said, said.endswith(ends)) == (True, True), said
        assert b"secret" not in said
        assert said.count(b"x" * 1000) == (pieces if method == b"GET" else 0)


async def test_the_scope_is_as_servers_make_it() -> None:
    app = App()
    async with served(app, keep_alive_s=0.1) as listener:
        reader, writer = await _asked(listener)
        await reader.read()
        scope, (host, port) = app.scope, writer.get_extra_info("sockname")
        writer.close()
        assert (scope["client"], scope["server"]) == ((host, port), listener.bound)
        names = ("scheme", "path", "raw_path", "query_string", "root_path", "headers")
        assert tuple(scope[name] for name in names) == (
            "http", "/a b", b"/a%20b", b"c", "", [(b"host", b"h")],
        )  # fmt: skip


async def test_who_does_not_read_holds_little_and_delays_nobody() -> None:
    endless, whole = App(None), App()
    async with served(endless, answer_s=60) as stuck, served(whole, keep_alive_s=0.1) as other:
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_BYTES)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, stuck.bound)
        await asyncio.get_running_loop().sock_sendall(raw, ASK % b"GET")
        await until(lambda: endless.sent > 0)
        for _ in range(20):
            reader, writer = await _asked(other)
            assert (await reader.read()).endswith(b"0\r\n\r\n")
            writer.close()
        assert endless.sent < 500, "a piece is sent when those before are read"
        raw.close()


@pytest.mark.parametrize("stalled", [False, True], ids=["reads", "stalls"])
async def test_an_application_hears_that_its_client_is_gone(stalled: bool) -> None:
    app = App(None)
    async with served(app, answer_s=60) as listener:
        reader, writer = await _asked(listener)
        await reader.readexactly(100)
        if stalled:
            writer.transport.pause_reading()
        writer.transport.abort()
        await until(lambda: app.over)


async def test_a_stalled_reader_is_dropped_at_the_deadline_of_an_answer() -> None:
    app = App(None)
    async with served(app, answer_s=0.2, header_s=0.2) as listener:
        _, writer = await _asked(listener)
        writer.transport.pause_reading()
        await until(lambda: app.over)
        writer.transport.abort()
