"""
A start long after the last sign of life: the clock may be wrong, and nobody loses anything by it
who sets it right within the hour.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from router import log
from router.operator.attention import of_clock
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.clock_sync import ClockSync
from router.serving.upkeep import Upkeep
from router.store.protocol import Store
from tests.builders import a_ruleset
from tests.conformance.test_ledger_time import DAY_MS, Steady
from tests.store_values import Maker

HOUR = 1 / 24


@pytest.fixture
def clock() -> Steady:
    return Steady()


class Process:
    """What looks after time and age in a router that has just been started."""

    def __init__(self, store: Store, clock: Steady) -> None:
        lines: Any = log.get("test")
        self.clock = clock
        self.sync = ClockSync(clock=clock, store=store, log=lines, stepped=lambda: None)
        live = LiveRef(LiveRuleset(a_ruleset(), SecretValues({}, {})))
        dispatch: Any = SimpleNamespace(wake=lambda *_: None)
        self.upkeep = Upkeep(store=store, live=live, dispatch=dispatch, clock=clock, log=lines)

    async def removed(self) -> int:
        """By all that retention does now."""
        return sum([await self.upkeep.step() for _ in range(3)])

    def says(self) -> list[str]:
        return [one.text for one in of_clock(self.clock)]


async def started(store: Store, clock: Steady) -> Process:
    process = Process(store, clock)
    await process.sync.begin()
    return process


async def taken(store: Store, make: Maker, clock: Steady) -> None:
    """A delivery that no rule matched, which is kept for a week, comes now."""
    await store.accept(make.acceptance(received_at=clock.now(), jobs=[]))


async def test_retention_begins_an_hour_after_such_a_start(
    store: Store, make: Maker, clock: Steady
) -> None:
    first = await started(store, clock)
    await taken(store, make, clock)
    assert (clock.doubted(), first.says()) == (None, [])
    await clock.passed(400)
    late = await started(store, clock)
    [says] = late.says()
    assert says.startswith("the clock is 400 d 0 h past the store's last entry: if it is wrong,")
    assert says.endswith("set it; retention begins in 1 h 0 m")
    await clock.passed(HOUR / 2)
    again = await started(store, clock)  # no further hour
    assert await again.removed() == 0
    await clock.passed(HOUR / 2)
    assert (await again.removed(), again.says()) == (1, [])


@pytest.mark.parametrize("days", [0.0, 0.5, 1.0])
async def test_after_a_shorter_time_nobody_doubts_the_clock(
    store: Store, make: Maker, clock: Steady, days: float
) -> None:
    await taken(store, make, clock)
    await clock.passed(8 - days)
    await started(store, clock)
    await clock.passed(days)
    assert await (await started(store, clock)).removed() == 1


@pytest.mark.parametrize("store", ["sqlite", "memory"], indirect=True)
@pytest.mark.parametrize("before", [0, -30, 30], ids="set before by {} days".format)
async def test_who_sets_it_right_loses_nothing_and_keeps_nothing_longer(
    store: Store, make: Maker, clock: Steady, before: int
) -> None:
    """Old and new: each delivery goes a week after it came, by the time that has really passed."""
    process = await started(store, clock)
    await taken(store, make, clock)
    await clock.passed(1)
    clock.machine.set(before * DAY_MS)
    await process.sync.step()
    await taken(store, make, clock)
    clock.machine.set((before + 400) * DAY_MS)
    clock.slew(400 * DAY_MS)  # as the next process begins with it
    process = await started(store, clock)
    await taken(store, make, clock)
    await clock.passed(HOUR / 4)
    clock.machine.set(before * DAY_MS)
    await process.sync.step()
    assert process.says() == []
    await taken(store, make, clock)
    removed = []
    for days in (0, 5, 0.9, 0.2, 0.7, 0.3):
        await clock.passed(days)
        removed.append(await process.removed())
    assert removed == [0, 0, 0, 1, 0, 3]
