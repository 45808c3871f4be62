"""A clock that goes on evenly, whatever is done to the machine's."""

import time

from router.clock import SteadyClock, SystemClock, steady
from tests.clocks import SetClock


async def test_it_goes_on_when_the_machine_s_is_set() -> None:
    source = SetClock()
    clock = SteadyClock(source, source.nanoseconds)
    began = clock.now()
    assert began == source.now()
    source.set(86_400_000)
    await source.advance(1.5)
    assert clock.now() == began + 1_500
    assert clock.offset() == 86_400_000
    source.set(-86_400_000)
    assert clock.offset() == -86_400_000
    assert clock.now() == began + 1_500


async def test_it_takes_over_what_it_is_told_to() -> None:
    source = SetClock()
    clock = SteadyClock(source, source.nanoseconds)
    source.set(-3_600_000)
    clock.adopt(clock.offset())
    assert clock.offset() == 0
    assert clock.now() == source.now()
    await source.advance(2)
    assert clock.now() == source.now()


async def test_waits_are_those_of_the_machine() -> None:
    source = SetClock()
    clock = SteadyClock(source, source.nanoseconds)
    await source.advance(7)
    assert clock.monotonic() == source.monotonic() == 7
    await clock.sleep(0)


def test_the_machine_s_own() -> None:
    clock, machine = steady(), SystemClock()
    assert abs(clock.now() - machine.now()) < 1_000
    assert abs(clock.offset()) < 1_000
    before, begun = clock.now(), time.monotonic()
    times = [clock.now() for _ in range(1_000)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= before + (time.monotonic() - begun) * 1000 + 2
