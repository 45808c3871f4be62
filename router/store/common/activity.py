"""What happened in spans of time: the same statements for every store."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from router.model.activity import ACTIVITY_KEPT_MS, QUARTER_S, ActivityCount

ADD = (
    "INSERT INTO activity AS kept (span_s, at, kind, name, detail, count, total, most) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (span_s, at, kind, name, detail) DO UPDATE SET "
    "count = kept.count + excluded.count, total = kept.total + excluded.total, "
    "most = CASE WHEN kept.most > excluded.most THEN kept.most ELSE excluded.most END"
)
PRUNE = "DELETE FROM activity WHERE span_s = ? AND at < ?"

_READ = (
    "SELECT min(at), kind, {name}, detail, CAST(sum(count) AS bigint), CAST(sum(total) AS bigint), "
    "max(most) FROM activity WHERE span_s = ? AND at >= ? {also}"
    "GROUP BY {by}, kind, detail ORDER BY 1, 2, 3, 4"
)
BY_SPAN = _READ.format(name="''", also="", by="at")
BY_NAME = _READ.format(name="name", also="", by="name")
"""Both are asked for the seconds of spans, and since when."""

Question = tuple[str, list[Any]]
"""SQL and its values."""


def by_hour(since: int, names: Collection[str]) -> Question:
    """Of these names, from the quarters."""
    also = f"AND name IN ({', '.join('?' * len(names)) or 'NULL'}) "
    sql = _READ.format(name="name", also=also, by="(at - ?) / 3600000, name")
    return sql, [QUARTER_S, since, *names, since]


def rows(counts: Iterable[ActivityCount]) -> list[tuple[Any, ...]]:
    """For ADD: always in one order, so that nodes that add at once do not wait for each other."""
    return sorted(map(msgspec.structs.astuple, counts))


def to_activity(span_s: int, found: Iterable[Sequence[Any]]) -> tuple[ActivityCount, ...]:
    """From what was read."""
    return tuple([ActivityCount(span_s, *row) for row in found])


def old(now: int) -> list[tuple[int, int]]:
    """For PRUNE, as of this wall time."""
    return [(span_s, now - kept) for span_s, kept in ACTIVITY_KEPT_MS.items()]
