"""The life of a node beside others: on the model of a shared store, by a manual clock."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.legible import moment
from router.model.share import NO_REPORT, ShareReport, ShareRow, Shares, TargetUse
from router.serving.nodes import Membership, join
from router.serving.store_time import StoreTime
from router.store.values import STOPPING, Beats, NodeCard, Recovered
from tests.clocks import ManualClock, SetClock, settle
from tests.conformance.model_nodes import ModelNodes

CARD = NodeCard("n", "1", "g")
GONE_S, LATE_S, BEAT_S, RECLAIM_S = 15.0, 10.0, 1.0, 5.0


class Lines:
    """A log that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __getattr__(self, level: str) -> Callable[..., None]:
        return lambda text, **_: self.said.append(text)


class Store(ModelNodes):
    """It can be away, or hang."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.away: set[str] = set()
        self.hangs: asyncio.Event | None = None
        self.division_ends: asyncio.Event | None = None
        self.division_answered: asyncio.Event | None = None
        self.takes, self.clock, self.ahead = 0.0, clock, 0

    def _reached(self, verb: str) -> None:
        if verb in self.away or "all" in self.away:
            raise StoreUnavailable(verb)

    async def join(self, card: NodeCard) -> str:
        self._reached("join")
        return await super().join(card)

    async def beat(
        self, node: str, card: NodeCard, report: ShareReport = NO_REPORT
    ) -> Beats | None:
        if self.hangs is not None and node != "2":
            await self.hangs.wait()
        if self.takes:
            await self.clock.sleep(self.takes)
        self._reached("beat")
        beats = await super().beat(node, card, report)
        return beats and replace(beats, now=beats.now + self.ahead)

    async def declare_gone(self, node: str, beats: int) -> bool:
        self._reached("declare_gone")
        return await super().declare_gone(node, beats)

    async def divide(self, *given: Any, **named: Any) -> Shares | None:
        self._reached("divide")
        if self.division_ends is not None:
            await self.division_ends.wait()
        shares = await super().divide(*given, **named)
        if self.division_answered is not None:
            await self.division_answered.wait()
        return shares


class DispatchShares:
    """Goes by what it is given, and divides as it is told, once; notes both."""

    def __init__(self) -> None:
        self.uses: dict[str, TargetUse] = {}
        self.given: list[Shares] = []
        self.rows: list[Sequence[ShareRow]] = []
        self.gives: dict[str, Shares] = {}

    def report(self) -> ShareReport:
        return ShareReport(self.given[-1].version if self.given else 0, self.uses)

    def take_over(self, shares: Shares) -> None:
        if shares.version > self.report().version:
            self.given.append(shares)

    def divided(self, rows: Sequence[ShareRow]) -> list[ShareRow]:
        self.rows.append(rows)
        gives, self.gives = self.gives, {}
        return [replace(row, shares=gives[row.node]) for row in rows if row.node in gives]


class Dispatch:
    """Notes what it is told."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.told: list[tuple[float, str]] = []
        self.until = 0.0
        self.shares = DispatchShares()
        self.reclaim: Callable[[], Any] = lambda: None
        self.recovered = Recovered(0, 0)

    def start_until(self, moment: float) -> None:
        self.until = moment

    def hold_back(self) -> None:
        self.until = 0.0
        self._note("hold back")

    def rejoined(self, node: str) -> None:
        self._note(f"rejoined {node}")

    async def recover_nodes(self) -> Recovered:
        self._note("recover")
        if (waits := self.reclaim()) is not None:
            await waits
        return self.recovered

    def _note(self, what: str) -> None:
        self.told.append((self.clock.monotonic(), what))

    def times(self, what: str) -> list[float]:
        return [at for at, told in self.told if told == what]


