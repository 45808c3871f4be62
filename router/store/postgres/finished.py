"""Which deliveries retention lets go: judged by how long ago their jobs have ended."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.model.settings import DAY_MS
from router.store.common.states import DEAD
from router.store.postgres.database import Tx
from router.store.removal import Retain

WINDOW = 10_000
"""Deliveries looked at in one query."""
WINDOWS = 5
"""A search looks at so many windows in one step."""


class Ages(msgspec.Struct, frozen=True):
    """
    The times of a Retain, and the present, as times are recorded. Some `endpoints` have times of
    their own, as the first three; behind them is the latest by which anything of theirs may go.
    """

    succeeded: int
    unmatched: int
    dead: int
    finished: int
    now: int
    endpoints: Mapping[str, Sequence[int]] = {}

    @classmethod
    def of(cls, retain: Retain, now: int, ahead: int) -> "Ages":
        """`ahead`: by how much recorded time is ahead of ledger time, as of which it is `now`."""
        finished = (retain.finished_before or 0) + ahead
        endpoints = {}
        for name, own in retain.endpoints.items():
            times = [time + ahead for time in msgspec.structs.astuple(own)]
            endpoints[name] = [*times, max(*times, finished)]
        return cls(
            retain.succeeded_before + ahead,
            retain.unmatched_before + ahead,
            retain.dead_before + ahead,
            finished,
            now + ahead,
            endpoints,
        )

    def days(self) -> int:
        """The days (since 1970) before this one go at once: by their age, or to make room."""
        return max(self.expired(), min(self.finished, self.now) // DAY_MS)

    def expired(self) -> int:
        """The days before this one have ended so long ago that they go at once."""
        return min(self.succeeded, self.unmatched, self.now) // DAY_MS

    def singles(self) -> int:
        """
        Of later days single deliveries may go that came before this. There is no hurry, but for an
        endpoint that keeps its own for less.
        """
        latest = max(self.succeeded, self.unmatched, self.dead)
        own = [times[-1] for times in self.endpoints.values()]
        return max(latest // DAY_MS * DAY_MS, self.finished, *own)

    def reaches(self, other: "Ages") -> bool:
        """Whether everything may go that may go by the other's."""
        times, others = self.times(), other.times()
        return times.keys() == others.keys() and all(times[one] >= others[one] for one in others)

    def times(self) -> dict[tuple[str, int], int]:
        """Each by its endpoint, "" for all others, and its place."""
        usual = (self.succeeded, self.unmatched, self.dead, self.finished, self.now)
        each = {"": usual, **self.endpoints}
        return {(name, n): time for name, times in each.items() for n, time in enumerate(times)}


BETWEEN = "{0} >= $6 AND {0} < $7"
AMONG = "{0} = ANY ($6)"
_OF = "coalesce(($5::text::jsonb -> d.endpoint ->> {0})::bigint, {1})"
_SUCCEEDED, _UNMATCHED, _DEAD = (_OF.format(n, f"${n + 1}::bigint") for n in range(3))
_LATEST = "greatest($1::bigint, $2::bigint, $3::bigint, $4::bigint)"
MAY_BE_OLD = f"AND d.received_at < {_OF.format(3, _LATEST)}"
"""That a delivery `d` came so long ago that it may go at all."""


async def judged(
    tx: Tx, ages: Ages, which: str, *values: Any, kept: bool, more: str = "", only: str = ""
) -> Sequence[Any]:
    """
    Deliveries in the order of their ids, each with `may_go` and `more` aggregates over its jobs `j`
    and itself `d`. `which` says of an id whether it is meant, `only` more of the delivery `d`.
    """
    side = "kept" if kept else "NOT kept"
    return await tx.all(
        f"""
        SELECT judged.*, NOT is_open AND (received_at < $4 OR ended_at < before) AS may_go FROM (
            SELECT d.id, d.received_at, coalesce(max(j.ended_at), d.received_at) AS ended_at,
                count(*) FILTER (WHERE j.id IS NOT NULL AND j.state IS NULL) > 0 AS is_open,
                CASE WHEN count(j.id) = 0 THEN {_UNMATCHED}
                ELSE min(CASE j.state WHEN {DEAD} THEN {_DEAD} ELSE {_SUCCEEDED} END)
                END AS before {more}
            FROM (SELECT * FROM deliveries d WHERE {side} AND {which.format("d.id")} {only}) d
            LEFT JOIN (SELECT * FROM jobs j WHERE {side} AND {which.format("j.delivery")}) j
            ON j.delivery = d.id
            GROUP BY d.id, d.received_at, d.endpoint
        ) judged ORDER BY id
        """,
        ages.succeeded,
        ages.unmatched,
        ages.dead,
        ages.finished,
        msgspec.json.encode(ages.endpoints).decode(),
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
