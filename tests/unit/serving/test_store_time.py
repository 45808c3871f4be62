"""The clock of a node of a shared store follows the store's."""

from router.clock import SteadyClock
from router.serving.store_time import STEP_MS, StoreTime
from tests.clocks import SetClock


class World:
    """A node whose machine has a clock, and a store that is ahead of it by `ahead` milliseconds."""

    def __init__(self, ahead: int) -> None:
        self.machine, self.ahead = SetClock(), ahead
        self.clock = SteadyClock(self.machine, self.machine.nanoseconds)
        self.true = SetClock()
        self.time = StoreTime(self.clock)

    async def beat(self, there: float = 0.0, back: float = 0.0) -> int:
        """A second later it is asked; by how much the node's clock is ahead of the store's then."""
        await self.pass_by(1 - there - back)
        asked = self.machine.monotonic()
        await self.pass_by(there)
        said = self.true.now() + self.ahead
        await self.pass_by(back)
        self.time.said(said, asked=asked, answered=self.machine.monotonic())
        return self.clock.now() - self.true.now() - self.ahead

    async def pass_by(self, seconds: float) -> None:
        await self.machine.advance(seconds)
        await self.true.advance(seconds)


async def test_the_first_answer_is_taken_whole() -> None:
    world = World(ahead=-90_000)
    assert world.time.skew() == 0, "not known"
    assert await world.beat() == 0
    assert world.time.skew() == 90_000
    assert world.clock.offset == 0, "ledger time is the store's, too"


async def test_later_differences_are_made_up_for_in_small_steps() -> None:
    world = World(ahead=0)
    await world.beat()
    world.ahead = 3 * STEP_MS
    assert [await world.beat() for _ in range(4)] == [-2 * STEP_MS, -STEP_MS, 0, 0]


async def test_the_answer_of_the_least_round_trip_counts() -> None:
    world = World(ahead=0)
    await world.beat(0.002, 0.002)
    for _ in range(5):
        assert await world.beat(0.4, 0.0) == 0, "its way back was short, its way there long"


async def test_a_machine_s_clock_that_is_set_changes_nothing_but_the_skew() -> None:
    world = World(ahead=0)
    await world.beat()
    world.machine.set(3_600_000)
    assert await world.beat() == 0
    assert world.time.skew() == 3_600_000
