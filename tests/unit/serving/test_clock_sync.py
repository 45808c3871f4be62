"""The router's clock follows the machine's, and ledger time goes on; on a real SQLite file."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from router import log
from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.serving.clock_sync import NOTE_S, ClockSync
from router.store.protocol import Store
from router.store.removal import Retain
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, SetClock
from tests.store_values import Maker

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


class Failing:
    """A store that fails the next times before or after it has kept the clock."""

    def __init__(self, store: SqliteStore, *faults: str) -> None:
        self._store, self._faults = store, list(faults)

    async def keep_clock(self) -> int:
        fault = self._faults.pop(0) if self._faults else ""
        if fault == "before":
            raise StoreUnavailable(fault)
        changed = await self._store.keep_clock()
        if fault == "after":
            raise StoreUnavailable(fault)
        return changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class World:
    """A machine's clock, a store with a job, and who follows."""

    def __init__(self, folder: Path) -> None:
        self.path, self.source, self.steps = folder / "router.db", SetClock(), 0

    async def begin(self, *faults: str) -> None:
        """The next process."""
        self.clock = SteadyClock(self.source, self.source.nanoseconds)
        self.store = await open_store(str(self.path), clock=self.clock)
        self.sync = ClockSync(
            clock=self.clock,
            store=cast("Store", Failing(self.store, *faults)),
            log=log.get("test"),
            stepped=self.stepped,
        )

    async def restart(self) -> None:
        await self.store.close()
        await self.begin()

    def stepped(self) -> None:
        self.steps += 1

    async def due(self) -> int:
        """By how much later the one job is shown to be due."""
        [job] = await self.store.reads.jobs(Selector())
        return job.due_at - START_MS

    async def seen(self) -> int:
        return int((await self.store.recall("clock"))["clock/seen"]) - START_MS


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.begin()
    await world.store.accept(Maker().acceptance())
    yield world
    await world.store.close()


@pytest.mark.parametrize("ms", [HOUR_MS, -HOUR_MS, 3650 * DAY_MS, -START_MS, 2_001, -2_001])
async def test_after_a_step_only_wall_time_has_moved(ms: int, world: World) -> None:
    world.source.set(ms)
    await world.sync.step()
    assert (world.clock.drift(), world.steps) == (0, 1)
    assert (world.clock.now(), world.clock.ledger()) == (START_MS + ms, START_MS)
    assert await world.store.reads.targets() == {"erp": START_MS}
    assert (await world.due(), await world.seen()) == (ms, 0)
    await world.sync.step()
    assert world.steps == 1


@pytest.mark.parametrize("ms", [2_000, -2_000, 10, -10])
async def test_drift_is_taken_over_in_passing(ms: int, world: World) -> None:
    world.source.set(ms)
    await world.sync.step()
    assert (world.clock.drift(), world.clock.offset, world.steps) == (0, 0, 0)


async def test_a_few_milliseconds_are_let_be(world: World) -> None:
    """Else the clock would go to and fro."""
    world.source.set(5)
    await world.sync.step()
    assert world.clock.drift() == 5


@pytest.mark.parametrize("faults", [["before"], ["after"], ["after", "before", "after"]])
async def test_a_store_that_fails_is_reported_at_the_next_turn(
    faults: list[str], world: World
) -> None:
    """Also if it did keep the step, and the clock is set once more meanwhile."""
    await world.store.close()
    await world.begin(*faults)
    world.source.set(HOUR_MS)
    for _ in faults:
        with pytest.raises(StoreUnavailable):
            await world.sync.step()
        assert (world.clock.drift(), world.clock.ledger()) == (0, START_MS)
    world.source.set(3 * HOUR_MS)
    await world.sync.step()
    assert await world.due() == 3 * HOUR_MS
    world.source.set(0)
    await world.sync.step()
    assert (await world.due(), world.clock.ledger()) == (0, START_MS)


async def test_the_time_is_noted_once_a_minute_and_at_the_end(world: World) -> None:
    await world.sync.begin()
    assert await world.seen() == 0
    await world.source.advance(NOTE_S - 1)
    await world.sync.step()
    assert await world.seen() == 0
    await world.source.advance(1)
    await world.sync.step()
    assert await world.seen() == 60_000
    await world.source.advance(2)
    await world.sync.close()
    assert await world.seen() == 62_000
    assert await world.due() == 0


async def test_a_clock_that_went_back_while_nobody_looked_is_found_at_the_start(
    world: World,
) -> None:
    await world.sync.begin()
    world.source.set(-DAY_MS)
    await world.restart()
    await world.sync.begin()
    assert (world.steps, world.clock.ledger()) == (1, START_MS)
    assert (await world.due(), await world.seen()) == (-DAY_MS, 0)
    world.source.set(0)
    await world.sync.step()
    assert (await world.due(), world.clock.ledger()) == (0, START_MS)


@pytest.mark.parametrize("ms", [DAY_MS, 0, -2_000])
async def test_a_start_later_or_hardly_earlier_is_no_step(ms: int, world: World) -> None:
    """Nobody can tell a clock that was set on from a router that was down."""
    await world.sync.begin()
    world.source.set(ms)
    await world.restart()
    await world.sync.begin()
    assert (world.steps, await world.due()) == (0, min(ms, 0))
    assert await world.seen() == max(ms, 0)


async def test_a_first_start_has_seen_nothing(world: World) -> None:
    await world.sync.begin()
    assert (await world.due(), world.steps) == (0, 0)


async def test_a_doubtful_clock_that_is_set_right_before_the_next_start(world: World) -> None:
    """Ledger time goes on; what was recorded before is as old as it was."""
    make = Maker()
    make.acceptance()  # which is there already
    await world.store.accept(make.acceptance(jobs=[]))
    await world.source.advance(86_400)
    await world.sync.begin()
    for ms in (400 * DAY_MS, 0):
        world.source.set(ms)
        await world.restart()
        await world.sync.begin()
        assert (world.clock.doubted() is None) == (ms == 0)
    assert (world.steps, world.clock.ledger()) == (1, START_MS + 401 * DAY_MS)
    for days, gone in ((5.9, 0), (0.2, 1)):
        await world.source.advance(days * 86_400)
        now = world.clock.ledger()
        week_old = Retain(0, now - 7 * DAY_MS, 0)
        steps = [await world.store.prune(week_old, now=now) for _ in range(2)]
        assert sum(step.deliveries for step in steps) == gone
