"""Slots, rates and the half rule."""

import pytest

from router.dispatch.slots import Slots
from router.model.settings import TargetLimits
from tests.clocks import ManualClock


def _slots(
    concurrency: int = 1000, rate: float | None = None, clock: ManualClock | None = None
) -> Slots:
    return Slots(lambda target, kind: TargetLimits(concurrency, rate), clock or ManualClock())


def _fill(slots: Slots, target: str) -> int:
    room = slots.room(target, "http")
    if room:
        slots.take(target, "http", room)
    return room


def test_a_target_holds_to_its_own_limit() -> None:
    slots = _slots(concurrency=16)
    assert _fill(slots, "a") == 16
    assert slots.room("a", "http") == 0
    slots.give("a", "http")
    assert slots.room("a", "http") == 1


def test_no_target_holds_more_than_half_of_what_others_leave() -> None:
    slots = _slots()
    assert [_fill(slots, t) for t in "abcdefghi"] == [64, 32, 16, 8, 4, 2, 1, 1, 0]


def test_taking_one_by_one_comes_to_the_same() -> None:
    slots = _slots()
    taken = 0
    while slots.room("a", "http"):
        slots.take("a", "http")
        taken += 1
    assert taken == 64


def test_kinds_do_not_share() -> None:
    slots = _slots()
    _fill(slots, "a")
    assert slots.room("b/s", "shell") == 2
    assert slots.left("shell") == 4


async def test_a_rate_is_kept_over_time() -> None:
    clock = ManualClock()
    slots = _slots(rate=5.0, clock=clock)
    started = 0
    for _ in range(1000):
        while slots.room("a", "http"):
            slots.take("a", "http")
            slots.give("a", "http")
            started += 1
        await clock.advance(0.01)
    assert 50 <= started <= 52


@pytest.mark.parametrize(("rate", "most"), [(0.1, 1), (1.0, 1), (100.0, 11)])
async def test_what_a_rate_did_not_use_is_not_saved_up(rate: float, most: int) -> None:
    """One start, and a tenth of a second ahead: after an hour of quiet as much as after none."""
    clock = ManualClock()
    slots = _slots(rate=rate, clock=clock)
    slots.take("a", "http", slots.room("a", "http"))
    for quiet_s in (60.0, 3_600.0):
        await clock.advance(quiet_s)
        assert slots.room("a", "http") == most
        slots.take("a", "http", most)
        slots.give("a", "http", most)
        assert slots.room("a", "http") == 0


async def test_a_rate_says_when_it_allows_the_next() -> None:
    clock = ManualClock()
    slots = _slots(rate=0.5, clock=clock)
    slots.take("a", "http", slots.room("a", "http"))
    assert slots.rate_wait("a", "http") == pytest.approx(2.0)
    await clock.advance(2.0)
    assert slots.room("a", "http") == 1


def test_unused_slots_give_their_rate_back() -> None:
    slots = _slots(rate=1.0)
    assert slots.room("a", "http") == 1
    slots.take("a", "http")
    slots.give("a", "http", unused=True)
    assert slots.room("a", "http") == 1
