"""Small POSTs that come together go through the intake together; each gets its own answer."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest

from router.clock import Clock, SystemClock
from router.intake.reply import Reply
from router.web.budget import Budget
from router.web.ingest import Ingest
from router.web.ingest_group import GROUP_BYTES, GROUP_MAX, TURN_S, IngestGroup
from router.web.wire_request import SMALL_BYTES, WireRequest
from tests.unit.web.wire_client import Entry, FakeIntake, Server, serving
from tests.waiting import until
from tests.wire.row import PATH, post

H = b"POST /wh_x HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(in_flight_bytes=4_000_000) as running:
        running.intake.entries[PATH].body_max = 1_000_000
        yield running


class Sender:
    """A connection as the group sees it: what it was answered, in which order."""

    def __init__(self, heard: list[tuple[bytes, int]]) -> None:
        self.heard = heard

    def answer(self, request: WireRequest, reply: Reply) -> None:
        self.heard.append((request.body[:9].rstrip(b"."), reply.status))


class Costly(SystemClock):
    """One by which time passes only while somebody is judged at a cost."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed


class Group:
    """A group with a made-up intake; `offer` gives it a request of `endpoint`."""

    def __init__(
        self, limit: int = 10_000_000, clock: Clock | None = None, alone_s: float = 0.0
    ) -> None:
        self.intake, self.heard = FakeIntake(), list[tuple[bytes, int]]()
        self.budget = Budget(limit, 1.0)
        given: Any = self.intake
        clock = clock or Costly()
        self.door = door = Ingest(given, clock=clock, budget=self.budget)
        self.real = door.group = IngestGroup(
            door, given, door._inbound, clock=clock, alone_s=alone_s
        )

    def offer(self, endpoint: str, text: str, size: int = 0) -> WireRequest:
        made = WireRequest("POST", (PATH, b""), (), "192.0.2.1")
        sender: Any = Sender(self.heard)
        made.connection, made.endpoint = sender, Entry(endpoint)
        made.whole_since = asyncio.get_running_loop().time()
        made.body, made.more_body = text.encode().ljust(size, b"."), False
        self.door.offer(made)
        return made

    async def answered(self, count: int) -> list[bytes]:
        await until(lambda: len(self.heard) >= count)
        assert len(self.heard) == count
        assert self.budget.used == 0
        return [text for text, _ in self.heard]


async def test_no_empty_group_follows_one_that_began_late() -> None:
    """uvloop asks its timers first: the next group may begin before this one has."""
    group = Group(alone_s=0.0)
    group.offer("x", "1")
    await group.answered(1)
    await until(lambda: not group.door.tasks)
    assert group.intake.groups == [1]


async def test_what_a_group_has_no_room_for_goes_next() -> None:
    group = Group()
    for n in range(2 * GROUP_MAX + 1):
        group.offer("x", str(n))
    await group.answered(2 * GROUP_MAX + 1)
    assert group.intake.groups == [GROUP_MAX, GROUP_MAX, 1]


async def test_a_group_has_an_end_in_bytes() -> None:
    group, whole = Group(), GROUP_BYTES // SMALL_BYTES
    for n in range(whole + 1):
        group.offer("x", str(n), SMALL_BYTES)
    await group.answered(whole + 1)
    assert group.intake.groups == [whole, 1]


def judged_for(seconds: float, alone_s: float = 0.0) -> Group:
    """A group of whose requests each takes so long to be judged."""
    clock = Costly()
    group = Group(clock=clock, alone_s=alone_s)

    def judging(_arrival: object) -> None:
        clock.passed += seconds

    group.intake.judging = judging
    return group


async def test_a_group_ends_with_its_turn_and_the_rest_goes_next_in_the_same_order() -> None:
    group = judged_for(TURN_S / 2)
    for n in range(3):
        group.offer("x", f"x{n}")
        group.offer("y", f"y{n}")
    heard = await group.answered(6)
    assert heard == [b"x0", b"y0", b"x1", b"y1", b"x2", b"y2"]
    assert group.intake.groups == [2, 2, 2]


async def test_after_a_whole_turn_nobody_waits_for_the_commit() -> None:
    group = judged_for(2 * TURN_S, alone_s=3600.0)
    group.intake.gate = asyncio.Event()
    for n in range(3):
        group.offer("x", str(n))
    await until(lambda: group.intake.groups == [1, 1, 1])
    assert group.heard == []
    group.intake.gate.set()
    await group.answered(3)


