"""Routers that share a PostgreSQL database: a target's limit is one for both of them."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.acceptance.conftest import Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import ENDPOINTS, code, environ

pytestmark = pytest.mark.long

LIMIT, SENT = 2, 8


class Gate:
    """A target that answers when it is told to, and counts who waits for that."""

    def __init__(self) -> None:
        self.came = self.inside = self.most = 0
        self.lock, self.answers = threading.Lock(), threading.Semaphore(0)
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                gate.enter()
                gate.answers.acquire()
                with gate.lock:
                    gate.inside -= 1
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def enter(self) -> None:
        with self.lock:
            self.came, self.inside = self.came + 1, self.inside + 1
            self.most = max(self.most, self.inside)

    def is_full(self, came: int) -> bool:
        assert self.most <= LIMIT
        return (self.came, self.inside) == (came, LIMIT)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    thread = threading.Thread(target=gate.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield gate
    gate.answers.release(10 * SENT)
    gate.server.shutdown()
    gate.server.server_close()
    thread.join()


def test_a_limit_is_one_for_both_and_whole_for_the_one_that_is_left(
    tmp_path: Path, send: Send, address: str, gate: Gate
) -> None:
    rules = (
        f"targets: {{slow: {{url: 'http://127.0.0.1:{gate.server.server_port}', "
        f"concurrency: {LIMIT}}}}}\n" + ENDPOINTS
    ) + "rules: [{id: all, from: all, actions: {http: {target: slow}}}]\n"
    known = {**environ(), "ROUTER_STORE": address}
    one, other = (Rig(tmp_path / name, rules, known) for name in ("one", "other"))
    with one.router() as first, other.router() as second:
        for number in range(SENT):
            assert send((one, other)[number % 2], code(), number).status_code == 200
        for came in range(LIMIT, SENT + 1):
            second.until(lambda came=came: gate.is_full(came), f"call {came}")  # type: ignore[misc]
            gate.answers.release()
        gate.answers.release(LIMIT - 1)
        assert first.stop() == 0, first.output()
        for number in range(SENT, 2 * SENT):
            assert send(other, code(), number).status_code == 200
        for came in range(SENT + LIMIT, 2 * SENT + 1):
            second.until(lambda came=came: gate.is_full(came), f"call {came}")  # type: ignore[misc]
            gate.answers.release()
    assert gate.most == LIMIT, "and never more"
