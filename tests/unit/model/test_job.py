"""A job as it is made, and as the ledger holds it."""

import msgspec

from router.model.job import Job, NewJob, committed
from tests.sim.makers import a_delivery, a_new_job


def test_what_is_committed_has_all_that_was_made_of_it() -> None:
    new = a_new_job(replay_of="job_0", covers=(1, 2), event_index=1)
    job = committed(new, a_delivery(), 7)
    for name in set(NewJob.__struct_fields__) & set(Job.__struct_fields__) - {"generation"}:
        assert getattr(job, name) == getattr(new, name), name
    assert (job.delivery, job.endpoint, job.generation) == ("dlv_1", "shop", "g1")
    assert (job.state, job.attempt, job.started_at, job.created_at) == ("available", 0, None, 7)


def test_one_that_is_committed_running_has_begun() -> None:
    new = a_new_job(state="running", lease="b/1", generation="g0")
    job = committed(new, a_delivery(), 7)
    assert (job.attempt, job.lease, job.started_at, job.generation) == (1, "b/1", 7, "g0")
    waiting = committed(msgspec.structs.replace(new, state="waiting"), a_delivery(), 7)
    assert (waiting.lease, waiting.attempt) == (None, 0)