class World:
    """This node, and another one that beats while `other` does."""

    def __init__(self) -> None:
        self.clock = self.machine = SetClock()
        self.store, self.dispatch = Store(self.clock), Dispatch(self.clock)
        self.other_beats, self.log, self.card = True, Lines(), CARD
        self.tasks: list[asyncio.Future[None]] = []

    async def join(self) -> None:
        log: Any = self.log
        self.nodes = Membership(
            store=self.store,
            dispatch=self.dispatch,  # type: ignore[arg-type]
            joined=await join(self.store, CARD, self.clock),
            card=lambda: self.card,
            time=StoreTime(SteadyClock(self.machine, self.machine.nanoseconds)),
            clock=self.clock,
            log=log,
        )

    async def begin(self) -> None:
        await self.join()
        await self.store.join(CARD)
        loops = (self.nodes.run(), self.nodes.watch(), self.other())
        self.tasks = [asyncio.ensure_future(one) for one in loops]
        await settle()

    async def other(self) -> None:
        while True:
            await self.clock.sleep(BEAT_S)
            if self.other_beats:
                await ModelNodes.beat(self.store, "2", CARD)

    def beats(self, node: str) -> int:
        return self.store._nodes[node].beats

    def gone(self) -> list[str]:
        return [number for number in self.store._nodes if not self.store.lives(number)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    await world.begin()
    yield world
    for task in world.tasks:
        task.cancel()
    ended = await asyncio.gather(*world.tasks, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended


async def test_it_beats_each_second_and_may_start_work_from_each(world: World) -> None:
    assert world.beats("1") == 1
    await world.clock.advance(20)
    assert world.beats("1") == 21
    assert world.dispatch.until == world.clock.monotonic() + LATE_S
    assert world.dispatch.times("hold back") == []
    assert world.gone() == []


async def test_it_reclaims_from_the_first_beat_on(world: World) -> None:
    """Whoever declared a node gone may have ended before it could take over."""
    assert world.dispatch.times("recover") == [0.0]
    await world.clock.advance(3 * RECLAIM_S)
    assert world.dispatch.times("recover") == [n * RECLAIM_S for n in range(4)]


async def test_a_silent_node_is_declared_gone_and_reclaimed_at_once(world: World) -> None:
    await world.clock.advance(2)
    world.other_beats = False
    await world.clock.advance(GONE_S - 1)
    assert world.gone() == []
    await world.clock.advance(2)
    assert world.gone() == ["2"]
    assert world.dispatch.times("recover")[-1] == 2 + GONE_S, "its last beat was at 2"


async def test_a_reclaim_that_lasts_keeps_no_beat_waiting(world: World) -> None:
    ends = asyncio.Event()
    world.dispatch.reclaim = ends.wait
    await world.clock.advance(60)
    assert len(world.dispatch.times("recover")) == 2, "one at a time"
    assert world.beats("1") == 61
    ends.set()
    await world.clock.advance(RECLAIM_S)
    assert len(world.dispatch.times("recover")) > 2


async def test_a_reclaim_that_fails_is_tried_again(world: World) -> None:
    def fails() -> None:
        raise StoreUnavailable("away")

    world.dispatch.reclaim = fails
    await world.clock.advance(2 * RECLAIM_S)
    assert len(world.dispatch.times("recover")) == 3


async def test_after_an_outage_nobody_is_gone(world: World) -> None:
    await world.clock.advance(2)
    world.other_beats = False  # the outage is as long for the other one
    await world.clock.advance(GONE_S - 2)
    world.store.away = {"all"}
    await world.clock.advance(60)
    world.store.away = set()
    await world.clock.advance(GONE_S - 2)
    assert world.gone() == []
    world.other_beats = True
    await world.clock.advance(60)
    assert world.gone() == []


async def test_a_moment_without_the_store_begins_the_observation_anew(world: World) -> None:
    """A restarted database has closed every connection, and some open theirs later."""
    await world.clock.advance(2)
    world.other_beats = False
    await world.clock.advance(8)
    world.store.away = {"all"}
    await world.clock.advance(2)
    world.store.away = set()
    world.store.close_connection("2")
    await world.clock.advance(GONE_S - 1)
    assert world.gone() == []
    await world.clock.advance(1)
    assert world.gone() == ["2"]


async def test_without_a_beat_for_long_it_starts_no_work_until_the_next(world: World) -> None:
    await world.clock.advance(2)
    world.store.away = {"beat"}
    await world.clock.advance(LATE_S - 0.5)
    assert world.dispatch.times("hold back") == []
    assert world.dispatch.until == 2 + LATE_S
    await world.clock.advance(30.5)
    assert world.dispatch.times("hold back") == [2 + LATE_S]
    world.store.away = set()
    await world.clock.advance(1)
    assert world.dispatch.until == world.clock.monotonic() + LATE_S
    assert world.nodes.node == "1", "it was never declared gone"
    world.store.away = {"beat"}
    await world.clock.advance(2 * LATE_S)
    assert len(world.dispatch.times("hold back")) == 2


async def test_it_is_held_back_before_long(world: World) -> None:
    """Also where beats take their time: counted from when the last one was asked for."""
    world.store.takes = 0.25
    await world.clock.advance(4)
    asked = world.dispatch.until - LATE_S
    assert asked == 3.5
    world.store.away = {"beat"}
    await world.clock.advance(2 * LATE_S)
    (held_back,) = world.dispatch.times("hold back")
    assert asked + LATE_S <= held_back < asked + LATE_S + 1


async def test_an_outage_is_said_once_and_its_end(world: World) -> None:
    await world.clock.advance(2)
    assert world.log.said == []
    for _ in range(2):
        world.store.away = {"beat"}
        await world.clock.advance(2 * LATE_S)
        world.store.away = set()
        await world.clock.advance(2)
    assert world.log.said == [
        "the store does not know that this node lives",
        "no work is started",
        "work is started again",
    ] * 2  # fmt: skip


async def test_the_first_beat_may_hang_too(world: World) -> None:
    """Until then the time counts from when it joined."""
    other = World()
    other.store.hangs = asyncio.Event()
    await other.begin()
    assert other.dispatch.until == LATE_S
    await other.clock.advance(LATE_S)
    assert other.dispatch.times("hold back") == [LATE_S]
    world.tasks += other.tasks


@pytest.mark.parametrize("recovered", [Recovered(1, 0), Recovered(0, 1)])
async def test_what_was_taken_over_is_said(world: World, recovered: Recovered) -> None:
    await world.clock.advance(RECLAIM_S)
    assert world.log.said == []
    world.dispatch.recovered = recovered
    await world.clock.advance(RECLAIM_S)
    assert world.log.said == ["recovered"]


async def test_its_end_ends_a_reclaim(world: World) -> None:
    await world.clock.advance(1)
    waits = asyncio.get_running_loop().create_future()
    world.dispatch.reclaim = lambda: waits
    await world.clock.advance(RECLAIM_S)
    world.tasks[0].cancel()
    await settle()
    assert waits.cancelled()


async def test_so_does_one_whose_beat_hangs(world: World) -> None:
    await world.clock.advance(2)
    world.store.hangs = asyncio.Event()
    await world.clock.advance(2 * LATE_S)
    assert world.dispatch.times("hold back") == [2 + LATE_S]
    world.store.hangs.set()
    await settle()
    assert world.dispatch.until == 0.0, "the answer came, but it may be as old as the question"
    await world.clock.advance(1)
    assert world.dispatch.until == world.clock.monotonic() + LATE_S


async def test_a_node_that_is_gone_goes_on_as_another(world: World) -> None:
    await world.clock.advance(2)
    await world.store.declare_gone("1", world.beats("1"))
    await world.clock.advance(1)
    assert world.nodes.node == "3"
    told = [what for at, what in world.dispatch.told if at == 3.0]
    assert told == ["hold back", "rejoined 3"]
    assert world.dispatch.until == 3 + LATE_S
    await world.clock.advance(20)
    assert world.beats("3") == 20
    assert world.gone() == ["1"]


async def test_until_it_could_join_it_starts_no_work(world: World) -> None:
    await world.clock.advance(2)
    await world.store.declare_gone("1", world.beats("1"))
    world.store.away = {"join"}
    await world.clock.advance(5)
    assert world.dispatch.times("hold back") == [3.0]
    assert world.dispatch.until == 0.0
    world.store.away = set()
    await world.clock.advance(1)
    assert world.nodes.node == "3"
    assert world.dispatch.until == world.clock.monotonic() + LATE_S


async def test_who_leaves_is_gone_with_the_word_that_it_was_stopped(world: World) -> None:
    await world.clock.advance(2)
    world.card = replace(CARD, unready=STOPPING)
    await world.nodes.leave()
    assert world.gone() == ["1"]
    assert world.store._nodes["1"].card.unready == STOPPING


# Whether it may get requests


async def test_while_no_work_is_started_it_is_not_ready(world: World) -> None:
    assert world.nodes.unready() is None
    world.store.away = {"beat"}
    await world.clock.advance(LATE_S + 1)
    why = world.nodes.unready()
    since = moment(world.clock.now() - int((LATE_S + 1) * 1000))
    assert why == f"no work is started: the store has not been reached since {since}"
    world.store.away = set()
    await world.clock.advance(1)
    assert world.nodes.unready() is None
    await world.store.declare_gone("1", world.beats("1"))
    world.store.away = {"join"}
    await world.clock.advance(1)
    assert world.nodes.unready() == "no work is started: this node was declared gone"


async def test_nor_while_the_machine_s_clock_is_far_off(world: World) -> None:
    await world.clock.advance(1)
    world.machine.set(-2_001)
    why = "the machine's clock is off by -2.0 s from the database's"
    assert world.nodes.unready() == why
    world.machine.set(-1_999)
    assert world.nodes.unready() is None


async def test_nor_before_it_has_seen_the_others() -> None:
    world = World()
    await world.join()
    assert world.nodes.unready() == "the other routers have not been seen yet"


async def test_nor_while_its_machine_differs_from_those_of_the_others(world: World) -> None:
    await world.store.join(CARD)
    world.card = replace(CARD, secrets={"shop": ("aa",)})
    for _ in range(3):
        await world.clock.advance(1)
        assert world.nodes.unready() == "not the same as on n (#2): secrets.shop"
    assert world.log.said.count("this machine differs") == 1
    world.card = CARD
    await world.clock.advance(1)
    assert world.nodes.unready() is None
