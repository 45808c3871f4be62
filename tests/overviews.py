"""An overview of a router that has some trouble, for what shows one."""

from router.operator.overview_answer import (
    Attention,
    Chart,
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

MINUTE_MS, QUARTER_MS, HOUR_MS = 60_000, 900_000, 3_600_000
DAY = (3, 2, 2, 1, 1, 2, 4, 9, 14, 18, 21, 20, 17, 19, 22, 24, 21, 16, 12, 9, 7, 6, 5, 4)
"""Deliveries by the hour."""
NONE = (0,) * 24


def charts() -> tuple[Chart, Chart]:
    """Deliveries all day long, and half an hour of failures."""
    came = tuple([(9, 4, 7, 12, 6, 8, 3, 7)[minute // 3 % 8] for minute in range(60)])
    refused = (*NONE, *NONE, *NONE[:6], 4, *NONE[:5])
    failed = tuple([1 + minute % 3 if minute >= 30 else 0 for minute in range(60)])
    hour = Chart(NOW - NOW % MINUTE_MS - 59 * MINUTE_MS, 60, came, refused, failed, NONE + NONE)
    at = NOW - NOW % QUARTER_MS - 95 * QUARTER_MS
    quarters = tuple([count * 5 for count in DAY for _ in range(4)])
    late = (*[0] * 95,)
    day = Chart(at, 900, quarters, (*late, 4), (*late, 60), (*late, 2))
    return hour, day


def an_overview() -> Overview:
    """A target is down; all else is well."""
    hour, day = charts()
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
