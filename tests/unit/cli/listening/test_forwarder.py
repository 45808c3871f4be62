"""The listener against a made-up router and target: order, places, failures, gaps."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from router.cli.listening.checkpoint import Checkpoint
from router.cli.listening.condition import ListenCondition
from router.cli.listening.forwarder import Forwarder, ForwardOptions
from router.cli.listening.plain import PlainView
from router.cli.listening.source import Backoff, ConnectionLost, SignalWatcher
from router.cli.listening.target import Forwarded
from router.errors import UsageError
from router.operator.followed_answers import FollowedDeliveries, FollowedDelivery
from router.providers import builtin
from tests.clocks import START_MS, ManualClock, settle
from tests.unit.cli.listening.conftest import Maker
from tests.waiting import until


class FakeRouter:
    """A ledger that grows, and a signal that is given by hand; both can be lost."""

    def __init__(self) -> None:
        self.ledger: list[FollowedDelivery] = []
        self.asked: list[tuple[str | None, str]] = []
        self.removed: int | None = 0
        self.other = False
        self.faults: list[Exception] = []
        self.page = 2
        self.open = 0
        self._signals: list[asyncio.Queue[bytes | None]] = []

    async def after(self, *, cursor: str | None, since: str) -> FollowedDeliveries:
        await asyncio.sleep(0)
        self.asked.append((cursor, since))
        if self.faults:
            raise self.faults.pop(0)
        start = int((cursor or "0").partition("-")[0])
        found = [one for one in self.ledger if int(one.cursor.partition("-")[0]) > start]
        taken = tuple(found[: self.page])
        last = taken[-1].cursor if taken else cursor or "0-"
        removed, self.removed = self.removed, 0
        other, self.other = self.other, False
        return FollowedDeliveries(taken, last, len(found) > len(taken), removed, other)

    @asynccontextmanager
    async def signal(self, idle_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        queue.put_nowait(b": listening\n\n")
        self._signals.append(queue)
        self.open += 1

        async def pieces() -> AsyncIterator[bytes]:
            while (piece := await queue.get()) is not None:
                yield piece

        try:
            yield pieces()
        finally:
            self.open -= 1

    def add(self, *arrived: FollowedDelivery) -> None:
        self.ledger += arrived
        self.say(b"data: changed\n\n")

    def say(self, piece: bytes | None) -> None:
        for queue in self._signals:
            queue.put_nowait(piece)


class FakeTarget:
    """Answers as told, then 200; remembers what it got."""

    def __init__(self) -> None:
        self.answers: list[int | None] = []
        self.got: list[str] = []

    async def forward(self, arrived: FollowedDelivery, attempt: int) -> Forwarded:
        await asyncio.sleep(0)
        self.got.append(arrived.id)
        status = self.answers.pop(0) if self.answers else 200
        error = None if status else "nothing listens there"
        return Forwarded(arrived, "http://t/", START_MS, attempt, status, 1.0, error)


class FakeView(PlainView):
    def __init__(self) -> None:
        self.tries: list[Forwarded] = []
        self.connections: list[str | None] = []
        self.gaps: list[tuple[int, bool]] = []

    def forwarded(self, forwarded: Forwarded) -> None:
        self.tries.append(forwarded)

    def connection(self, why_not: str | None, again_in_s: float) -> None:
        self.connections.append(why_not)

    def gap(self, removed: int, *, other: bool) -> None:
        self.gaps.append((removed, other))

    def target_down(self, to: str, why: str) -> None:
        raise AssertionError(why)

    def note(self, text: str, style: str = "") -> None:
        raise AssertionError(text)


class Rig:
    def __init__(self, path: Path) -> None:
        self.router, self.target, self.view = FakeRouter(), FakeTarget(), FakeView()
        self.path = path

    def backoff(self) -> Backoff:
        return Backoff(random.Random(1), 0.001, 0.002)

    @asynccontextmanager
    async def listening(self, **options: Any) -> AsyncIterator["asyncio.Task[int]"]:
        with Checkpoint(self.path, server="s", store="t") as self.checkpoint:
            router: Any = self.router
            target: Any = self.target
            self.listener = Forwarder(
                router,
                SignalWatcher(
                    router, backoff=self.backoff(), on_change=self.view.connection, idle_s=1
                ),
                target,
                self.checkpoint,
                self.view,
                options=ForwardOptions(**options),
                clock=ManualClock(),
                backoff=self.backoff,
            )
            task = asyncio.create_task(self.listener.run())
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "checkpoint")


async def test_everything_goes_in_order_and_the_place_follows(rig: Rig, make: Maker) -> None:
    first, second = [make() for _ in range(5)], [make() for _ in range(3)]
    rig.router.add(*first)
    async with rig.listening(since="start"):
        await until(lambda: len(rig.target.got) == 5 and rig.router.open)
        rig.router.add(*second)
        await until(lambda: rig.checkpoint.cursor == second[-1].cursor)
        asked = len(rig.router.asked)
        await settle(100)
        assert len(rig.router.asked) <= asked + 1  # nothing new: nothing is asked
    assert rig.target.got == [one.id for one in (*first, *second)]
    assert rig.router.asked[0] == (None, "start")
    assert rig.checkpoint.delivery == second[-1].id


async def test_the_place_does_not_pass_one_that_is_on_its_way(rig: Rig, make: Maker) -> None:
    """So whatever ends the listener, the next one begins with it."""
    one, two = make(), make()
    rig.router.add(one, two)
    rig.target.answers = [200, *[None] * 1000]
    async with rig.listening():
        await until(lambda: len(rig.target.got) > 3)
        assert rig.checkpoint.cursor == one.cursor
    rig.target.answers = []
    async with rig.listening() as running:
        await until(lambda: rig.checkpoint.cursor == two.cursor)
        assert not running.done()
    assert rig.target.got[-1] == two.id
    assert rig.target.got.count(one.id) == 1


async def test_a_target_that_is_not_there_is_waited_for(rig: Rig, make: Maker) -> None:
    one = make()
    rig.router.add(one)
    rig.target.answers = [None, None, 200]
    async with rig.listening():
        await until(lambda: rig.checkpoint.cursor == one.cursor)
    assert [(t.attempt, t.status, t.again_in_s is None) for t in rig.view.tries] == [
        (1, None, False),
        (2, None, False),
        (3, 200, True),
    ]


@pytest.mark.parametrize(
    ("on_error", "got", "code"),
    [("continue", [0, 1], None), ("retry", [0, 0, 1], None), ("stop", [0], 1)],
)
async def test_on_error(
    rig: Rig, make: Maker, on_error: str, got: list[int], code: int | None
) -> None:
    both = [make(), make()]
    rig.router.add(*both)
    rig.target.answers = [500]
    async with rig.listening(on_error=on_error) as running:
        if code is None:
            await until(lambda: rig.checkpoint.cursor == both[1].cursor)
        else:
            assert await running == code
            assert rig.checkpoint.cursor is None
    assert rig.target.got == [both[place].id for place in got]


@pytest.mark.parametrize(
    ("answer", "on_error", "code", "passed"),
    [(200, "continue", 0, True), (500, "continue", 1, True), (None, "continue", 1, False),
     (None, "retry", 1, False), (500, "stop", 1, False)],
)  # fmt: skip
async def test_once_ends_when_all_is_forwarded(
    rig: Rig, make: Maker, answer: int | None, on_error: str, code: int, passed: bool
) -> None:
    one = make()
    rig.router.add(one)
    rig.target.answers = [answer]
    async with rig.listening(once=True, on_error=on_error) as running:
        assert await running == code
    assert (rig.checkpoint.cursor == one.cursor) is passed
    assert rig.router.open == 0


async def test_a_gap_is_reported(rig: Rig, make: Maker) -> None:
    rig.router.removed = 7
    rig.router.add(make())
    async with rig.listening(once=True) as running:
        await running
    rig.router.other = True
    async with rig.listening(once=True) as running:
        await running
    assert rig.view.gaps == [(7, False), (0, True)]


async def test_what_a_store_does_not_number_is_no_gap(rig: Rig, make: Maker) -> None:
    """Some may be gone, or none; a place in another ledger is one all the same."""
    for rig.router.other in (False, True):
        rig.router.removed = None
        rig.router.add(one := make())
        async with rig.listening(once=True) as running:
            assert await running == 0
        assert rig.target.got[-1] == one.id
    assert rig.view.gaps == [(0, True)]


async def test_a_lost_feed_is_said_and_opened_again(rig: Rig, make: Maker) -> None:
    async with rig.listening():
        await until(lambda: rig.router.open)
        rig.router.say(None)
        await until(lambda: rig.view.connections.count(None) == 2)
        rig.router.add(make())
        await until(lambda: rig.target.got)
    assert rig.view.connections == [None, "the router has closed the connection", None]


async def test_a_router_that_cannot_be_asked_is_asked_again(rig: Rig, make: Maker) -> None:
    rig.router.add(make())
    rig.router.faults = [ConnectionLost("it is down"), ConnectionLost("it is down")]
    async with rig.listening():
        await until(lambda: rig.target.got)
    assert "it is down" in rig.view.connections


async def test_a_router_that_refuses_us_ends_it(rig: Rig) -> None:
    rig.router.faults = [UsageError("no")]
    async with rig.listening() as running:
        with pytest.raises(UsageError):
            await running


async def test_where_leaves_out_but_the_place_moves_on(rig: Rig, make: Maker) -> None:
    no, yes, last = make(body=b'{"id": 1}'), make(), make(body=b'{"id": 2}')
    rig.router.add(no, yes, last)
    condition = ListenCondition("payload.id == 7", builtin())

    async with rig.listening(condition=condition, once=True) as running:
        assert await running == 0
    assert rig.target.got == [yes.id]
    assert rig.checkpoint.cursor == last.cursor


async def test_what_is_saved_is_said(rig: Rig, make: Maker) -> None:
    rig.router.add(make())

    async with rig.listening(save=lambda arrived: f"/saved/{arrived.id}", once=True) as running:
        await running
    assert rig.view.tries[0].saved == f"/saved/{rig.target.got[0]}"


async def test_again_changes_no_place_and_hurry_ends_a_wait(rig: Rig, make: Maker) -> None:
    one = make()
    rig.router.add(one)
    rig.target.answers = [None]
    rig.backoff = lambda: Backoff(random.Random(1), 3600, 3600)  # type: ignore[method-assign]
    async with rig.listening():
        await until(lambda: rig.view.tries)
        await asyncio.sleep(0)
        rig.listener.hurry()
        await until(lambda: rig.checkpoint.cursor == one.cursor)
        forwarded = await rig.listener.again(one, 2)
    assert (forwarded.attempt, rig.checkpoint.cursor) == (2, one.cursor)
    assert rig.target.got == [one.id] * 3


def test_waits_grow_to_a_bound_and_begin_anew() -> None:
    waits = Backoff(random.Random(1), 1.0, 8.0)
    lengths = [waits.next_s() for _ in range(100)]
    for length, most in zip(lengths, [1, 2, 4, 8, *[8] * 96], strict=True):
        assert most / 2 <= length <= most
    waits.over()
    assert waits.next_s() <= 1
