"""A small HTTP server that prints what it receives: any method, kept alive, chunked or not."""

import http.server
import socketserver
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from router.legible import pretty, visible

BODY_MAX = 32 * 1024 * 1024
_LINE_MAX = 65_536
_IDLE_S = 60.0
_DULL = frozenset(
    {"host", "user-agent", "accept", "accept-encoding", "connection"}
    | {"content-length", "transfer-encoding"}
)


class Received(msgspec.Struct, frozen=True):
    """One request as the sink got it, and what it answered."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    status: int


def as_block(received: Received) -> str:
    """For people: the interesting headers and the body, indented."""
    now = datetime.now().astimezone().strftime("%H:%M:%S")
    first = f"{now}  {received.method} {visible(received.path)}  -> {received.status}"
    headers = [
        f"  {visible(n)}: {visible(v)}" for n, v in received.headers if n.lower() not in _DULL
    ]
    body = [f"  {line}" for line in pretty(received.body).split("\n")] if received.body else []
    return "\n".join([first, *headers, *body, ""])


def as_line(received: Received) -> str:
    """For programs: one JSON object."""
    whole = {**msgspec.structs.asdict(received), "body": received.body.decode("utf-8", "replace")}
    return msgspec.json.encode(whole).decode()


class BadBodyError(Exception):
    """The request's body cannot be read; the text says why."""


class SinkServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """
    Listens on 127.0.0.1:`port` (0: any free one, then in `server_port`).

    Answers `statuses` in turn and then its last one for ever. `write` gets each request as
    `shape` puts it, one at a time.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        statuses: Sequence[int],
        write: Callable[[str], object],
        shape: Callable[[Received], str] = as_block,
    ) -> None:
        self._statuses = list(statuses)
        self._write = write
        self._shape = shape
        self._turn = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # The base class asks the name service for our own name, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def next_status(self) -> int:
        """The status of the next answer."""
        with self._turn:
            return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]

    def show(self, received: Received) -> None:
        """Print one request, whole."""
        with self._turn:
            self._write(self._shape(received))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes away in the middle is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "router-sink"
    sys_version = ""
    timeout = _IDLE_S
    disable_nagle_algorithm = True  # else a kept connection waits 40 ms for each answer
    server: SinkServer

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The base class looks for do_GET, do_POST, …: every method is welcome here.
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: what is worth saying is said by `show`."""

    def _answer(self) -> None:
        try:
            body = self._body()
        except BadBodyError as error:
            self.close_connection = True
            self._reply(400, str(error).encode())
            return
        status = self.server.next_status()
        headers = tuple((name, value) for name, value in self.headers.items())
        self.server.show(Received(self.command, self.path, headers, body, status))
        self._reply(status, b'{"sink":true}\n')

    def _reply(self, status: int, body: bytes) -> None:
        bodiless = status in (204, 304)
        self.send_response(status)
        if not bodiless:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not bodiless and self.command != "HEAD":
            self.wfile.write(body)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunked()
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > BODY_MAX:
            raise BadBodyError(f"Content-Length {length[:40]!r} is not a size the sink takes")
        return self._exactly(int(length))

    def _chunked(self) -> bytes:
        parts: list[bytes] = []
        total = 0
        while size := self._chunk_size():
            total += size
            if total > BODY_MAX:
                raise BadBodyError("the body is too long for the sink")
            parts.append(self._exactly(size))
            self._exactly(2)
        while self.rfile.readline(_LINE_MAX).strip():
            pass  # trailers
        return b"".join(parts)

    def _chunk_size(self) -> int:
        line = self.rfile.readline(_LINE_MAX).split(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            raise BadBodyError("a chunk has no size") from None
        if size < 0:
            raise BadBodyError("a chunk's size is negative")
        return size

    def _exactly(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) != size:
            raise BadBodyError("the body ended early")
        return data
