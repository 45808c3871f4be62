"""Which deliveries retention lets go: judged by how long ago their jobs have ended."""

from collections.abc import Sequence
from typing import Any

import msgspec

from router.model.settings import DAY_MS
from router.store.common.states import DEAD
from router.store.postgres.database import Tx
from router.store.values import Retain

WINDOW = 10_000
"""Deliveries looked at in one query."""
WINDOWS = 5
"""A search looks at so many windows in one step."""


class Ages(msgspec.Struct, frozen=True):
    """The times of a Retain, and the present, as times are recorded."""

    succeeded: int
    unmatched: int
    dead: int
    finished: int
    now: int

    @classmethod
    def of(cls, retain: Retain, now: int, ahead: int) -> "Ages":
        """`ahead`: by how much recorded time is ahead of ledger time, as of which it is `now`."""
        return cls(
            retain.succeeded_before + ahead,
            retain.unmatched_before + ahead,
            retain.dead_before + ahead,
            (retain.finished_before or 0) + ahead,
            now + ahead,
        )

    def days(self) -> int:
        """The days (since 1970) before this one go at once: by their age, or to make room."""
        return max(self.expired(), min(self.finished, self.now) // DAY_MS)

    def expired(self) -> int:
        """The days before this one have ended so long ago that they go at once."""
        return min(self.succeeded, self.unmatched, self.now) // DAY_MS

    def singles(self) -> int:
        """Of later days single deliveries may go that came before this: there is no hurry."""
        latest = max(self.succeeded, self.unmatched, self.dead)
        return max(latest // DAY_MS * DAY_MS, self.finished)

    def reaches(self, other: "Ages") -> bool:
        """Whether everything may go that may go by the other's."""
        own, others = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return all(time >= before for time, before in zip(own, others, strict=True))


BETWEEN = "{0} >= $5 AND {0} < $6"
AMONG = "{0} = ANY ($5)"


async def judged(
    tx: Tx, ages: Ages, which: str, *values: Any, kept: bool, more: str = ""
) -> Sequence[Any]:
    """
    Deliveries in the order of their ids, each with `may_go` and `more` aggregates over its jobs `j`
    and itself `d`. `which` says of an id whether it is meant.
    """
    side = "kept" if kept else "NOT kept"
    return await tx.all(
        f"""
        SELECT judged.*, NOT is_open AND (received_at < $4 OR ended_at < before) AS may_go FROM (
            SELECT d.id, d.received_at, coalesce(max(j.ended_at), d.received_at) AS ended_at,
                count(*) FILTER (WHERE j.id IS NOT NULL AND j.state IS NULL) > 0 AS is_open,
                CASE WHEN count(j.id) = 0 THEN $2::bigint
                ELSE min(CASE j.state WHEN {DEAD} THEN $3::bigint ELSE $1::bigint END)
                END AS before {more}
            FROM (SELECT * FROM deliveries d WHERE {side} AND {which.format("d.id")}) d
            LEFT JOIN (SELECT * FROM jobs j WHERE {side} AND {which.format("j.delivery")}) j
            ON j.delivery = d.id
            GROUP BY d.id, d.received_at
        ) judged ORDER BY id
        """,
        ages.succeeded,
        ages.unmatched,
        ages.dead,
        ages.finished,
        *values,
    )


async def next_window(tx: Tx, first: str, end: str, *, kept: bool) -> str:
    """Where the window ends that begins at an id: the first id of the next one, or `end`."""
    side = "kept" if kept else "NOT kept"
    id_ = await tx.one(
        f"SELECT id FROM deliveries WHERE {side} AND id >= $1 AND id < $2 ORDER BY id "
        "OFFSET $3 LIMIT 1",
        first,
        end,
        WINDOW,
    )
    return end if id_ is None else f"dlv_{id_}"