async def test_what_a_wait_is_expected_to_be_is_what_it_becomes() -> None:
    """Each takes a tenth of a second; an endpoint whose turn comes next waits for nobody."""
    group = judged_for(0.1)
    busy, calm = group.offer("busy", "0").endpoint, cast(Any, Entry("other"))
    for n in range(1, 40):
        group.offer("busy", str(n))
    await until(lambda: len(group.heard) >= 20)
    left = 40 - len(group.heard)
    assert group.real.expected_s(busy) == pytest.approx(0.1 * left, rel=0.05)
    assert group.real.expected_s(calm) == 0.0
    group.offer("other", "o")
    assert group.real.expected_s(busy) == pytest.approx(0.2 * left, rel=0.05)
    await group.answered(41)
    assert group.real.expected_s(busy) == 0.0


async def test_one_stall_does_not_make_waits_look_long_for_ever() -> None:
    """Who is refused for his expected wait cannot show that it would have been shorter."""
    group = judged_for(100.0)
    group.offer("x", "1")
    group.offer("x", "2")
    await group.answered(2)
    group.intake.judging = lambda _arrival: None
    for n in range(3, 30):
        await group.answered(n - 1)
        group.offer("x", str(n))
    endpoint = group.offer("x", "30").endpoint
    assert 0.0 < group.real.expected_s(endpoint) < 0.001
    await group.answered(30)


async def test_what_waits_holds_its_memory() -> None:
    group = judged_for(2 * TURN_S)
    for n in range(3):
        group.offer("x", str(n), 100)
    assert group.budget.used == 300
    await group.answered(3)


async def test_who_comes_while_a_group_is_committed_makes_the_next_one() -> None:
    """They wait for that commit, and go together."""
    group = Group(alone_s=3600.0)
    group.intake.gate = asyncio.Event()
    group.offer("x", "1")
    await group.intake.entered.wait()
    for n in range(2, 5):
        group.offer("x", str(n))
        await asyncio.sleep(0)
    assert group.intake.groups == [1]
    group.intake.gate.set()
    assert await group.answered(4) == [b"1", b"2", b"3", b"4"]
    assert group.intake.groups == [1, 3]


async def test_who_went_before_his_turn_is_nobody_s_delivery() -> None:
    group = Group()
    group.offer("x", "1").disconnected = True
    group.offer("x", "2")
    await group.answered(1)
    assert [request.body for request in group.intake.accepted] == [b"2"]


async def test_a_fault_of_ours_is_503_for_all_who_have_no_answer() -> None:
    group = Group()
    group.intake.fault = RuntimeError("s3cret")
    group.offer("x", "1")
    group.offer("x", "2")
    await group.answered(2)
    assert group.heard == [(b"1", 503), (b"2", 503)]


async def test_a_fault_before_anybody_was_looked_at_is_503_for_each_too() -> None:
    group = Group()

    async def failing(_arrivals: object, _answer: object) -> None:
        raise RuntimeError("s3cret")

    given: Any = group.intake
    given.accept_group = failing
    for n in range(3):
        group.offer("x", str(n))
    await group.answered(3)
    assert group.heard == [(b"0", 503), (b"1", 503), (b"2", 503)]


async def test_small_bodies_go_in_groups_however_they_are_sent(server: Server) -> None:
    """Whole, in pieces, chunked, with a query; a larger one goes by itself."""
    client = await server.connect()
    for data in (post(), post(path=b"/wh_x?a=1"), post(b"x" * SMALL_BYTES)):
        await client.send(data)
        assert (await client.response()).status == 200
    await client.send(H + b"Content-Length: 4\r\n\r\nab")
    await until(lambda: server.budget.used == 4)
    await client.send(b"cd")
    assert (await client.response()).status == 200
    await client.send(H + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    assert (await client.response()).status == 200
    assert server.intake.groups == [1] * 5
    await client.send(post(b"y" * (SMALL_BYTES + 1)))
    assert (await client.response()).status == 200
    assert server.intake.groups == [1] * 5
    bodies = [request.body for request in server.intake.accepted][:5]
    assert bodies == [b"{}", b"{}", b"x" * SMALL_BYTES, b"abcd", b"{}"]
    assert [request.query_string for request in server.intake.accepted][1] == b"a=1"
    assert server.budget.used == 0


async def test_an_idle_connection_holds_no_request(server: Server) -> None:
    client = await server.connect()
    await client.send(post(b"x" * SMALL_BYTES))
    assert (await client.response()).status == 200
    (connection,) = server.wire.open
    assert connection._requests == []
    assert not [one for one in vars(connection).values() if isinstance(one, WireRequest)]


@pytest.fixture
def no_collections() -> Iterator[None]:
    """What is in a cycle stays."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("method", [b"POST", b"GET"])
async def test_a_connection_that_is_gone_waits_for_no_collection(
    server: Server, method: bytes
) -> None:
    client = await server.connect()
    connections = server.wire.open
    await until(lambda: len(connections) == 1)
    gone = [weakref.ref(one) for one in connections]
    await client.send(post(method=method))
    await client.response()
    await client.close()
    await until(lambda: gone[0]() is None)
