"""Charts and sums of what was counted."""

from router.model.activity import EVER, MINUTE_S, QUARTER_S, ActivityCount, ActivityKind
from router.operator.overview import FAILED, Activity
from router.operator.overview_answer import Sums
from tests.builders import NOW
from tests.clocks import ManualClock
from tests.conformance.model_store import ModelStore

MINUTE_MS, QUARTER_MS = 60_000, 900_000
MINUTE, QUARTER = NOW - NOW % MINUTE_MS, NOW - NOW % QUARTER_MS


def minute(
    back: int, kind: ActivityKind = "delivery", detail: str = "routed", count: int = 1, **ms: int
) -> ActivityCount:
    at = MINUTE - back * MINUTE_MS
    return ActivityCount(MINUTE_S, at, kind, "x", detail, count, **ms)


def quarter(back: int, count: int = 1, detail: str = "routed") -> ActivityCount:
    return ActivityCount(QUARTER_S, QUARTER - back * QUARTER_MS, "delivery", "x", detail, count)


async def read(*counts: ActivityCount) -> Activity:
    store = ModelStore(ManualClock(NOW))
    await store.count_activity(counts)
    activity = await Activity.read(store.reads, NOW)
    await activity.read_hours(store.reads, ["x"])
    return activity


async def test_a_chart_has_sixty_minutes_or_a_day_of_quarters_the_last_is_now() -> None:
    minutes = (minute(60, count=9), minute(59, count=2), minute(0), minute(0, detail="duplicate"))
    hour, day = (await read(*minutes, quarter(95, 3), quarter(96, 9))).charts()
    assert hour.deliveries == (2, *[0] * 58, 2)
    assert hour.begins_at == MINUTE - 59 * MINUTE_MS
    assert (day.deliveries[0], sum(day.deliveries), len(day.deliveries)) == (3, 3, 96)
    assert (hour.step_s, day.step_s) == (60, 900)


async def test_what_failed_and_died_and_was_refused_has_its_own_bars() -> None:
    activity = await read(
        minute(1, "attempt", "failed", 2),
        minute(1, "attempt", "dead", 3),
        minute(1, "attempt", "succeeded", 7),
        minute(1, "refusal", "bad_signature", 4),
    )
    hour, _ = activity.charts()
    found = (hour.failed[-2], hour.dead[-2], hour.refused[-2], hour.deliveries[-2])
    assert found == (5, 3, 4, 0)


async def test_what_a_clock_ahead_has_counted_is_now() -> None:
    hour, _ = (await read(minute(-3))).charts()
    assert hour.deliveries[-1] == 1


async def test_sums_are_of_the_hour_and_of_the_day_and_of_some_details() -> None:
    quarters = (quarter(0, 2), quarter(5, 4), quarter(5, 1, "failed"))
    activity = await read(minute(3, count=2), *quarters)
    assert activity.sums("delivery", "x") == Sums(2, 7)
    assert activity.sums("delivery", "x", FAILED) == Sums(0, 1)
    assert activity.sums("delivery", "y") == Sums()
    assert activity.hourly("delivery", "x") == (*[0] * 22, 5, 2)
    assert activity.hourly("delivery", "y") == (0,) * 24
    assert set(activity.details("delivery", "x")) == {"routed", "failed"}
    assert activity.names("delivery", "refusal") == {"x"}


async def test_how_long_calls_took_is_of_what_ran() -> None:
    activity = await read(
        minute(1, "attempt", "succeeded", 3, total=60, most=30),
        minute(0, "attempt", "failed", 1, total=40, most=40),
        minute(0, "attempt", "skipped", 9),
    )
    assert activity.took("x") == (25, 40)
    assert activity.took("y") == (None, None)


async def test_sizes_of_the_store_and_the_last_delivery_are_what_was_measured() -> None:
    at = QUARTER - QUARTER_MS
    activity = await read(
        ActivityCount(QUARTER_S, at, "store", "", "", 1, most=70),
        ActivityCount(EVER, 0, "delivery", "shop", "", 1, most=NOW - 5),
    )
    assert activity.sizes == [(at, 70)]
    assert activity.last_delivery == {"shop": NOW - 5}
    assert not any(activity.charts()[1].deliveries)
