"""A new job as its row."""

from collections.abc import Sequence
from typing import Any

import msgspec

from router.kinds import KINDS
from router.model.job import NewJob
from router.store.common.states import STATE


def job_row(job: NewJob, number: int, generation: int, now: int) -> Sequence[Any]:
    """A new job's row of JOB_ROW; one that is `running` is committed already leased."""
    begun = job.state == "running"
    return (
        number,
        job.id,
        STATE[job.state],
        job.due_at,
        job.target,
        job.rule,
        job.action,
        KINDS[job.kind].number,
        job.event_index,
        job.event_id,
        job.event,
        now,
        generation,
        1 if begun else 0,
        job.lease if begun else None,
        now if begun else None,
        job.replay_of,
        msgspec.json.encode(job.covers).decode() if job.covers else None,
    )
