"""Slow, silent and too many senders. Nothing here sleeps: the server ends each wait itself."""

import asyncio

import pytest

from router.web.client_address import Peers
from tests.unit.web.wire_client import serving
from tests.unit.web.wire_requests import post
from tests.waiting import until

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
LONG = 30.0


async def test_a_silent_connection_is_closed() -> None:
    async with serving(header_s=0.05, keep_alive_s=LONG) as server:
        client = await server.connect()
        assert await client.rest() == b""


@pytest.mark.long
async def test_half_a_head_gets_408() -> None:
    async with serving(header_s=1.0) as server:
        client = await server.connect()
        await client.send(H)
        assert (await client.response()).status == 408
        assert await client.rest() == b""
        assert server.intake.refusals == [("x", "header_timeout", 408)]


@pytest.mark.long
async def test_an_http_0_9_line_ends() -> None:
    async with serving(header_s=1.0) as server:
        client = await server.connect()
        await client.send(b"GET /wh_x\r\n")
        assert (await client.rest())[9:12] in (b"400", b"408")
        assert server.intake.accepted == []


async def test_an_idle_connection_is_closed_after_its_answer() -> None:
    async with serving(keep_alive_s=0.05) as server:
        client = await server.connect()
        await client.send(post())
        assert (await client.response()).status == 200
        assert await client.rest() == b""
        assert server.intake.refusals == []


async def test_half_a_body_gets_408_and_leaves_nothing() -> None:
    async with serving(body_idle_s=0.05) as server:
        client = await server.connect()
        await client.send(H + b"Content-Length: 10\r\n\r\nabc")
        assert (await client.response()).status == 408
        assert await client.rest() == b""
        assert server.intake.refusals == [("x", "body_timeout", 408)]
        assert server.intake.accepted == []
        assert server.budget.used == 0


async def test_a_chunk_that_never_comes_gets_408() -> None:
    async with serving(body_idle_s=0.05) as server:
        head = H + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n"
        assert (await server.ask(head)).status == 408


async def test_a_dripping_body_ends_at_the_total() -> None:
    async with serving(body_idle_s=LONG, body_total_s=0.1) as server:
        client = await server.connect()
        await client.send(H + b"Content-Length: 999\r\n\r\n")

        async def drip() -> None:
            while not answer.done():
                client.writer.write(b"X")
                await asyncio.wait([answer], timeout=0.01)

        answer = asyncio.create_task(client.response())
        dripping = asyncio.create_task(drip())
        assert (await answer).status == 408
        await dripping


async def test_a_late_answer_is_503_and_the_work_goes_on() -> None:
    async with serving(answer_s=0.05) as server:
        server.intake.gate = asyncio.Event()
        answer = await server.ask(post())
        assert (answer.status, answer.headers["retry-after"], answer.closed) == (503, "5", True)
        assert server.intake.refusals == [("x", "timeout", 503)]
        server.intake.gate.set()
        await server.intake.finished.wait()
        assert len(server.intake.accepted) == 1


async def test_the_answer_is_due_from_the_last_byte_not_the_first() -> None:
    async with serving(answer_s=0.02, body_idle_s=0.2) as server:
        assert (await server.ask(H + b"Content-Length: 2\r\n\r\n{")).status == 408


async def test_a_peer_that_never_closes_is_dropped_after_lingering() -> None:
    async with serving(body_idle_s=0.05, linger_s=0.05) as server:
        client = await server.connect()
        await client.send(H + b"Content-Length: 10\r\n\r\nabc")
        assert await client.rest()  # the answer, and our side closed; the client's stays open
        await until(lambda: len(server.wire.open) == 0)


async def test_what_comes_while_lingering_is_not_read_as_a_request() -> None:
    async with serving(linger_s=LONG) as server:
        client = await server.connect()
        await client.send(H + b"Content-Length: 5000\r\n\r\n")
        assert (await client.response()).status == 413
        await client.send(post())
        assert await client.rest() == b""
        assert server.intake.accepted == []


async def test_connections_of_one_address_are_counted() -> None:
    async with serving(connections_per_address=2, peers=_Strangers()) as server:
        first, second = await server.connect(), await server.connect()
        for client in (first, second):
            await client.send(post())
            assert (await client.response()).status == 200
        third = await server.connect()
        assert await third.rest() == b""
        assert server.intake.refusals == [(None, "too_many_connections", 0)]
        await first.close()
        await until(lambda: server.wire.admit("127.0.0.1"))
        server.wire.release("127.0.0.1")
        fourth = await server.connect()
        await fourth.send(post())
        assert (await fourth.response()).status == 200


async def test_loopback_is_not_counted() -> None:
    async with serving(connections_per_address=1) as server:
        for client in [await server.connect() for _ in range(3)]:
            await client.send(post())
            assert (await client.response()).status == 200


class _Strangers(Peers):
    """As if loopback were the open network."""

    def unbounded(self, address: str) -> bool:
        return False
