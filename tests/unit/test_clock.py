"""A clock that goes on evenly, whatever is done to the machine's."""

import time

import pytest

from router.clock import SteadyClock, SystemClock, steady
from tests.clocks import SetClock


def steady_over(source: SetClock) -> SteadyClock:
    return SteadyClock(source, source.nanoseconds)


async def test_it_goes_on_when_the_machine_s_is_set() -> None:
    source = SetClock()
    clock = steady_over(source)
    began = clock.now()
    assert began == source.now()
    source.set(86_400_000)
    await source.advance(1.5)
    assert clock.now() == began + 1_500
    assert clock.drift() == 86_400_000
    source.set(-86_400_000)
    assert clock.drift() == -86_400_000
    assert clock.now() == began + 1_500


@pytest.mark.parametrize("by", ["slew", "step"])
async def test_it_takes_over_what_it_is_given(by: str) -> None:
    """A little: in ledger time too. A step: not there."""
    source = SetClock()
    clock = steady_over(source)
    began = clock.ledger()
    source.set(-3_600_000)
    getattr(clock, by)(clock.drift())
    assert clock.drift() == 0
    assert clock.now() == source.now()
    assert clock.ledger() == (began if by == "step" else began - 3_600_000)
    assert clock.offset == clock.now() - clock.ledger()
    await source.advance(2)
    assert clock.now() == source.now()
    assert clock.offset == clock.now() - clock.ledger()


async def test_ledger_time_goes_on_where_it_was() -> None:
    for clock in (SetClock(), steady_over(SetClock())):
        now = clock.now()
        clock.resume(-5_000)
        assert (clock.now(), clock.ledger()) == (now, now + 5_000)
        clock.resume(7_000)
        assert (clock.now(), clock.ledger(), clock.offset) == (now, now - 7_000, 7_000)


async def test_waits_are_those_of_the_machine() -> None:
    source = SetClock()
    clock = steady_over(source)
    await source.advance(7)
    assert clock.monotonic() == source.monotonic() == 7
    await clock.sleep(0)


def test_the_machine_s_own() -> None:
    clock, machine = steady(), SystemClock()
    assert abs(clock.now() - machine.now()) < 1_000
    assert abs(clock.drift()) < 1_000
    before, begun = clock.now(), time.monotonic()
    times = [clock.now() for _ in range(1_000)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= before + (time.monotonic() - begun) * 1000 + 2
