"""New jobs as rows: one of `jobs`, which is written again at the end, and one of `queue`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from router.kinds import KINDS
from router.model.job import NewJob
from router.store.common.chains import PAUSED, Member
from router.store.common.columns import encode_needs
from router.store.common.states import AVAILABLE, STATE, WAITING
from router.store.postgres.database import Tx
from router.store.postgres.texts import escape

JobRow = Sequence[Any]

JOB_TYPES = {
    "id": "uuid",
    "delivery": "uuid",
    "target": "text",
    "rule": "text",
    "action": "text",
    "kind": "smallint",
    "event_index": "integer",
    "event_id": "uuid",
    "event": "text",
    "created_at": "bigint",
    "generation": "integer",
    "covers": "text",
    "replay_of": "text",
    "replay": "integer",
    "run": "uuid",
    "needs": "text",
    "state": "smallint",
    "due_at": "bigint",
    "waits": "smallint",
    "attempt": "integer",
    "lease": "text",
    "started_at": "bigint",
    "kept": "boolean",
}
_RUN = 14
_JOB = (
    "id, delivery, target, rule, action, kind, event_index, event_id, event, created_at, "
    "generation, covers, replay_of, replay, run, needs, kept"
)
_QUEUE = (
    "job, delivery, run, target, rule, state, replayed, due_at, waits, attempt, lease, started_at"
)


def job_row(
    job: NewJob,
    delivery: str,
    generation: int,
    wall: int,
    replay: int | None = None,
    *,
    kept: bool = False,
) -> JobRow:
    """
    A new job by itself, made at `wall` time, as `insert` takes it; one that is `running` is
    committed already leased. `replay` is the number of the one that makes it. `kept` is as its
    delivery's: they lie together.
    """
    begun = job.state == "running"
    return (
        job.id,
        delivery,
        job.target,
        job.rule,
        job.action,
        KINDS[job.kind].number,
        job.event_index,
        job.event_id,
        escape(job.event),
        wall,
        generation,
        f"{{{','.join(map(str, job.covers))}}}" if job.covers else None,
        job.replay_of,
        replay,
        None,
        None,
        STATE[job.state],
        job.due_at,
        PAUSED if job.state == "waiting" else 0,
        1 if begun else 0,
        job.lease if begun else None,
        wall if begun else None,
        kept,
    )


def linked(row: JobRow, run: str, member: Member) -> JobRow:
    """The same of a job that is a member of a run, which is known by its first job, and is open."""
    state = WAITING if member.ended else STATE[member.state]
    standing = (run, encode_needs(member.needs), state, member.due_at, member.waits)
    return (*row[:_RUN], *standing, *row[_RUN + len(standing) :])


def columns(rows: Sequence[Sequence[Any]], count: int = len(JOB_TYPES)) -> list[Sequence[Any]]:
    """Rows turned, an array for each of their columns."""
    return list(zip(*rows, strict=True)) if rows else [()] * count


def unnested(types: Mapping[str, str], first: int, name: str) -> str:
    """Rows of arrays that are given as `$first` and on, as a table of this name."""
    arrays = ", ".join([f"${n}::{kind}[]" for n, kind in enumerate(types.values(), first)])
    return f"unnest({arrays}) AS {name} ({', '.join(types)})"


def inserting(first: int, condition: str = "") -> str:
    """
    Queries of a WITH that insert the rows whose columns are given as `$first` and on; `queued` has
    the state of each.
    """
    jobs = _JOB.replace("covers", "covers::integer[]")
    queue = _QUEUE.replace("job", "id").replace("replayed", "replay IS NOT NULL")
    return (
        f"made AS (SELECT * FROM {unnested(JOB_TYPES, first, 'n')} {condition}), "
        f"jobs_made AS (INSERT INTO jobs ({_JOB}) SELECT {jobs} FROM made), "
        f"queued AS (INSERT INTO queue ({_QUEUE}) SELECT {queue} FROM made RETURNING state)"
    )


_INSERT = f"WITH {inserting(1)} SELECT"


async def insert(tx: Tx, rows: Sequence[JobRow]) -> None:
    """Insert these rows of `job_row`."""
    if rows:
        await tx.run(_INSERT, *columns(rows))


_REOPEN = f"""
    WITH opened AS (
        UPDATE jobs SET state = NULL, ended_at = NULL, reason = NULL
        WHERE delivery = ANY ($1) AND id = ANY ($2) AND state IS NOT NULL RETURNING *
    )
    INSERT INTO queue ({_QUEUE}, charged, deaths)
    SELECT id, delivery, run, target, rule, {AVAILABLE}, replay IS NOT NULL, due_at, 0, attempt,
        NULL, started_at, charged, deaths FROM opened
"""


async def reopen(tx: Tx, deliveries: Collection[str], jobs: Collection[str]) -> None:
    """
    These jobs of these deliveries are open again, and available, if they had ended; those of runs
    within `runs.changing`.
    """
    if jobs:
        await tx.run(_REOPEN, sorted(deliveries), sorted(jobs))
