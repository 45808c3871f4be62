"""An overview of a router that has some trouble, for what shows one."""

from router.model.activity import MINUTE_S, QUARTER_S, ActivityCount
from router.operator.activity import Activity
from router.operator.overview_answer import (
    Attention,
    DeadLetters,
    EndpointActivity,
    Overview,
    RefusedSums,
    RulesInForce,
    StoreFill,
    Sums,
    TargetActivity,
    WaitingWork,
)
from tests.builders import NOW

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
DAY = (3, 2, 2, 1, 1, 2, 4, 9, 14, 18, 21, 20, 17, 19, 22, 24, 21, 16, 12, 9, 7, 6, 5, 4)
"""Deliveries by the hour."""
NONE = (0,) * 24


def activity() -> Activity:
    """Deliveries all day long, and half an hour of failures."""
    minutes, quarters = [], []
    for back in range(60):
        at = NOW - NOW % MINUTE_MS - back * MINUTE_MS
        came = (9, 4, 7, 12, 6, 8, 3, 7)[back // 3 % 8]
        minutes.append(ActivityCount(MINUTE_S, at, "delivery", "shop", "routed", came))
        if back == 5:
            minutes.append(ActivityCount(MINUTE_S, at, "refusal", "code", "bad_signature", 4))
        if back < 30:
            minutes.append(ActivityCount(MINUTE_S, at, "attempt", "erp", "failed", 1 + back % 3))
    for hour, came in enumerate(reversed(DAY)):
        at = NOW - NOW % (QUARTER_S * 1000) - hour * HOUR_MS
        quarters.append(ActivityCount(QUARTER_S, at, "delivery", "shop", "routed", came * 20))
        if hour == 0:
            quarters.append(ActivityCount(QUARTER_S, at, "attempt", "erp", "failed", 60))
            quarters.append(ActivityCount(QUARTER_S, at, "refusal", "code", "bad_signature", 4))
    return Activity(minutes, quarters, (), NOW)


def an_overview() -> Overview:
    """A target is down; all else is well."""
    hour, day = activity().charts()
    return Overview(
        at=NOW,
        attention=(
            Attention("target", "the target erp is failing; 60 jobs wait", "router targets", "erp"),
            Attention("dead", "2 dead letters", "router dead"),
        ),
        hour=hour,
        day=day,
        endpoints=(
            EndpointActivity(
                "shop", "shopify", Sums(408, 5084), Sums(), DAY, NONE, NOW - 9_000
            ),
            EndpointActivity(
                "code", "github", Sums(12, 96), Sums(4, 4), NONE, NONE, NOW - 7 * MINUTE_MS
            ),
        ),
        targets=(
            TargetActivity(
                "erp", "failing", Sums(181, 2410), Sums(60, 60), Sums(2, 2),
                DAY, NONE, 2_310, 30_000, 60, 2, NOW - 4 * MINUTE_MS,
            ),
            TargetActivity(
                "chat", "healthy", Sums(240, 2700), Sums(), Sums(),
                DAY, NONE, 84, 410, 0, 0, None,
            ),
        ),
        refusals=(RefusedSums("code", "bad_signature", Sums(4, 4)),),
        waiting=WaitingWork(
            {"available": 3, "waiting": 0, "retryable": 57, "running": 1},
            NOW - 4 * MINUTE_MS,
            "erp",
        ),
        dead=DeadLetters(2, "job_01ARZ3NDEKTSV4RRFFQ69G5FAV", NOW - 12 * MINUTE_MS),
        nodes=(),
        store=StoreFill(1_720_000_000, 10 << 30, 16, 38_000_000, NOW + 212 * 24 * HOUR_MS),
        rules=RulesInForce("65dea2efa761bac13adc", 12, NOW - 26 * HOUR_MS, None, None),
    )  # fmt: skip
