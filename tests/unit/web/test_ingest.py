"""What the listener does with a request that the wire let through."""

import asyncio
import socket
import time
from typing import Any, cast

import pytest

from router.model.settings import Limits
from router.web.budget import Budget
from router.web.load_shedding import LoadShedder
from router.web.protocol import CROWDED_S
from tests.unit.web.wire_client import Reply, Server, serving
from tests.unit.web.wire_requests import PATH, post
from tests.waiting import until

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
BIG = 200_000


async def test_the_reply_goes_out_as_the_intake_made_it() -> None:
    async with serving() as server:
        server.intake.reply = Reply(401, b'{"error":"bad_signature"}', retry_after=7, close=True)
        answer = await server.ask(post())
        assert (answer.status, answer.body) == (401, b'{"error":"bad_signature"}')
        assert (answer.headers["retry-after"], answer.closed) == ("7", True)


async def test_a_refused_sender_learns_how_to_prove_itself() -> None:
    async with serving() as server:
        server.intake.reply = Reply(401, b"{}", challenge=b'Basic realm="webhooks"')
        answer = await server.ask(post())
        assert answer.headers["www-authenticate"] == 'Basic realm="webhooks"'


async def test_a_handshake_is_answered_with_headers_of_its_own() -> None:
    async with serving() as server:
        server.intake.reply = Reply(202, b"", headers=((b"x-hook-secret", b"abc"),))
        answer = await server.ask(post())
        assert (answer.status, answer.headers["x-hook-secret"]) == (202, "abc")


async def test_text_is_not_sniffed() -> None:
    async with serving() as server:
        server.intake.reply = Reply(200, b"<b>", content_type="text/plain")
        answer = await server.ask(post())
        assert answer.headers["content-type"] == "text/plain"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_no_memory_for_a_request_is_503() -> None:
    """Wherever it is missed: what was asked is right, and is to be asked again."""

    class Scarce:
        def __getattr__(self, name: str) -> Any:
            if name == "header_count":
                raise MemoryError
            return getattr(Limits(), name)

    async with serving() as server:
        server.intake.fault = MemoryError()
        answer = await server.ask(post())
        assert (answer.status, answer.body) == (503, b'{"error":"busy"}')
        server.wire.limits = cast(Limits, Scarce())
        answer = await server.ask(post())
        assert (answer.status, answer.body) == (503, b'{"error":"busy"}')
        assert answer.headers["retry-after"] == "5"


async def test_a_fault_of_ours_is_503() -> None:
    async with serving() as server:
        server.intake.fault = RuntimeError("s3cret")
        answer = await server.ask(post())
        assert (answer.status, answer.body) == (503, b'{"error":"unavailable"}')
        assert answer.headers["retry-after"] == "5"
        server.intake.fault = None
        assert (await server.ask(post())).status == 200


