"""The router's clock follows the machine's, and work moves with it; on a real SQLite file."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from router import log
from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.serving.clock_sync import HOLD_S, NOTE_S, Stepping
from router.store.protocol import Store
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, SetClock
from tests.store_values import Maker

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


class Unsure:
    """A store whose next shifts fail before or after they were done."""

    def __init__(self, store: SqliteStore, *faults: str) -> None:
        self._store, self._faults = store, list(faults)

    async def shift(self, total: int, *, boot: str, now: int) -> int:
        fault = self._faults.pop(0) if self._faults else ""
        if fault == "before":
            raise StoreUnavailable(fault)
        moved = await self._store.shift(total, boot=boot, now=now)
        if fault == "after":
            raise StoreUnavailable(fault)
        return moved


class World:
    """A machine's clock, a store with a job, and who follows."""

    def __init__(self, store: SqliteStore, source: SetClock) -> None:
        self.store, self.source = store, source
        self.moves: list[int] = []
        self.steps = 0
        self.clock = SteadyClock(source, source.nanoseconds)
        self.stepping = self.another(store)

    def another(self, store: Any, boot: str = "boot") -> Stepping:
        """As the next process would have it, or over a store that fails."""
        return Stepping(
            clock=self.clock,
            store=cast("Store", store),
            boot=boot,
            moves=(self.moves.append,),
            log=log.get("test"),
            stepped=self.stepped,
        )

    def stepped(self) -> None:
        self.steps += 1

    def restarted(self) -> Stepping:
        """The next process: its clock begins with what the machine says."""
        self.clock = SteadyClock(self.source, self.source.nanoseconds)
        return self.another(self.store, "next")

    async def due(self) -> int:
        """By how much the one job has moved."""
        [job] = await self.store.reads.jobs(Selector())
        return job.due_at - START_MS

    async def seen(self) -> int:
        return int((await self.store.recall("clock"))["clock"]["at"])


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    source = SetClock()
    store = await open_store(str(tmp_path / "router.db"), clock=source)
    await store.accept(Maker().acceptance())
    yield World(store, source)
    await store.close()


@pytest.mark.parametrize("ms", [HOUR_MS, -HOUR_MS, 3650 * DAY_MS, -START_MS, 2_001, -2_001])
async def test_after_a_step_everything_has_moved(ms: int, world: World) -> None:
    world.source.set(ms)
    await world.stepping.step()
    assert world.clock.offset() == 0
    assert world.moves == [ms]
    assert world.steps == 1
    assert await world.due() == ms
    assert await world.seen() == START_MS + ms
    await world.stepping.step()
    assert world.moves == [ms]


@pytest.mark.parametrize("ms", [2_000, -2_000, 10, -10])
async def test_drift_is_taken_over_in_passing(ms: int, world: World) -> None:
    world.source.set(ms)
    await world.stepping.step()
    assert world.clock.offset() == 0
    assert (world.moves, world.steps, await world.due()) == ([], 0, 0)


async def test_a_few_milliseconds_are_let_be(world: World) -> None:
    """Else the clock would go to and fro."""
    world.source.set(5)
    await world.stepping.step()
    assert world.clock.offset() == 5


@pytest.mark.parametrize("faults", [["before"], ["after"], ["after", "before", "after"]])
async def test_a_store_that_fails_changes_nothing_and_is_asked_again(
    faults: list[str], world: World
) -> None:
    """Also if it did move the jobs, and the clock is set once more meanwhile."""
    stepping = world.another(Unsure(world.store, *faults))
    world.source.set(HOUR_MS)
    for _ in faults:
        with pytest.raises(StoreUnavailable):
            await stepping.step()
        assert (world.clock.offset(), world.moves) == (HOUR_MS, [])
    world.source.set(3 * HOUR_MS)
    await stepping.step()
    assert world.moves == [3 * HOUR_MS]
    assert await world.due() == 3 * HOUR_MS
    world.source.set(0)
    await stepping.step()
    assert await world.due() == 0


async def test_nothing_is_removed_for_an_hour_after_it_was_set_far_on(world: World) -> None:
    world.source.set(DAY_MS)
    await world.stepping.step()
    assert not world.stepping.holds()
    world.source.set(3650 * DAY_MS)
    await world.stepping.step()
    assert world.stepping.holds()
    world.source.set(0)
    await world.stepping.step()
    await world.source.advance(HOLD_S - 1)
    assert world.stepping.holds()
    await world.source.advance(1)
    assert not world.stepping.holds()


async def test_the_time_is_noted_once_a_minute_and_at_the_end(world: World) -> None:
    await world.stepping.begin()
    assert await world.seen() == START_MS
    await world.source.advance(NOTE_S - 1)
    await world.stepping.step()
    assert await world.seen() == START_MS
    await world.source.advance(1)
    await world.stepping.step()
    assert await world.seen() == START_MS + 60_000
    await world.source.advance(2)
    await world.stepping.close()
    assert await world.seen() == START_MS + 62_000
    assert await world.due() == 0


async def test_a_clock_that_went_back_while_nobody_looked_is_found_at_the_start(
    world: World,
) -> None:
    await world.stepping.begin()
    world.source.set(-DAY_MS)
    stepping = world.restarted()
    await stepping.begin()
    assert await world.due() == -DAY_MS
    assert await world.seen() == START_MS - DAY_MS
    assert world.steps == 1
    world.source.set(0)
    await stepping.step()
    assert await world.due() == 0


@pytest.mark.parametrize("ms", [DAY_MS, 0, -60_000])
async def test_a_start_later_or_hardly_earlier_moves_nothing(ms: int, world: World) -> None:
    """Nobody can tell a clock that was set on from a router that was down."""
    await world.stepping.begin()
    world.source.set(ms)
    await world.restarted().begin()
    assert (await world.due(), world.steps) == (0, 0)
    assert await world.seen() == START_MS + ms


async def test_a_first_start_has_seen_nothing(world: World) -> None:
    await world.stepping.begin()
    assert (await world.due(), world.steps) == (0, 0)
