"""Named pieces of SQL: what the partial indexes hold, in their own words."""

from collections.abc import Iterable
from typing import Any

import msgspec

from router.store.common.states import DEAD, RETRYABLE, STATES, SUCCEEDED, TURN_HALTED, WAITING

DUE = f"state < {WAITING}"
"""Jobs that run when they are due: the index jobs_due."""

HELD = f"state > {RETRYABLE} AND state < {SUCCEEDED}"
"""Jobs that wait, run or are dead: the index jobs_held."""

LISTED = "IN (SELECT value FROM json_each(?))"
"""One of what `listed` is given."""

PLACE_BITS = 20
"""A job's number is its delivery's number shifted by this, plus its place among the jobs."""
PLACES = 1 << PLACE_BITS

JOBS_OF = f"j.n BETWEEN d.n << {PLACE_BITS} AND (d.n << {PLACE_BITS}) + {PLACES - 1}"
JOBS_JOINED = (
    f"jobs j JOIN deliveries d ON {JOBS_OF} AND d.n = j.n >> {PLACE_BITS} "
    "JOIN generations g ON g.n = j.generation"
)
"""Both directions are offered, so that either side can lead."""

OFFSET = "(SELECT ahead FROM clock_steps ORDER BY n DESC LIMIT 1)"
"""By how many milliseconds wall time is ahead of ledger time now."""

JOB_COLUMNS = f"""
    j.id, d.id, d.endpoint, j.event_index, j.event_id, j.event, j.rule, j.action, j.kind,
    j.target, j.state, j.due_at, j.created_at, g.id, j.attempt, j.charged, j.deaths, j.lease,
    j.started_at, j.ended_at, j.reason, j.replay_of, j.covers, j.needs, j.waits,
    CASE WHEN j.waits & 2 THEN (
        SELECT r.value || CASE WHEN EXISTS (
            SELECT 1 FROM runs h WHERE h.key = r.key AND h.turn = {TURN_HALTED}
        ) THEN ' (halted by a dead job)' ELSE '' END
        FROM runs r WHERE r.n = j.run
    ) END
"""
"""
In the order of Job's fields, then what it waits for and the group's value. j jobs, d deliveries,
g generations.
"""

SHOWN_JOB_COLUMNS = JOB_COLUMNS.replace("j.due_at", f"j.due_at + {OFFSET}")
"""As people see them: what is due goes by ledger time."""

DELIVERY_COLUMNS = "d.id, d.endpoint, d.received_at, d.state, g.id, d.meta, d.body"


def listed(values: Iterable[Any]) -> str:
    """The parameter of LISTED."""
    return msgspec.json.encode(list(values)).decode()


def state_is(state: str, job: str = "") -> str:
    """The condition on a job (`j.`: of that name) in the words of the index that holds it."""
    number = STATES.index(state) if state in STATES else -1
    if WAITING <= number <= DEAD:
        covered = f"{job}state > {RETRYABLE} AND {job}state < {SUCCEEDED} AND "
    else:
        covered = f"{job}{DUE} AND " if 0 <= number < WAITING else ""
    return f"{covered}{job}state = {number}"
