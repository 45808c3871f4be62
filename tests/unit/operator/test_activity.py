"""Charts and sums of what was counted."""

from router.model.activity import MINUTE_S, QUARTER_S, ActivityCount, ActivityKind
from router.operator.activity import FAILED, Activity
from router.operator.overview_answer import Sums
from tests.builders import NOW

MINUTE_MS, QUARTER_MS = 60_000, 900_000
MINUTE, QUARTER = NOW - NOW % MINUTE_MS, NOW - NOW % QUARTER_MS


def minute(
    back: int, kind: ActivityKind = "delivery", detail: str = "routed", count: int = 1, **ms: int
) -> ActivityCount:
    at = MINUTE - back * MINUTE_MS
    return ActivityCount(MINUTE_S, at, kind, "x", detail, count, **ms)


def quarter(back: int, count: int = 1, detail: str = "routed") -> ActivityCount:
    return ActivityCount(QUARTER_S, QUARTER - back * QUARTER_MS, "delivery", "x", detail, count)


def test_a_chart_has_sixty_minutes_or_a_day_of_quarters_the_last_is_now() -> None:
    minutes = (minute(60, count=9), minute(59, count=2), minute(0), minute(0, detail="duplicate"))
    hour, day = Activity(minutes, (quarter(95, 3), quarter(96, 9)), (), NOW).charts()
    assert hour.deliveries == (2, *[0] * 58, 2)
    assert hour.begins_at == MINUTE - 59 * MINUTE_MS
    assert (day.deliveries[0], sum(day.deliveries), len(day.deliveries)) == (3, 3, 96)
    assert (hour.step_s, day.step_s) == (60, 900)


def test_what_failed_and_died_and_was_refused_has_its_own_bars() -> None:
    minutes = (
        minute(1, "attempt", "failed", 2),
        minute(1, "attempt", "dead", 3),
        minute(1, "attempt", "succeeded", 7),
        minute(1, "refusal", "bad_signature", 4),
    )
    hour, _ = Activity(minutes, (), (), NOW).charts()
    found = (hour.failed[-2], hour.dead[-2], hour.refused[-2], hour.deliveries[-2])
    assert found == (5, 3, 4, 0)


def test_what_a_clock_ahead_has_counted_is_now() -> None:
    hour, _ = Activity((minute(-3),), (), (), NOW).charts()
    assert hour.deliveries[-1] == 1


def test_sums_are_of_the_hour_and_of_the_day_and_of_some_details() -> None:
    quarters = (quarter(0, 2), quarter(5, 4), quarter(5, 1, "failed"))
    activity = Activity((minute(3, count=2),), quarters, (), NOW)
    assert activity.sums("delivery", "x") == Sums(2, 7)
    assert activity.sums("delivery", "x", FAILED) == Sums(0, 1)
    assert activity.sums("delivery", "y") == Sums()
    assert activity.hourly("delivery", "x") == (*[0] * 22, 5, 2)
    assert activity.details("delivery", "x") == {"routed", "failed"}
    assert activity.names("delivery", "refusal") == {"x"}


def test_how_long_calls_took_is_of_what_ran() -> None:
    minutes = (
        minute(1, "attempt", "succeeded", 3, total=60, most=30),
        minute(0, "attempt", "failed", 1, total=40, most=40),
        minute(0, "attempt", "skipped", 9),
    )
    assert Activity(minutes, (), (), NOW).took("x") == (25, 40)
    assert Activity((), (), (), NOW).took("x") == (None, None)
