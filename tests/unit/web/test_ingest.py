"""What the listener does with a request that the wire let through."""

import asyncio
from typing import Any, cast

import pytest

from router.model.settings import Limits
from router.web.budget import Budget
from router.web.load_shedding import LoadShedder
from tests.unit.web.wire_client import Reply, serving
from tests.waiting import until
from tests.wire.row import PATH, post

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"


async def test_405_names_the_methods() -> None:
    async with serving() as server:
        server.intake.entries[PATH].methods = frozenset({"POST", "GET"})
        answer = await server.ask(post(method=b"PUT"))
        assert (answer.status, answer.head["allow"]) == (405, "GET, POST")


async def test_text_is_not_sniffed() -> None:
    async with serving() as server:
        server.intake.reply = Reply(200, b"<b>", content_type="text/plain")
        answer = await server.ask(post())
        assert answer.head["content-type"] == "text/plain"
        assert answer.head["x-content-type-options"] == "nosniff"


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
        assert answer.head["retry-after"] == "5"


async def test_a_fault_of_ours_is_503() -> None:
    async with serving() as server:
        server.intake.fault = RuntimeError("s3cret")
        answer = await server.ask(post())
        assert (answer.status, answer.body) == (503, b'{"error":"unavailable"}')
        assert answer.head["retry-after"] == "5"
        server.intake.fault = None
        assert (await server.ask(post())).status == 200


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
            assert answer.head["retry-after"] == "5"
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
