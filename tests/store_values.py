"""Deliveries, jobs and settlements for tests of stores: names what matters, invents the rest."""

import random
from collections.abc import Sequence
from typing import Any

from router.model.delivery import Delivery, DeliveryEvent
from router.model.ids import Ids
from router.model.job import Attempt, Job, JobState, NewJob, Settlement
from router.store.protocol import Store
from router.store.values import Acceptance, EventEntry
from tests.clocks import START_MS

GENERATION = "0" * 16
FAR = START_MS + 7 * 86_400_000


class Maker:
    """Makes values with fresh ids, the same ones for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._ids = Ids(random.Random(seed))
        self._at = START_MS

    def delivery(self, **given: Any) -> Delivery:
        """A routed delivery, each a millisecond after the one before."""
        self._at += 1
        values: dict[str, Any] = {
            "id": self._ids.new("dlv", self._at),
            "endpoint": "shop",
            "provider": "shopify",
            "received_at": self._at,
            "method": "POST",
            "path": "/wh_x",
            "query": "a=1",
            "headers": (("x-topic", "orders/paid"), ("x-odd", "\xe4\xf6")),
            "body": b"{}\x00\xff",
            "verified_by": "shop",
            "state": "routed",
            "event_count": 1,
            "generation": GENERATION,
        }
        return Delivery(**{**values, **given})

    def event(self, index: int = 0, *keys: bytes, **given: Any) -> DeliveryEvent:
        """An event with these keys."""
        values: dict[str, Any] = {
            "index": index,
            "id": self._ids.new("evt", self._at),
            "name": "orders/paid",
            "action": None,
            "payload": {},
            "keys": keys,
        }
        return DeliveryEvent(**{**values, **given})

    def job(self, **given: Any) -> NewJob:
        """An available job due now."""
        values: dict[str, Any] = {
            "id": self._ids.new("job", self._at),
            "event_index": 0,
            "event_id": "evt_" + "0" * 26,
            "event": "orders/paid",
            "rule": "paid",
            "action": "erp",
            "kind": "http",
            "target": "erp",
            "due_at": START_MS,
        }
        return NewJob(**{**values, **given})

    def acceptance(
        self,
        *keys: bytes,
        events: Sequence[DeliveryEvent] | None = None,
        jobs: Sequence[NewJob] | None = None,
        keys_until: int = FAR,
        **given: Any,
    ) -> Acceptance:
        """
        A delivery of one event with these keys, known for a week, and one job, unless told
        otherwise.
        """
        delivery = self.delivery(**given)
        events = (self.event(0, *keys),) if events is None else events
        jobs = [self.job(event_index=e.index) for e in events] if jobs is None else jobs
        return Acceptance(delivery, tuple(events), tuple(jobs), keys_until)


def entries(acceptance: Acceptance) -> tuple[EventEntry, ...]:
    """Its events as the ledger keeps them."""
    until = acceptance.keys_until
    return tuple(
        EventEntry(e.index, e.id, e.name, e.action, e.keys, until if e.keys else 0)
        for e in acceptance.events
    )


def a_settlement(job: Job, state: JobState = "succeeded", **given: Any) -> Settlement:
    """The end of this running job's attempt."""
    outcome = {"succeeded": "succeeded", "dead": "dead"}.get(state, "failed")
    started = job.started_at or START_MS
    attempt = Attempt(
        job.id, job.attempt, started, started + 5, outcome, None, {"status": 200}, GENERATION
    )  # type: ignore[arg-type]
    values: dict[str, Any] = {
        "job": job.id,
        "lease": job.lease or "none",
        "attempt": attempt,
        "state": state,
    }
    return Settlement(**{**values, **given})


async def lease_one(
    store: Store, target: str = "erp", *, now: int = FAR, lease: str = "b.1"
) -> Job:
    """The job of this target that is due first, leased."""
    batch = await store.lease({target: 1}, lease=lease, now=now)
    return batch.jobs[0].job
