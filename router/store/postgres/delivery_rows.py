"""New deliveries and their keys as rows."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from router.model.delivery import DeliveryEvent
from router.model.job import NewJob
from router.store.common.claims import Claim
from router.store.common.columns import encode_events, encode_meta, encode_names
from router.store.common.run_changes import NewRun
from router.store.common.states import DELIVERY_STATE
from router.store.postgres.job_rows import JobRow, columns, job_row, unnested
from router.store.postgres.texts import escape
from router.store.values import Acceptance

KEY_TYPES = {"key": "bytea", "delivery": "uuid", "until": "bigint"}
DELIVERY_TYPES = {
    "id": "uuid",
    "endpoint": "text",
    "state": "smallint",
    "received_at": "bigint",
    "generation": "integer",
    "names": "text",
    "events": "bytea",
    "meta": "bytea",
    "body": "bytea",
}
_COLUMNS = ", ".join(DELIVERY_TYPES)

TAKE_KEYS = (
    f"INSERT INTO keys SELECT * FROM {unnested(KEY_TYPES, 1, 'k')} ON CONFLICT (key) DO UPDATE "
    "SET delivery = excluded.delivery, until = excluded.until WHERE keys.until <= $4"
)
"""
Keys that are free, or have ended by the time `$4`. One that another transaction takes is waited
for; it stays locked, like all the others, until we commit.
"""


def storing(first: int, condition: str = "") -> str:
    """The insertion of deliveries whose columns are given as `$first` and on: those not there."""
    return (
        f"INSERT INTO deliveries ({_COLUMNS}) "
        f"SELECT {_COLUMNS} FROM {unnested(DELIVERY_TYPES, first, 'n')} {condition} "
        "ON CONFLICT DO NOTHING RETURNING id"
    )


def key_columns(claims: Iterable[Claim]) -> list[Sequence[Any]]:
    """Claims for TAKE_KEYS, in the order in which everybody locks keys."""
    return columns(sorted(claims), len(KEY_TYPES))


class NewRows:
    """
    The rows of new deliveries, of jobs by themselves and of each delivery's `runs`, made at `wall`
    time. `due` are targets of jobs that may start. `numbers` has their generations.
    """

    def __init__(self, numbers: Mapping[str, int], wall: int) -> None:
        self._numbers, self._wall = numbers, wall
        self._deliveries: list[Sequence[Any]] = []
        self.jobs: list[JobRow] = []
        self.rules: set[tuple[str, int]] = set()
        self.due: set[str] = set()
        self.runs: dict[str, list[NewRun]] = {}

    def add(self, one: Acceptance, events: Sequence[DeliveryEvent], jobs: Iterable[NewJob]) -> None:
        """A delivery with those of its events and jobs that are new."""
        delivery, numbers = one.delivery, self._numbers
        own = numbers[delivery.generation]
        self._deliveries.append(
            (
                delivery.id,
                delivery.endpoint,
                DELIVERY_STATE[delivery.state],
                delivery.received_at,
                own,
                escape(encode_names(events)),
                encode_events(events, one.keys_until),
                encode_meta(delivery),
                delivery.body,
            )
        )
        runs: dict[str, list[tuple[NewJob, JobRow]]] = {}
        for job in jobs:
            generation = own if job.generation is None else numbers[job.generation]
            row = job_row(job, delivery.id, generation, self._wall)
            self.rules.add((job.rule, generation))
            if job.state == "available":
                self.due.add(job.target)
            if job.run is None:
                self.jobs.append(row)
            else:
                runs.setdefault(job.run, []).append((job, row))
        if runs:
            self.runs[delivery.id] = [_new_run(members) for members in runs.values()]

    @property
    def deliveries(self) -> list[Sequence[Any]]:
        """In the order in which everybody stores them: two may wait for each other's commit."""
        self._deliveries.sort(key=itemgetter(0))
        return self._deliveries


def _new_run(members: Sequence[tuple[NewJob, JobRow]]) -> NewRun:
    return NewRun([job for job, _ in members], [row for _, row in members], members[0][0].turn)


def generations(group: Iterable[Acceptance]) -> set[str]:
    """Those that the rows of a group refer to."""
    named = {one.delivery.generation for one in group}
    named.update([j.generation for one in group for j in one.jobs if j.generation is not None])
    return named
