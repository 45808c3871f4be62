"""What was counted by spans of time: added up, read from a time on, and gone when it is old."""

import pytest
from msgspec.structs import replace

from router.model.activity import EVER, HOUR_S, MINUTE_S, QUARTER_S, ActivityCount
from router.model.settings import DAY_MS
from router.store.protocol import Store
from router.store.removal import Retain
from tests.clocks import START_MS, ManualClock

NOW = START_MS - START_MS % (QUARTER_S * 1000)
QUARTER_MS = QUARTER_S * 1000
NOTHING = Retain(0, 0, 0)


def came(at: int, count: int = 1, span_s: int = MINUTE_S, detail: str = "routed") -> ActivityCount:
    return ActivityCount(span_s, at, "delivery", "shop", detail, count)


@pytest.mark.long
async def test_what_is_counted_of_the_same_adds_up(store: Store) -> None:
    """From one flush to the next, and of several routers; the longest is the longest of both."""
    took = ActivityCount(MINUTE_S, NOW, "attempt", "erp", "succeeded", 2, 300, 200)
    shorter = ActivityCount(MINUTE_S, NOW, "attempt", "erp", "succeeded", 1, 50, 50)
    await store.count_activity([took, came(NOW, 3), came(NOW, detail="duplicate")])
    await store.count_activity([came(NOW, 4), shorter])
    assert await store.reads.activity_by_name(MINUTE_S, 0) == (
        ActivityCount(MINUTE_S, NOW, "attempt", "erp", "succeeded", 3, 350, 200),
        came(NOW, detail="duplicate"),
        came(NOW, 7),
    )


async def test_spans_are_read_from_a_time_on_all_names_together(store: Store) -> None:
    minutes = [came(NOW + minute * 60_000) for minute in range(4)]
    more = [replace(minutes[3], name="other", count=5), came(NOW, 4, QUARTER_S)]
    await store.count_activity([*reversed(minutes), *more])
    assert await store.reads.activity(MINUTE_S, NOW + 120_000) == (
        replace(minutes[2], name=""),
        replace(minutes[3], name="", count=6),
    )
    assert await store.reads.activity(QUARTER_S, 0) == (replace(more[1], name=""),)


async def test_by_name_all_spans_are_together(store: Store) -> None:
    minutes = [came(NOW + minute * 60_000, minute) for minute in range(1, 5)]
    other = replace(minutes[3], name="other", total=7, most=7)
    await store.count_activity([*minutes, other])
    assert await store.reads.activity_by_name(MINUTE_S, NOW + 120_000) == (
        replace(minutes[1], count=9),
        other,
    )


async def test_by_hour_four_quarters_are_together_of_some_names(store: Store) -> None:
    """Hours begin where they are asked to."""
    begins = NOW + 2 * QUARTER_MS
    quarters = [came(NOW + n * QUARTER_MS, 1, QUARTER_S) for n in range(8)]
    other = replace(quarters[5], name="other", most=3)
    await store.count_activity([*quarters, other, replace(other, name="third"), came(begins)])
    assert await store.reads.activity_by_hour(begins, ["shop", "other"]) == (
        replace(quarters[2], span_s=HOUR_S, count=4),
        replace(other, span_s=HOUR_S),
        replace(quarters[6], span_s=HOUR_S, count=2),
    )
    assert await store.reads.activity_by_hour(begins, []) == ()


async def test_minutes_go_after_an_hour_quarters_after_a_day(
    store: Store, clock: ManualClock
) -> None:
    ever = came(0, 9, EVER)
    minute, quarter = came(NOW), came(NOW, span_s=QUARTER_S)
    await store.count_activity([ever, minute, quarter])
    await store.prune(NOTHING, now=NOW + 60 * 60_000)
    assert await store.reads.activity_by_name(MINUTE_S, 0) == (minute,)
    await store.prune(NOTHING, now=NOW + DAY_MS)
    assert await store.reads.activity_by_name(MINUTE_S, 0) == ()
    assert await store.reads.activity_by_name(QUARTER_S, 0) == (quarter,)
    await store.prune(NOTHING, now=NOW + 2 * DAY_MS)
    assert await store.reads.activity_by_name(QUARTER_S, 0) == ()
    assert await store.reads.activity_by_name(EVER, 0) == (ever,)
