"""An answer that many ask for is found once, and kept the longer the longer that took."""

import asyncio

import pytest

from router.errors import StoreUnavailable
from router.operator.costly import FRESH_S, TIMES, CostlyAnswer
from tests.clocks import ManualClock


class Slow:
    """Counts how often it was asked; each answer takes so many seconds."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.asked, self.fails = 0, False

    async def __call__(self) -> int:
        self.asked += 1
        await self.clock.sleep(self.seconds)
        if self.fails:
            raise StoreUnavailable("no")
        return self.asked


@pytest.mark.parametrize(("seconds", "fresh"), [(0.0, FRESH_S), (2.0, TIMES * 2.0)])
async def test_it_is_asked_again_when_the_answer_is_old(seconds: float, fresh: float) -> None:
    clock = ManualClock()
    costly = CostlyAnswer(slow := Slow(clock, seconds), clock)
    asked = asyncio.gather(costly.get(), costly.get())
    await clock.advance(seconds)
    assert await asked == [1, 1]
    await clock.advance(fresh - 0.1)
    assert await costly.get() == 1
    await clock.advance(0.1)
    again = asyncio.ensure_future(costly.get())
    await clock.advance(seconds)
    assert (await again, slow.asked) == (2, 2)


async def test_a_failure_is_not_kept() -> None:
    clock = ManualClock()
    costly = CostlyAnswer(slow := Slow(clock, 0), clock)
    slow.fails = True
    with pytest.raises(StoreUnavailable):
        await costly.get()
    slow.fails = False
    assert await costly.get() == 2
