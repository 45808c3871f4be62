"""Deliveries of other routers ring this one's signal, and nobody asks while nobody listens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from router.errors import StoreUnavailable
from router.serving.store_changes import LOOK_S, StoreChanges
from router.store.reads import StoreReads
from router.store.values import FeedQuery, Following
from router.web.signal import Signal, SignalListener
from tests.clocks import ManualClock, settle
from tests.unit.serving.test_nodes import Lines


class Ledger:
    """How far it goes, and what it was asked."""

    def __init__(self) -> None:
        self.end = 7
        self.asked: list[FeedQuery] = []
        self.away = False

    async def following(self, asked: FeedQuery) -> Following:
        self.asked.append(asked)
        if self.away:
            raise StoreUnavailable("away")
        return Following((), str(self.end), more=False, removed=None)


class Rig:
    def __init__(self) -> None:
        self.clock, self.ledger, self.log = ManualClock(), Ledger(), Lines()
        self.signal = Signal(self.clock)
        reads, log = cast(StoreReads, self.ledger), cast(Any, self.log)
        self.changes = StoreChanges(self.signal, reads, clock=self.clock, log=log)

    async def rung(self, listener: SignalListener) -> bool:
        """Whether the next look tells the listener of a change."""
        listener.changed = False
        await self.clock.advance(LOOK_S)
        return listener.changed


@asynccontextmanager
async def running() -> AsyncIterator[Rig]:
    rig = Rig()
    tasks = asyncio.gather(rig.changes.run(), rig.signal.run())
    await settle()
    yield rig
    tasks.cancel()
    with suppress(asyncio.CancelledError):
        await tasks


async def test_a_delivery_of_another_router_rings_once() -> None:
    async with running() as rig:
        with rig.signal.listening("a") as listener:
            await settle()
            assert await rig.rung(listener) is False
            rig.ledger.end += 1
            assert await rig.rung(listener) is True
            assert await rig.rung(listener) is False
    first, *others = rig.ledger.asked
    assert (first.cursor, first.since) == (None, "now")
    assert [one.cursor for one in others] == ["7", "7", "8"]
    assert all(one.endpoints == {""} for one in rig.ledger.asked), "no delivery is read"


async def test_nobody_asks_while_nobody_listens() -> None:
    async with running() as rig:
        await rig.clock.advance(10 * LOOK_S)
        assert rig.ledger.asked == []
        with rig.signal.listening("a"):
            await settle()
            await rig.clock.advance(LOOK_S)
            assert len(rig.ledger.asked) == 2
        for _ in range(5):
            await rig.clock.advance(LOOK_S)
        assert len(rig.ledger.asked) == 2


async def test_however_many_come_and_go_it_asks_once_a_second() -> None:
    async with running() as rig:
        for _ in range(50):
            with rig.signal.listening("a"), rig.signal.listening("a"):
                await settle()
        assert len(rig.ledger.asked) == 1


async def test_who_listens_again_begins_at_the_end() -> None:
    async with running() as rig:
        for _ in range(2):
            with rig.signal.listening("a"):
                await settle()
            await rig.clock.advance(LOOK_S)
    assert [one.cursor for one in rig.ledger.asked] == [None, None]


async def test_a_store_that_is_away_is_said_once_and_asked_again() -> None:
    async with running() as rig:
        rig.ledger.away = True
        with rig.signal.listening("a") as listener:
            await settle()
            for _ in range(3):
                assert await rig.rung(listener) is False
            assert rig.log.said == ["the signal does not see the store"]
            rig.ledger.away = False
            assert await rig.rung(listener) is True
