"""Ends of attempts as they are written: the queue's row, the job's, the attempt's."""

from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Any

from router.model.job import ENDED, Settlement
from router.store.common.columns import encode_json
from router.store.common.states import DEAD, OUTCOME, STATE
from router.store.postgres.database import Tx
from router.store.postgres.job_rows import unnested
from router.store.postgres.texts import escape

End = tuple[str, Settlement]
"""The delivery of a job, and how its attempt has ended."""

_GIVEN = {
    "job": "uuid",
    "lease": "text",
    "number": "integer",
    "outcome": "smallint",
    "why": "text",
    "state": "smallint",
    "due_at": "bigint",
    "reason": "text",
    "charged": "integer",
    "started_at": "bigint",
    "ended_at": "bigint",
    "result": "bytea",
    "generation": "integer",
}
_PLACE = "array_position($1::uuid[], queue.job)"
# Not joined: the planner would read all of the queue when it was empty when it was counted last.
# Nor by the index of leased jobs.
_LEASED = (
    "queue.job = ANY($1::uuid[]) "
    f"AND CASE WHEN queue.lease = ($2::text[])[{_PLACE}] THEN true ELSE false END"
)
_COLUMN = {name: f"(${n}::{kind}[])[{{0}}]" for n, (name, kind) in enumerate(_GIVEN.items(), 1)}
_REST = ", ".join(
    [f"{at.format('place')} AS {name}" for name, at in _COLUMN.items() if name != "job"]
)
_OF = "jobs.delivery = {0}.delivery AND jobs.id = {0}.job"
_BETWEEN = f"jobs.delivery BETWEEN ${len(_GIVEN) + 1}::uuid AND ${len(_GIVEN) + 2}::uuid"
_DIED = f"${len(_GIVEN) + 3}::integer"
_ATTEMPT = "job, number, kept, lease, started_at, ended_at, outcome, reason, result, generation"
_END = "job, number, kept, lease, started_at, ended_at, outcome, why, result, generation"


def _at(name: str) -> str:
    """What is given of this row of the queue."""
    return _COLUMN[name].format(_PLACE)


_AGAIN = f"""
    , given_back AS (
        UPDATE queue SET state = {_at("state")}, lease = NULL,
            due_at = coalesce({_at("due_at")}, queue.due_at),
            charged = queue.charged + {_at("charged")},
            deaths = CASE {_at("charged")} WHEN 0 THEN queue.deaths + {_DIED} ELSE 0 END
        WHERE {_LEASED} AND {_at("state")} < {DEAD}
        RETURNING {_PLACE} AS place, job, delivery
    ), again AS (
        SELECT *, {_REST} FROM given_back
    ), back AS (
        UPDATE jobs SET reason = a.reason FROM again a WHERE {_OF.format("a")} AND {_BETWEEN}
        RETURNING a.*, jobs.kept AS kept
    )
"""


# Partitions that no id of the group lies in are left out when the statement begins.
def _statement(again: str) -> str:
    kept = f"UNION ALL SELECT {_END} FROM back" if again else ""
    return f"""
    WITH gone AS (
        DELETE FROM queue WHERE {_LEASED} AND {_at("state")} >= {DEAD}
        RETURNING {_PLACE} AS place, job, delivery, attempt, charged AS spent, deaths,
            due_at AS was_due, started_at AS began
    ), ended AS (
        SELECT *, {_REST} FROM gone
    ), over AS (
        UPDATE jobs SET state = e.state, due_at = coalesce(e.due_at, e.was_due),
            attempt = e.attempt, charged = e.spent + e.charged,
            deaths = CASE e.charged WHEN 0 THEN e.deaths + {_DIED} ELSE 0 END,
            started_at = e.began, ended_at = e.ended_at, reason = e.reason
        FROM ended e WHERE {_OF.format("e")} AND {_BETWEEN}
        RETURNING e.*, jobs.kept AS kept
    ) {again}, noted AS (
        INSERT INTO attempts ({_ATTEMPT}) SELECT {_END} FROM over {kept} ON CONFLICT DO NOTHING
    )
    SELECT job FROM over {"UNION ALL SELECT job FROM back" if again else ""}
    """


_ENDS, _ENDS_AND_RETRIES = _statement(""), _statement(_AGAIN)
_WRITTEN = f"""
    SELECT a.job FROM {unnested(dict(islice(_GIVEN.items(), 5)), 1, "v")}
    JOIN attempts a ON a.job = v.job AND a.number = v.number AND a.lease = v.lease
        AND a.outcome = v.outcome AND a.reason IS NOT DISTINCT FROM v.why
"""


async def write(
    tx: Tx, ends: Sequence[End], numbers: Mapping[str, int], *, died: int = 0
) -> Set[str]:
    """
    Write these ends, as far as their leases still hold; the jobs whose lease did. `numbers` are
    those of the generations; `died` is 1 if these attempts ended with their process.
    """
    if not ends:
        return frozenset()
    rows = [(*_fence(end), *_rest(end, numbers)) for _, end in ends]
    sql = _ENDS if all(end.state in ENDED for _, end in ends) else _ENDS_AND_RETRIES
    deliveries = [delivery for delivery, _ in ends]
    columns = zip(*rows, strict=True)
    return await _jobs(tx, sql, *columns, min(deliveries), max(deliveries), died)


async def written(tx: Tx, ends: Sequence[Settlement]) -> Set[str]:
    """The jobs of those among these whose end is there already, by this lease."""
    rows = [_fence(end) for end in ends]
    return await _jobs(tx, _WRITTEN, *zip(*rows, strict=True)) if rows else frozenset()


async def _jobs(tx: Tx, sql: str, *values: Any) -> Set[str]:
    return {f"job_{job}" for (job,) in await tx.all(sql, *values)}


def _fence(settlement: Settlement) -> Sequence[Any]:
    """What tells an attempt and its end from all others."""
    attempt, outcome = settlement.attempt, OUTCOME[settlement.attempt.outcome]
    return settlement.job, settlement.lease, attempt.number, outcome, escape(attempt.reason)


def _rest(settlement: Settlement, numbers: Mapping[str, int]) -> Sequence[Any]:
    attempt = settlement.attempt
    return (
        STATE[settlement.state],
        settlement.due_at,
        escape(settlement.reason),
        int(settlement.charged),
        attempt.started_at,
        attempt.ended_at,
        encode_json(attempt.result),
        numbers[attempt.generation],
    )
