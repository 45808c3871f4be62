"""A place to call: a small HTTP server in a thread that keeps what it gets and answers as told."""

import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Received:
    """One request as it came; `at` is monotonic seconds."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float


@dataclass
class Sink:
    """`answers` are the statuses of the first requests; after them, 200."""

    answers: list[int] = field(default_factory=list)
    port: int = 0
    received: list[Received] = field(default_factory=list)

    def __enter__(self) -> Self:
        sink = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                at = time.monotonic()
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {k.lower(): v for k, v in self.headers.items()}
                sink.received.append(Received(self.command, self.path, headers, body, at))
                self.send_response(sink.answers.pop(0) if sink.answers else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_POST = do_PUT = answer  # noqa: N815 (names that http.server asks for)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
