"""Named pieces of SQL: what a job and a delivery are read from."""

from router.store.common.states import TURN_HALTED

DUE = "lease IS NULL AND waits = 0"
"""Places in the queue that are due at their time: the index queue_due."""

JOBS_JOINED = (
    "jobs j LEFT JOIN queue q ON q.job = j.id JOIN deliveries d ON d.id = j.delivery "
    "LEFT JOIN generations g ON g.n = j.generation"
)

JOB_COLUMNS = f"""
    j.id, j.delivery, d.endpoint, j.event_index, j.event_id, j.event, j.rule, j.action, j.kind,
    j.target, coalesce(j.state, q.state), coalesce(q.due_at, j.due_at), j.created_at, g.id,
    coalesce(q.attempt, j.attempt), coalesce(q.charged, j.charged), coalesce(q.deaths, j.deaths),
    q.lease, coalesce(q.started_at, j.started_at), j.ended_at, j.reason, j.replay_of,
    array_to_json(j.covers)::text, j.needs, q.waits,
    CASE WHEN q.waits & 2 > 0 THEN (
        SELECT r.value || CASE WHEN EXISTS (
            SELECT 1 FROM runs h WHERE h.key = r.key AND h.turn = {TURN_HALTED}
        ) THEN ' (halted by a dead job)' ELSE '' END
        FROM runs r WHERE r.id = j.run
    ) END
"""
"""A row of `rows.to_job`, from JOBS_JOINED."""


def first_of(condition: str, order: str = "DESC") -> str:
    """
    The first of the deliveries that a condition chooses, by id, with a `?` for how many. The index
    alone knows who they are: only their rows are read.
    """
    return (
        f"(SELECT d.id FROM deliveries d WHERE {condition} ORDER BY d.id {order} LIMIT ?) chosen "
        "JOIN deliveries d ON d.id = chosen.id"
    )


DELIVERY_COLUMNS = "d.id, d.endpoint, d.received_at, d.state, g.id, d.meta, d.body"
"""A row of `rows.to_delivery`: d deliveries, g generations."""

ATTEMPT_COLUMNS = "a.job, a.number, a.started_at, a.ended_at, a.outcome, a.reason, a.result, g.id"
"""A row of `rows.to_attempt`: a attempts, g generations."""
