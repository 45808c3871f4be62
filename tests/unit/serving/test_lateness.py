"""How late the event loop gets to what is due."""

import asyncio

from router.serving.lateness import watch_lateness
from tests.clocks import ManualClock


class BusyClock(ManualClock):
    """Its sleepers wake later, as those of a loop that is busy."""

    busy_s = 0.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds + self.busy_s)


async def test_each_second_says_how_late_it_came() -> None:
    clock, said = BusyClock(), list[float]()
    watching = asyncio.create_task(watch_lateness(clock, said.append))
    await clock.advance(2)
    clock.busy_s = 0.25
    await clock.advance(1)  # the sleep that has begun
    await clock.advance(1.25)
    watching.cancel()
    assert said == [0, 0, 0, 0.25]
