"""What happened in spans of time: how often, and what was measured. Times in Unix milliseconds."""

from collections.abc import Mapping
from typing import Literal

import msgspec

ActivityKind = Literal["delivery", "refusal", "attempt", "store"]
"""
delivery  a genuine delivery of an endpoint, by what became of it
refusal   a request that an endpoint refused, by reason
attempt   an attempt of a target, by its outcome (`dead`: so is its job); in milliseconds
store     how large the store was when the span began; in bytes
"""

EVER, MINUTE_S, QUARTER_S, HOUR_S = 0, 60, 900, 3_600
"""Spans of time in seconds; activity is counted by all but the last."""
ACTIVITY_KEPT_MS: Mapping[int, int] = {MINUTE_S: 65 * 60_000, QUARTER_S: 25 * 3_600_000}
"""For how long a span is kept, by its seconds; what was counted for ever stays."""


class ActivityCount(msgspec.Struct, frozen=True):
    """
    How often something happened to `name` in a span of time, in `detail` how; `total` and `most`
    are the sum and the greatest of what was measured. The span began `at` (wall time) and has
    `span_s` seconds. For EVER only deliveries are counted; `most` is about when the last one came.
    """

    span_s: int
    at: int
    kind: ActivityKind
    name: str
    detail: str
    count: int
    total: int = 0
    most: int = 0
