"""What happened in spans of time: the same statements for every store."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from router.model.activity import ACTIVITY_KEPT_MS, ActivityCount

ADD = (
    "INSERT INTO activity AS kept (span_s, at, kind, name, detail, count, total, most) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (span_s, at, kind, name, detail) DO UPDATE SET "
    "count = kept.count + excluded.count, total = kept.total + excluded.total, "
    "most = CASE WHEN kept.most > excluded.most THEN kept.most ELSE excluded.most END"
)
READ = (
    "SELECT span_s, at, kind, name, detail, count, total, most FROM activity "
    "WHERE span_s = ? AND at >= ? ORDER BY at, kind, name, detail"
)
PRUNE = "DELETE FROM activity WHERE span_s = ? AND at < ?"


def rows(counts: Iterable[ActivityCount]) -> list[tuple[Any, ...]]:
    """For ADD: always in one order, so that nodes that add at once do not wait for each other."""
    return sorted(map(msgspec.structs.astuple, counts))


def to_activity(found: Iterable[Sequence[Any]]) -> tuple[ActivityCount, ...]:
    """From rows of READ."""
    return tuple([ActivityCount(*row) for row in found])


def old(now: int) -> list[tuple[int, int]]:
    """For PRUNE, as of this wall time."""
    return [(span_s, now - kept) for span_s, kept in ACTIVITY_KEPT_MS.items()]