async def test_a_large_body_arrives_whole_and_gives_back_its_room() -> None:
    async with serving() as server:
        server.intake.entries[PATH].body_max = BIG
        body = bytes(range(256)) * (BIG // 256)
        assert (await server.ask(post(body))).status == 200
        assert server.intake.accepted[0].body == body
        assert server.budget.used == 0


async def test_the_largest_body_of_a_code_host_is_taken() -> None:
    async with serving() as server:
        server.intake.entries[PATH].body_max = size = 26_214_400
        assert (await server.ask(post(bytes(size)))).status == 200
        assert len(server.intake.accepted[0].body) == size
        assert (await server.ask(post(bytes(size + 1)))).status == 413


async def test_a_sender_that_goes_away_leaves_nothing() -> None:
    async with serving() as server:
        server.intake.entries[PATH].body_max = BIG
        client = await server.connect()
        await client.send(H + b"Content-Length: 150000\r\n\r\n" + b"x" * 70_000)
        await until(lambda: server.budget.used == 150_000)
        await client.close()
        await until(lambda: server.budget.used == 0)
        assert (server.intake.accepted, server.intake.refusals) == ([], [])


async def test_a_large_body_waits_for_room_then_gets_503() -> None:
    async with serving(in_flight_bytes=BIG, in_flight_wait_s=0.05) as server:
        server.intake.entries[PATH].body_max = BIG
        assert server.budget.take_whole(BIG // 2)
        answer = await server.ask(post(b"x" * 150_000))
        assert (answer.status, answer.body, answer.closed) == (503, b'{"error":"busy"}', True)
        assert server.intake.refusals == [("x", "busy", 503)]
        assert server.budget.used == BIG // 2


async def test_a_large_body_gets_the_room_that_becomes_free() -> None:
    async with serving(in_flight_bytes=BIG, in_flight_wait_s=30) as server:
        server.intake.entries[PATH].body_max = BIG
        assert server.budget.take_whole(BIG // 2)
        asking = asyncio.create_task(server.ask(post(b"x" * 150_000)))
        await until(lambda: len(server.budget._waiting) == 1)
        server.budget.give(BIG // 2)
        assert (await asking).status == 200


async def test_small_bodies_pass_while_large_ones_wait() -> None:
    async with serving(in_flight_bytes=BIG, in_flight_wait_s=30) as server:
        assert await server.budget.take(BIG * 7 // 8)
        assert (await server.ask(post(b"x" * 1000))).status == 200


async def test_a_chunked_body_takes_room_as_it_grows() -> None:
    async with serving(in_flight_bytes=BIG, in_flight_wait_s=30) as server:
        server.intake.entries[PATH].body_max = BIG
        client = await server.connect()
        await client.send(H + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await until(lambda: server.budget.used == 3)
        await client.send(b"0\r\n\r\n")
        assert (await client.response()).status == 200
        assert server.budget.used == 0


async def test_chunks_without_end_get_413() -> None:
    async with serving() as server:
        client = await server.connect()
        await client.send(H + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await until(lambda: server.budget.used == 3)
        await client.send(b"3e7\r\n" + b"x" * 999 + b"\r\n0\r\n\r\n")
        answer = await client.response()
        assert (answer.status, answer.closed) == (413, True)
        assert server.intake.refusals == [("x", "too_large", 413)]
        await until(lambda: server.budget.used == 0)


async def test_the_sender_behind_a_trusted_proxy_is_named() -> None:
    async with serving(trusted=("127.0.0.0/8", "10.0.0.0/8")) as server:
        await server.ask(post(head=b"X-Forwarded-For: 1.1.1.1, 203.0.113.9, 10.1.2.3\r\n"))
        assert server.intake.accepted[0].peer == "203.0.113.9"


async def test_a_stranger_cannot_name_himself() -> None:
    async with serving() as server:
        head = b"X-Forwarded-For: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\nX-Real-IP: 1.1.1.1\r\n"
        await server.ask(post(head=head))
        assert server.intake.accepted[0].peer == "127.0.0.1"


class TestBudget:
    async def test_waiters_are_served_in_order(self) -> None:
        budget = Budget(400, 30)
        assert await budget.take(300)
        order: list[str] = []

        async def wait(name: str, size: int) -> None:
            assert await budget.take(size)
            order.append(name)

        tasks = [asyncio.create_task(wait(*spec)) for spec in (("large", 250), ("small", 1))]
        await until(lambda: len(budget._waiting) == 2)
        budget.give(300)
        await asyncio.gather(*tasks)
        assert order == ["large", "small"]
        assert budget.used == 251

    async def test_one_too_large_for_any_budget_is_let_in_alone(self) -> None:
        budget = Budget(100, 0.01)
        assert await budget.take(1000)
        assert not await budget.take(1)

    async def test_giving_up_lets_the_next_one_in(self) -> None:
        budget = Budget(400, 30)
        assert await budget.take(200)
        large = asyncio.create_task(budget.take(250))
        await until(lambda: len(budget._waiting) == 1)
        small = asyncio.create_task(budget.take(50))
        await until(lambda: len(budget._waiting) == 2)
        large.cancel()
        with pytest.raises(asyncio.CancelledError):
            await large
        assert await small
        assert budget.used == 250

    async def test_a_cancelled_winner_gives_back(self) -> None:
        budget = Budget(400, 30)
        assert await budget.take(300)
        waiter = asyncio.create_task(budget.take(100))
        await until(lambda: len(budget._waiting) == 1)
        budget.give(300)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert budget.used == 0


async def test_who_waited_too_long_is_put_off_and_may_come_again_at_once() -> None:
    """A loop that is held for a second by one request refuses those that were read before it."""
    async with serving() as server:
        door = server.wire.door
        patience, door.patience = door.patience, AlwaysLate()
        client = await server.connect()
        await client.send(post(b"1"))
        answer = await client.response()
        assert (answer.status, answer.body, answer.closed) == (503, b'{"error":"busy"}', False)
        assert answer.headers["retry-after"] == "5"
        await client.send(H + b"Content-Length: 3\r\n\r\na")
        await until(lambda: server.budget.used == 3)
        await client.send(b"bc")
        assert ((await client.response()).status, server.budget.used) == (503, 0)
        door.patience = patience
        second = await server.ask(post(b"2"))
        assert second.status == 200
        assert [request.body for request in server.intake.accepted] == [b"2"]
        assert server.intake.refusals == [("x", "busy", 503)] * 2


def _connections(server: Server) -> Any:
    return server.wire.open


class Hopeless(LoadShedder):
    """Others were refused, and whoever comes now would wait too long, until there is hope."""

    hope = False

    def busy(self, now: float) -> bool:
        return True

    def hopeless(self, expected_s: float, now: float) -> bool:
        return not self.hope


async def test_who_would_wait_too_long_is_put_off_at_once_and_may_come_again() -> None:
    """Only whole usual requests to that endpoint, and nothing is kept of them."""
    async with serving() as server:
        server.wire.door.patience = patience = Hopeless()
        client = await server.connect()
        for data in (post(b"1"), post(b"2", path=PATH + b"?a=1"), post(b"3")):
            await client.send(data)
            answer = await client.response()
            assert (answer.status, answer.body, answer.closed) == (503, b'{"error":"busy"}', False)
            assert answer.headers["retry-after"] == "5"
        assert server.intake.refusals == [("x", "busy", 503)] * 3
        for data, status in (
            (post(b"4")[:-1], 200),  # its last byte comes later
            (post(b"x" * 1001), 413),
            (post(path=b"/other"), 404),
        ):
            other = await server.connect()
            await other.send(data)
            if status == 200:
                await until(lambda: server.budget.used == 1)
                await other.send(b"4")
            assert (await other.response()).status == status
        patience.hope = True
        await client.send(post(b"5"))
        assert (await client.response()).status == 200
        assert [request.body for request in server.intake.accepted] == [b"4", b"5"]
        assert server.budget.used == 0


async def test_what_only_looks_like_a_request_is_read_as_what_it_is() -> None:
    """It begins in the middle of a head."""
    async with serving() as server:
        server.wire.door.patience = Hopeless()
        client = await server.connect()
        await client.send(H + b"X: ")
        await until(lambda: any(c._at.in_head for c in _connections(server)))
        await client.send(post(b"1"))
        assert (await client.response()).status == 400


async def test_who_waited_long_to_be_accepted_is_put_off_unread() -> None:
    """Forty senders whose requests are there before the loop looks; all hear at once."""
    async with serving() as server:
        host, port = server.listener.bound
        links = [socket.create_connection((host, port)) for _ in range(40)]
        for link in links:
            link.sendall(post(b"1"))
        held_until = time.monotonic() + 2 * CROWDED_S
        while time.monotonic() < held_until:
            pass  # the loop is busy with something else
        server.wire.door.patience = AlwaysLate()
        pairs = [await asyncio.open_connection(sock=link) for link in links]
        answers = await asyncio.gather(*(reader.read() for reader, _ in pairs))
        for _, writer in pairs:
            writer.close()
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
        assert all(b"retry-after: 5" in answer for answer in answers)
        assert server.intake.accepted == []
        assert server.intake.refusals == [(None, "busy", 503)] * 40


async def test_a_crowd_that_waited_is_served_if_it_may_be() -> None:
    async with serving() as server:
        host, port = server.listener.bound
        links = [socket.create_connection((host, port)) for _ in range(40)]
        for link in links:
            link.sendall(post(b"1"))
        held_until = time.monotonic() + 2 * CROWDED_S
        while time.monotonic() < held_until:
            pass
        pairs = [await asyncio.open_connection(sock=link) for link in links]
        lines = await asyncio.gather(*(reader.readline() for reader, _ in pairs))
        for _, writer in pairs:
            writer.close()
        assert lines == [b"HTTP/1.1 200 OK\r\n"] * 40


class AlwaysLate(LoadShedder):
    """Nobody comes in time."""

    def spent(self, since: float, now: float) -> bool:
        assert 0 < since <= now
        return True
