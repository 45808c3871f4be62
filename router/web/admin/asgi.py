"""The door of the admin listener: hands whole requests to an ASGI application."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from msgspec.structs import replace

from router import log
from router.web.admin.problems import PROBLEM, Rejected, problem_body
from router.web.answers import IngestRefusal, refusal, status_line
from router.web.budget import Budget
from router.web.door import Door
from router.web.load_shedding import LoadShedder
from router.web.wire_request import WireRequest

App = Callable[[Any, Any, Any], Awaitable[None]]

BODY_MAX = 1_048_576
UNREAD_BYTES = 4_096
"""The send buffer for an endless response, in bytes: what the system holds for a slow reader."""
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Bytes that would end a header line of a response, or hide in one."""
_WORDS = {
    413: f"a body has at most {BODY_MAX} bytes",
    500: "the router failed; its log says why",
    503: "the router has no room for this now",
}


class AsgiDoor(Door):
    """
    Calls `app`, which has no lifespan here, in a task for each request.

    A fault of the application is logged and answered with 500; a response that had begun is cut.
    """

    def __init__(self, app: App, budget: Budget, patience: LoadShedder) -> None:
        super().__init__(budget, patience)
        self._app = app
        self._log = log.get("web.admin")

    def admit(self, request: WireRequest) -> None:
        """Every path and method is the application's; a body has at most `BODY_MAX` bytes."""
        request.body_max = BODY_MAX
        if request.length > BODY_MAX:
            request.refused = IngestRefusal(413, "too_large")

    def offer(self, request: WireRequest) -> None:
        """Take a whole request, and answer it later."""
        self.spawn(self._ask(request))

    def refuse(self, request: WireRequest, refused: IngestRefusal) -> None:
        """Answer a request with a problem in JSON, as the application does."""
        self.release(request)
        found = Rejected(refused.status, _WORDS.get(refused.status, refused.word))
        body = problem_body(found)
        request.answer(replace(refusal(refused), body=body, content_type=PROBLEM))

    async def _ask(self, request: WireRequest) -> None:
        exchange = _Exchange(request)
        try:
            await self._app(_scope(request), exchange.receive, exchange.send)
        except Exception as error:  # noqa: BLE001 - the last net: the caller must get a response
            self._log.error("request failed", error=repr(error), exc_info=error)
        finally:
            self.release(request)
        if not request.answered and not request.answering:
            self.refuse(request, IngestRefusal(500, "internal"))
        elif not request.answered and not request.disconnected:  # the rest will not come
            request.answered, request.keep_alive = True, False
            request.connection.send(request, b"", end=True)


class _Exchange:
    """The `receive` and `send` of one request."""

    def __init__(self, request: WireRequest) -> None:
        self._request = request
        self._received = self._chunked = False
        self._head = b""
        self._over = asyncio.Event()
        request.when_gone = self._over.set

    async def receive(self) -> Any:
        """Return the request; then wait until its sender is gone or the response is complete."""
        if not self._received:
            self._received = True
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """
        Send a message of the response, once the client has read enough of those before.

        The head waits for the first piece of the body: one write, not two.
        """
        if message["type"] == "http.response.start":
            self._head = self._made_head(message)
            return
        request, more = self._request, message.get("more_body", False)
        await request.connection.drain()
        if request.disconnected or request.answered:
            return
        data, self._head = self._head + self._piece(message.get("body", b""), more), b""
        if not more:
            request.answered = True
            self._over.set()
        if data or not more:
            request.connection.send(request, data, end=not more)

    def _made_head(self, message: Any) -> bytes:
        request, status, headers = self._request, message["status"], list(message["headers"])
        names = {name.lower() for name, _ in headers}
        if (b"connection", b"close") in headers:
            request.keep_alive = False
        elif not request.keep_alive:
            headers.append((b"connection", b"close"))
        bodiless = request.method == "HEAD" or status in (204, 304)
        self._chunked = b"content-length" not in names and not bodiless
        if self._chunked:
            headers.append((b"transfer-encoding", b"chunked"))
            taken = request.connection.transport.get_extra_info("socket")
            with contextlib.suppress(OSError, AttributeError):  # closed already, or no socket
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD_BYTES)
        lines = [b"%b: %b" % pair for pair in headers]
        if any(map(_FORBIDDEN.search, lines)):
            raise ValueError("a header of the response has a control character")
        return b"\r\n".join([status_line(status)[:-2], *lines, b"", b""])

    def _piece(self, body: bytes, more: bool) -> bytes:
        if self._request.method == "HEAD":
            return b""
        if not self._chunked:
            return body
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        return chunk if more else chunk + b"0\r\n\r\n"


def _scope(request: WireRequest) -> dict[str, Any]:
    about = request.connection.transport.get_extra_info
    peer, here = about("peername") or ("", 0), about("sockname") or ("", 0)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": (here[0], here[1]),
        "client": (request.peer, peer[1]),
        "scheme": "http" if about("sslcontext") is None else "https",
        "method": request.method,
        "root_path": "",
        "path": unquote_to_bytes(request.path).decode("utf-8", "replace"),
        "raw_path": request.path,
        "query_string": request.query,
        "headers": list(request.headers),
        "state": {},
    }
