"""What a stranger may send, byte for byte, and the one answer each gets."""

import asyncio
import io
from collections.abc import AsyncIterator, Iterator

import pytest

from router import log
from tests.unit.web.wire_client import Server, serving
from tests.unit.web.wire_requests import ACCEPTED, PATH, REFUSED, TE, H, chunked, post
from tests.waiting import until


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """What is logged meanwhile, from warnings up."""
    stream = io.StringIO()
    log.configure(stream=stream, level="warning")
    yield stream
    log.reset()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as running:
        yield running


@pytest.mark.parametrize("data", ACCEPTED.values(), ids=ACCEPTED.keys())
async def test_it_accepts(server: Server, data: bytes) -> None:
    client = await server.connect()
    await client.send(data)
    answer = await client.response()
    while answer.status == 100:
        answer = await client.response()
    assert (answer.status, len(server.intake.accepted)) == (200, 1)


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


@pytest.mark.parametrize("cut", [1, 7, 10_000])
async def test_blanks_around_a_value_are_no_part_of_it(server: Server, cut: int) -> None:
    """RFC 9110, section 5.5: however the bytes came, and inside a value they stay."""
    data = post(head=b"X-A:\t push \t\r\nX-B:b\r\nX-C: c \t c\r\nX-D: \t \r\nX-E:\r\n")
    client = await server.connect()
    for start in range(0, len(data), cut):
        await client.send(data[start : start + cut])
    assert (await client.response()).status == 200
    found = dict(server.intake.accepted[0].headers)
    bare = {name: found[name] for name in (b"x-a", b"x-b", b"x-c", b"x-d", b"x-e")}
    assert bare == {b"x-a": b"push", b"x-b": b"b", b"x-c": b"c \t c", b"x-d": b"", b"x-e": b""}


async def test_blanks_that_are_dropped_count_as_bytes_of_the_head(server: Server) -> None:
    answer = await server.ask(post(head=b"X-A: a" + b" " * 17_000 + b"\r\n"))
    assert (answer.status, answer.body) == (431, b'{"error":"headers_too_large"}')


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


@pytest.mark.parametrize("cut", [0, 1, 40, 100])
@pytest.mark.parametrize(
    "body", [b"Content-Length: 4\r\n\r\nbody", TE + b"\r\n" + chunked(b"bo", b"dy")]
)
async def test_a_body_behind_an_upgrade_is_the_body(server: Server, body: bytes, cut: int) -> None:
    """Some clients offer h2c with every request, and send the body all the same."""
    client = await server.connect()
    data = H + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" + body
    for piece in (data[:-cut], data[-cut:]) if cut else (data,):
        await client.send(piece)
        await asyncio.sleep(0)
    answer = await client.response()
    assert (answer.status, answer.closed) == (200, True)
    assert [request.body for request in server.intake.accepted] == [b"body"]
    assert await client.rest() == b""


async def test_nothing_behind_an_upgrade_but_its_body_is_looked_at(server: Server) -> None:
    client = await server.connect()
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    await client.send(post(b"1") + post(b"2", head=upgrade) + post(b"3") + b"\0garbage")
    assert [(await client.response()).status for _ in range(2)] == [200, 200]
    assert await client.rest() == b""
    assert [request.body for request in server.intake.accepted] == [b"1", b"2"]


async def test_an_upgrade_behind_an_upgrade_is_not_looked_at(server: Server) -> None:
    client = await server.connect()
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    await client.send(post(b"1") + post(b"2", head=upgrade) + post(b"3", head=upgrade))
    assert [(await client.response()).status for _ in range(2)] == [200, 200]
    assert await client.rest() == b""
    assert [request.body for request in server.intake.accepted] == [b"1", b"2"]


async def test_an_upgrade_does_not_lift_the_limit_of_a_body(server: Server) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    answer = await server.ask(H + TE + upgrade + b"\r\n" + chunked(b"x" * 600, b"x" * 600))
    assert (answer.status, server.intake.accepted) == (413, [])


async def test_a_long_chunked_request_may_be_followed_by_others(server: Server) -> None:
    client = await server.connect()
    await client.send(H + TE + b"\r\n" + chunked(b"{}") + post(b"x" * 900) * 100)
    assert [(await client.response()).status for _ in range(101)] == [200] * 101


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
    said = post(b"{}", head=b"Expect: 100-continue\r\n")  # the body is here already
    assert (await server.ask(said)).status == 200
    refused = await server.ask(H + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n")
    assert refused.status == 413


async def test_no_100_continue_is_sent_after_a_refusal(
    server: Server, log_lines: io.StringIO
) -> None:
    """A body that is refused in the very read in which its head asked whether to send it."""
    client = await server.connect()
    await client.send(H + TE + b"Expect: 100-continue\r\n\r\nzz\r\n")
    assert (await client.response()).status == 400
    assert await client.rest() == b""
    assert log_lines.getvalue() == ""


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
    (connection,) = server.wire.open
    await until(lambda: connection._ended)  # the server has seen the end
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
