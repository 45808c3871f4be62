"""Ids as people write them: the beginning is enough, if it is that of one thing only."""

from collections.abc import Iterable
from typing import Protocol

from router.errors import NotFound
from router.model.job import Job
from router.store.values import DeliveryRecord


class IdLookup(Protocol):
    """What finds a delivery or a job by the beginning of its id."""

    async def delivery(self, prefix: str) -> DeliveryRecord | None: ...

    async def job(self, prefix: str) -> Job | None: ...


async def whole_ids(ledger: IdLookup, written: Iterable[str]) -> tuple[str, ...]:
    """
    The whole ids of deliveries and jobs, in the order in which they were written.

    Raises:
        NotFound: one is unknown, too short, or fits several.
    """
    return tuple([await _whole(ledger, one) for one in written])


async def _whole(ledger: IdLookup, written: str) -> str:
    """Without a kind it is a delivery, and if there is none a job."""
    if not written.startswith("job_"):
        full = written if written.startswith("dlv_") else f"dlv_{written}"
        record = await ledger.delivery(full)
        if record is not None:
            return record.delivery.id
    if not written.startswith("dlv_"):
        job = await ledger.job(written if written.startswith("job_") else f"job_{written}")
        if job is not None:
            return job.id
    raise NotFound(f"nothing here has the id {written!r}; `router deliveries` lists ids")
