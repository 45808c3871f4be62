"""At most so many turns in any second, whatever comes before."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from router.provider_calls.rate_limit import Pace
from tests.clocks import JumpingClock


async def turns(clock: JumpingClock, pace: Pace, count: int, each: float = 0.0) -> list[float]:
    taken = []
    for _ in range(count):
        await pace.turn()
        taken.append(clock.monotonic())
        clock.elapsed += each
        pace.ended()
    return taken


async def test_the_fifth_waits_until_the_second_is_over() -> None:
    clock = JumpingClock()
    taken = await turns(clock, Pace(clock, 4), 9)
    assert taken[:4] == [0.0] * 4
    assert all(t > 1.0 for t in taken[4:8])
    assert taken[8] > 2.0


async def test_who_is_slow_anyway_never_waits() -> None:
    clock = JumpingClock()
    await turns(clock, Pace(clock, 4), 20, each=0.4)
    assert clock.slept == []


async def test_turns_of_the_run_before_count() -> None:
    """And for longer: it is not known how late they reached the sender."""
    clock = JumpingClock()
    now = clock.now()
    before = [now - 90_000, now - 1900, now - 300, now - 200, now + 60_000]
    await turns(clock, Pace(clock, 4, before=before), 1)
    assert clock.slept == []
    await turns(clock, Pace(clock, 4, before=[*before, now - 100]), 1)
    assert 0.1 < sum(clock.slept) < 0.2


@example(4, [(0.5, 0.0), *[(0.0, 0.0)] * 4])
@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 3)), min_size=1, max_size=60),
)
async def test_no_second_of_the_senders_has_more(
    most: int, calls: list[tuple[float, float]]
) -> None:
    """A call may reach the sender as late as its answer comes."""
    clock = JumpingClock()
    pace = Pace(clock, most)
    arrived = []
    for on_the_way, back in calls:
        await pace.turn()
        arrived.append(clock.monotonic() + on_the_way)
        clock.elapsed += on_the_way + back
        pace.ended()
    for first, last in zip(arrived, arrived[most:], strict=False):
        assert last - first > 1.0


@given(st.integers(1, 6), st.lists(st.floats(0, 2), min_size=1, max_size=60))
async def test_no_second_holds_more(most: int, pauses: list[float]) -> None:
    clock = JumpingClock()
    pace = Pace(clock, most)
    taken = []
    for pause in pauses:
        clock.elapsed += pause
        taken += await turns(clock, pace, 1)
    assert all(a <= b for a, b in pairwise(taken))
    for first, last in zip(taken, taken[most:], strict=False):
        assert last - first > 1.0
