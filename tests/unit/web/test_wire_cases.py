"""What a stranger may send, byte for byte, and the one answer each gets."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.unit.web.wire_client import PATH, Server, chunked, post, serving, until

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
TE = b"Transfer-Encoding: chunked\r\n"
FULL = b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


ACCEPTED = {
    "minimal": post(),
    "HTTP/1.0 without a Host": b"POST /wh_x HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
    "chunked": H + TE + b"\r\n" + chunked(b"{", b"}"),
    "chunk extension of 1 KB": H + TE + b"\r\n2;" + b"e" * 1000 + b"\r\n{}\r\n0\r\n\r\n",
    "latin-1 in a header": post(head=b"X-Name: \xe9\r\n"),
    "absolute-form target": post(path=b"http://h/wh_x"),
    "a query": post(path=b"/wh_x?a=1"),
    "expect 100-continue": post(head=b"Expect: 100-Continue\r\n"),
    "upgrade to h2c": post(head=b"Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    "no body at all": H + b"\r\n",
    "identity encoding": post(head=b"Content-Encoding: identity\r\n"),
    "odd content types": post(head=b"Content-Type: " + b";" * 5000 + b"\r\nContent-Type: a\r\n"),
    "exactly the largest body": post(b"x" * 1000),
    "100 headers": post(head=b"".join(b"X-%d: 1\r\n" % n for n in range(98))),
}


@pytest.mark.parametrize("data", ACCEPTED.values(), ids=ACCEPTED.keys())
async def test_it_accepts(server: Server, data: bytes) -> None:
    client = await server.connect()
    await client.send(data)
    answer = await client.response()
    while answer.status == 100:
        answer = await client.response()
    assert (answer.status, len(server.intake.accepted)) == (200, 1)


REFUSED: dict[str, tuple[bytes, int]] = {
    "no Host": (b"POST /wh_x HTTP/1.1\r\n" + FULL, 400),
    "two Hosts": (H + b"Host: h\r\n" + FULL, 400),
    "a malformed Host": (b"POST /wh_x HTTP/1.1\r\nHost: a b<\r\n" + FULL, 400),
    "an HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40, 400),
    "length and transfer coding": (H + TE + FULL, 400),
    "transfer coding and length": (H + b"Content-Length: 2\r\n" + TE + b"\r\n{}", 400),
    "gzip, chunked": (H + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked(b"{}"), 400),
    "transfer coding twice": (H + TE + TE + b"\r\n" + chunked(b"{}"), 400),
    "an unknown transfer coding": (H + b"Transfer-Encoding: xchunked\r\n\r\n", 400),
    "identity and length": (H + b"Transfer-Encoding: identity\r\n" + FULL, 400),
    "two equal lengths": (H + b"Content-Length: 2\r\n" + FULL, 400),
    "a list of lengths": (H + b"Content-Length: 2, 2\r\n\r\n{}", 400),
    "two different lengths": (H + b"Content-Length: 3\r\n" + FULL, 400),
    "a negative length": (H + b"Content-Length: -1\r\n\r\n", 400),
    "a signed length": (H + b"Content-Length: +2\r\n\r\n{}", 400),
    "a hexadecimal length": (H + b"Content-Length: 0x2\r\n\r\n{}", 400),
    "an empty length": (H + b"Content-Length:\r\n\r\n", 400),
    "a length of 23 digits": (H + b"Content-Length: 1" + b"0" * 22 + b"\r\n\r\n", 400),
    "a length above the limit": (H + b"Content-Length: 1001\r\n\r\nx", 413),
    "one byte too many": (post(b"x" * 1001), 413),
    "one byte too many, chunked": (H + TE + b"\r\n" + chunked(b"x" * 500, b"x" * 501), 413),
    "a chunk not ended": (H + TE + b"\r\n2\r\n{}XX0\r\n\r\n", 400),
    "a chunk size of letters": (H + TE + b"\r\nzz\r\n", 400),
    "a negative chunk size": (H + TE + b"\r\n-2\r\n", 400),
    "a chunk size that overflows": (H + TE + b"\r\n" + b"f" * 17 + b"\r\n", 400),
    "bare LF in chunk lines": (H + TE + b"\r\n2\n{}\n0\n\n", 400),
    "space before the colon": (H + b"X-A : 1\r\n" + FULL, 400),
    "an empty header name": (H + b": 1\r\n" + FULL, 400),
    "a folded header": (H + b"X-A: 1\r\n 2\r\n" + FULL, 400),
    "NUL in a header": (H + b"X-A: 1\x002\r\n" + FULL, 400),
    "bare CR in a header": (H + b"X-A: 1\r2\r\n" + FULL, 400),
    "LF alone": (post().replace(b"\r\n", b"\n"), 400),
    "a header of 20 KB": (post(head=b"X-A: " + b"a" * 20_000 + b"\r\n"), 431),
    "a header of 200 KB": (post(head=b"X-A: " + b"a" * 200_000 + b"\r\n"), 431),
    "a header that never ends": (H + b"X-A: " + b"a" * 1_000_000, 431),
    "101 headers": (post(head=b"".join(b"X-%d: 1\r\n" % n for n in range(99))), 431),
    "20,000 headers": (post(head=b"X: 1\r\n" * 20_000), 431),
    "a target of 100 KB": (post(path=b"/" + b"a" * 100_000), 414),
    "a target just too long": (post(path=b"/" + b"a" * 2048), 414),
    "OPTIONS *": (b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    "CONNECT": (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    "GET": (post(b"", method=b"GET"), 405),
    "HEAD": (b"HEAD /wh_x HTTP/1.0\r\n\r\n", 405),
    "PUT": (post(method=b"PUT"), 405),
    "DELETE": (post(method=b"DELETE"), 405),
    "an unknown method": (post(method=b"FOO"), 400),
    "a method of odd bytes": (post(method=b"P\xffST"), 400),
    "dots": (post(path=b"/a/../wh_x"), 404),
    "escaped dots": (post(path=b"/%2e%2e/wh_x"), 404),
    "an escaped slash": (post(path=b"/wh_%2fx"), 404),
    "an escaped letter": (post(path=b"/wh_%78"), 404),
    "two slashes": (post(path=b"//wh_x"), 404),
    "a slash behind": (post(path=b"/wh_x/"), 404),
    "%00": (post(path=b"/wh_%00"), 404),
    "%ff": (post(path=b"/wh_%ff"), 404),
    "%zz": (post(path=b"/wh_%zz"), 404),
    "an escaped line break": (post(path=b"/wh_a%0d%0aX:y"), 404),
    "the root": (post(path=b"/"), 404),
    "raw UTF-8 in the path": (post(path="/wh_é".encode()), 400),
    "a space in the path": (post(path=b"/wh x"), 400),
    "an empty id": (post(path=b"/wh_"), 404),
    "an id of 300 characters": (post(path=b"/wh_" + b"x" * 300), 404),
    "an id in upper case": (post(path=b"/WH_X"), 404),
    "another expectation": (post(head=b"Expect: foo\r\n"), 417),
    "a websocket": (
        b"GET /wh_x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        405,
    ),
    "garbage": (b"\x00\x01\x02garbage\r\n\r\n", 400),
    "gzip": (post(b"\x1f\x8b", head=b"Content-Encoding: gzip\r\n"), 415),
}


@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED.keys())
async def test_it_refuses_and_closes(server: Server, data: bytes, status: int) -> None:
    client = await server.connect()
    await client.send(data)
    head = await client.reader.readuntil(b"\r\n\r\n")
    rest = await client.rest()
    assert int(head.split(b" ")[1]) == status
    assert b"connection: close\r\n" in head
    assert rest in (b"",) or (rest.startswith(b'{"error":"') and len(rest) < 60)
    assert server.intake.accepted == []
    assert [refusal[2] for refusal in server.intake.refusals] in ([status], [])


async def test_a_refusal_names_its_endpoint(server: Server) -> None:
    await server.ask(post(head=b"Expect: foo\r\n"))
    await server.ask(post(path=b"/other", head=b"Expect: foo\r\n"))
    assert server.intake.refusals == [
        ("x", "expectation_failed", 417),
        (None, "expectation_failed", 417),
    ]


async def test_405_names_the_methods(server: Server) -> None:
    server.intake.entries[PATH].methods = frozenset({"POST", "GET"})
    answer = await server.ask(post(method=b"PUT"))
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


async def test_a_trailer_is_not_a_header(server: Server) -> None:
    body = b"2\r\n{}\r\n0\r\nX-Hub-Signature: forged\r\n\r\n"
    assert (await server.ask(H + TE + b"\r\n" + body)).status == 200
    assert b"x-hub-signature" not in dict(server.intake.accepted[0].headers)


async def test_the_request_arrives_as_sent(server: Server) -> None:
    await server.ask(post(b"\xff\x00{", path=b"/wh_x?a=%20&a=2", head=b"X-A: \xe9\r\nX-a: 2\r\n"))
    request = server.intake.accepted[0]
    assert (request.method, request.raw_path, request.query_string) == (
        "POST",
        PATH,
        b"a=%20&a=2",
    )
    assert request.body == b"\xff\x00{"
    assert [value for name, value in request.headers if name == b"x-a"] == [b"\xe9", b"2"]
    assert request.peer == "127.0.0.1"


async def test_a_refusal_ends_the_requests_piped_behind_it(server: Server) -> None:
    client = await server.connect()
    await client.send(post(b"1") + post(b"2", path=b"/none") + post(b"3"))
    first, second = await client.response(), await client.response()
    assert (first.status, second.status) == (200, 404)
    assert await client.rest() == b""
    assert [request.body for request in server.intake.accepted] == [b"1"]


async def test_pipelined_requests_all_succeed(server: Server) -> None:
    client = await server.connect()
    await client.send(post(b"1") + post(b"2") + post(b"3"))
    assert [(await client.response()).status for _ in range(3)] == [200, 200, 200]
    assert [request.body for request in server.intake.accepted] == [b"1", b"2", b"3"]


async def test_a_bad_request_behind_a_good_one_does_not_eat_its_answer(server: Server) -> None:
    client = await server.connect()
    await client.send(post(b"1") + b"\x00\x00 garbage\r\n\r\n")
    first, second = await client.response(), await client.response()
    assert (first.status, second.status) == (200, 400)
    assert await client.rest() == b""


async def test_100_continue_only_after_the_head_is_checked(server: Server) -> None:
    client = await server.connect()
    await client.send(H + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert (await client.response()).status == 100
    await client.send(b"{}")
    assert (await client.response()).status == 200
    refused = await server.ask(H + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n")
    assert refused.status == 413


async def test_an_early_413_survives_a_sender_that_goes_on(server: Server) -> None:
    client = await server.connect()
    await client.send(H + b"Content-Length: 5000000\r\n\r\n")
    client.writer.write(b"x" * 1_000_000)
    answer = await client.response()
    assert (answer.status, answer.closed) == (413, True)
    assert await client.rest() == b""


async def test_a_body_cut_short_is_nothing(server: Server) -> None:
    client = await server.connect()
    await client.send(H + b"Content-Length: 10\r\n\r\nabc")
    client.writer.write_eof()
    assert await client.rest() == b""
    assert server.intake.accepted == []
    assert server.intake.refusals == []


async def test_a_sender_that_half_closes_still_hears_the_answer(server: Server) -> None:
    server.intake.gate = asyncio.Event()
    client = await server.connect()
    await client.send(post())
    await server.intake.entered.wait()
    client.writer.write_eof()
    (connection,) = server.listener._server.server_state.connections
    await until(lambda: not connection.cycle.keep_alive)  # the server has seen the end
    server.intake.gate.set()
    answer = await client.response()
    assert (answer.status, answer.closed) == (200, True)
    assert await client.rest() == b""


async def test_fifty_empty_lines_may_come_first(server: Server) -> None:
    assert (await server.ask(b"\r\n" * 50 + post())).status == 200


async def test_endless_chunk_extensions_end(server: Server) -> None:
    client = await server.connect()
    await client.send(H + TE + b"\r\n")
    client.writer.write(b"1;" + b"e" * 1_000_000)
    assert (await client.response()).status == 400


async def test_nothing_names_the_server(server: Server) -> None:
    for data in (post(), post(path=b"/no"), b"\x00\r\n\r\n"):
        answer = await server.ask(data)
        assert not {"server", "date", "x-powered-by"} & answer.headers.keys()


async def test_a_connection_serves_many_requests(server: Server) -> None:
    client = await server.connect()
    for n in range(5):
        await client.send(post(b"%d" % n))
        assert not (await client.response()).closed
    assert len(server.intake.accepted) == 5
