"""How connections end whose sender does not read: no row of `tests.wire` can tell when."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from router.intake.reply import Reply
from router.model.settings import Limits
from router.web.budget import Budget
from router.web.connections import Wire
from router.web.door import Door
from router.web.load_shedding import LoadShedder
from router.web.protocol import PIPELINED_MAX, WireProtocol
from router.web.wire_request import WireRequest
from tests.fake_transport import FakeTransport
from tests.sim.loop import simulate
from tests.wire.row import post

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"
SECONDS = Limits(header_s=3, keep_alive_s=7, body_idle_s=5, body_total_s=11, answer_s=13)
LINGER_S = 2.0


class Silent(Door):
    """Takes requests and keeps them."""

    def __init__(self) -> None:
        super().__init__(Budget(1000, 1.0), LoadShedder())
        self.requests: list[WireRequest] = []
        self.refused: list[tuple[str, int]] = []

    def admit(self, request: WireRequest) -> None:
        request.body_max = 1000

    def count_refusal(self, raw_path: bytes, word: str, status: int, peer: str) -> None:
        self.refused.append((word, status))

    def offer(self, request: WireRequest) -> None:
        self.requests.append(request)


class World:
    """One connection from its start; times are seconds from there."""

    def __init__(self) -> None:
        self.door = Silent()
        self.refused = self.door.refused
        self.protocol = WireProtocol(Wire(SECONDS, self.door, linger_s=LINGER_S))
        self.time = asyncio.get_running_loop().time
        self.start = self.time()
        self.link = FakeTransport(self.protocol)

    async def at(self, seconds: float, data: bytes = b"") -> None:
        await asyncio.sleep(self.start + seconds - self.time())
        if data:
            self.link.arrives(data)
        await asyncio.sleep(0)

    async def ends(self, seconds: float, said: bytes, how: str) -> None:
        """Until then the connection says nothing more; then that, and ends so."""
        before = bytes(self.link.sent)
        await self.at(seconds - 0.01)
        assert (bytes(self.link.sent), self.link.how) == (before, "")
        await self.at(seconds + 0.01)
        assert bytes(self.link.sent[len(before) :])[9:12] == said
        assert self.link.how == how

    def answer(self) -> None:
        self.door.requests[-1].answer(Reply(200, b""))

    def half_an_answer(self) -> None:
        request = self.door.requests[-1]
        request.connection.send(request, b"HTTP/1.1 200 OK\r\n\r\nhalf", end=False)


async def half_an_answer(world: World) -> None:
    await world.at(1, b"GET /feed HTTP/1.1\r\nHost: h\r\n\r\n")
    await world.at(2)
    world.half_an_answer()
    assert world.link.sent.endswith(b"half")
    world.protocol.pause_writing()
    await world.at(10)
    world.protocol.resume_writing()
    await world.at(60)
    world.protocol.pause_writing()
    await world.ends(73, b"", "closed")
    assert world.refused == [("timeout", 503)]


async def answers_that_are_not_read(world: World) -> None:
    """Nothing more is begun for one who asks and does not read."""
    await world.at(1, post() + post())
    world.protocol.pause_writing()
    world.answer()
    await world.at(2, post())
    assert len(world.door.requests) == 1
    await world.ends(14, b"", "closed")
    assert len(world.door.requests) == 1


@pytest.mark.parametrize("life", [half_an_answer, answers_that_are_not_read])
def test_a_phase_ends(life: Callable[[World], Any]) -> None:
    async def lived() -> None:
        world = World()
        await life(world)
        world.link.lose()

    simulate(lived(), random.Random(1))


def test_so_many_requests_of_one_chunk_are_answered() -> None:
    async def lived() -> None:
        world = World()
        await world.at(1, post() * (PIPELINED_MAX + 9))
        for _ in range(PIPELINED_MAX):
            world.answer()
        assert world.link.sent.count(b"HTTP/1.1 200 ") == PIPELINED_MAX
        assert world.refused == [("busy", 503)]
        world.link.lose()

    simulate(lived(), random.Random(1))


@pytest.mark.parametrize("setting", ["header_s", "keep_alive_s", "body_idle_s", "answer_s"])
def test_no_deadline_passes_between_two_looks(setting: str) -> None:
    limits, door = msgspec.structs.replace(SECONDS, **{setting: 1.5}), Silent()
    assert Wire(limits, door, linger_s=2).step_s == 1.5
    assert Wire(SECONDS, door, linger_s=0.5).step_s == 0.5
