"""Ids as people write them: the beginning is enough, if it is that of one thing only."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from router.errors import NotFound
from router.model.job import Job
from router.store.reads import StoreReads
from router.store.values import DeliveryRecord

T = TypeVar("T")


def present(found: T | None, what: str) -> T:
    """What was found. Raises NotFound: nothing was."""
    if found is None:
        raise NotFound(f"no {what}")
    return found


async def whole_ids(store: StoreReads, written: Iterable[str]) -> tuple[str, ...]:
    """
    The whole ids of deliveries and jobs, in the order in which they were written.

    Raises:
        NotFound: one is unknown.
        Ambiguous: one is too short, or fits several.
    """
    found = [await look_up(store, one) for one in written]
    return tuple([one.id if isinstance(one, Job) else one.delivery.id for one in found])


async def look_up(store: StoreReads, written: str) -> DeliveryRecord | Job:
    """Without a kind it is a delivery, and if there is none a job. Raises as `whole_ids`."""
    if not written.startswith("job_"):
        record = await store.delivery(written if written.startswith("dlv_") else f"dlv_{written}")
        if record is not None:
            return record
    if not written.startswith("dlv_"):
        job = await store.job(written if written.startswith("job_") else f"job_{written}")
        if job is not None:
            return job
    raise NotFound(f"no delivery or job has the id {written!r}; `router deliveries` lists ids")


def with_job_alone(record: DeliveryRecord, job: Job) -> DeliveryRecord:
    """A delivery, of which nothing but this job is to be seen."""
    return msgspec.structs.replace(
        record,
        events=tuple([e for e in record.events if e.index == job.event_index]),
        jobs=(job,),
        attempts=tuple([a for a in record.attempts if a.job == job.id]),
    )
