"""The sink: any method, kept alive, chunked or not."""

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from router.cli.sink_server import Received, as_block, as_line
from tests.unit.cli.conftest import MakeSink, Router


def raw(url: str, request: bytes) -> bytes:
    """What a whole connection answers to these bytes."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as link:
        link.sendall(request)
        link.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := link.recv(65_536):
            answer += chunk
        return answer


def test_statuses_come_in_turn_and_the_last_stays(sink: MakeSink) -> None:
    it = sink(503, 404, 200)
    with httpx.Client(base_url=it.url, trust_env=False) as client:
        assert [client.post("/x").status_code for _ in range(5)] == [503, 404, 200, 200, 200]
    assert [r.status for r in it.seen] == [503, 404, 200, 200, 200]


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
def test_every_method_is_welcome(method: str, sink: MakeSink) -> None:
    it = sink()
    answer = httpx.request(method, f"{it.url}/a?b=c", content=b"hi", trust_env=False)
    assert answer.status_code == 200
    assert (it.seen[0].method, it.seen[0].path, it.seen[0].body) == (method, "/a?b=c", b"hi")


def test_one_connection_carries_many_requests(sink: MakeSink) -> None:
    it = sink()
    one = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi"
    head = b"HEAD /b HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"POST /c HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    assert raw(it.url, one + head + last).count(b"HTTP/1.1 200 OK") == 3
    assert [r.path for r in it.seen] == ["/a", "/b", "/c"]


def test_a_chunked_body_is_put_together(sink: MakeSink) -> None:
    it = sink(204)
    head = b"POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    answer = raw(it.url, head + b"3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\ntrailer: 1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert it.seen[0].body == b"abc0123456789"


@pytest.mark.parametrize(
    "rest",
    [
        b"content-length: -1\r\n\r\n",
        b"content-length: 99999999999\r\n\r\n",
        b"content-length: 10\r\n\r\nabc",
        b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"transfer-encoding: chunked\r\n\r\n-5\r\n",
        b"transfer-encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_a_broken_body_is_refused_and_the_sink_lives_on(rest: bytes, sink: MakeSink) -> None:
    it = sink()
    assert b" 400 " in raw(it.url, b"POST / HTTP/1.1\r\nhost: x\r\n" + rest)
    assert it.seen == []
    assert httpx.post(it.url, trust_env=False).status_code == 200


def test_a_block_shows_what_matters_and_escapes_the_rest() -> None:
    headers = (("Host", "x"), ("X-Event", "a\x1bb"), ("Content-Length", "9"))
    block = as_block(Received("PUT", "/orders/1", headers, b'{"id":1}', 503))
    first, *rest = block.split("\n")
    assert first.endswith("  PUT /orders/1  -> 503")
    assert rest == ["  X-Event: a\\x1bb", "  {", '    "id": 1', "  }", ""]


def test_a_line_is_json() -> None:
    line = json.loads(as_line(Received("PUT", "/", (("A", "b"),), b"\xff", 200)))
    assert line == {
        "method": "PUT",
        "path": "/",
        "headers": [["A", "b"]],
        "body": "�",
        "status": 200,
    }


@pytest.mark.parametrize("statuses", ["", "abc", "200,", "99", "700", "200 503"])
def test_a_wrong_status_is_refused(statuses: str, router: Router) -> None:
    ran = router("sink", "0", "--status", statuses)
    assert ran.code == 2
    assert "503,503,200" in ran.err


def test_a_taken_port_is_said(router: Router, sink: MakeSink) -> None:
    port = str(urlsplit(sink().url).port)
    ran = router("sink", port)
    assert ran.code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ran.err
