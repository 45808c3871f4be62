"""A ledger full of jobs that wait, made through the store's own verbs."""

import asyncio
import sqlite3
from contextlib import closing

from benchmarks import pushes
from benchmarks.bench import WrongFigures
from router.clock import SystemClock
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import ActionKind, NewJob
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests import ledger
from tests.acceptance.process import Rig

DUE_AT = SystemClock().now() - 60_000
GROUP = 500
PUT_OFF_MS = 10_000


def jobs(seconds: int) -> int:
    """20,000 in a run worth its name, fewer in a short one."""
    return 20_000 if seconds >= 3 else 1_000


def acceptance(
    number: int, body: bytes, kind: ActionKind = "http", target: str = "sink"
) -> Acceptance:
    """One push, routed to the rule `main`, its job due since a minute."""
    delivery = Delivery(
        id=f"dlv_{number:026d}",
        endpoint="code",
        provider="code-host",
        received_at=DUE_AT,
        method="POST",
        path=pushes.PATH,
        query="",
        headers=(("content-type", "application/json"), ("x-github-event", "push")),
        body=body,
        verified_by="code",
        state="routed",
        event_count=1,
        generation="0" * 64,
    )
    event = DeliveryEvent(f"evt_{number:026d}", 0, "push", None, {})
    job = NewJob(
        id=f"job_{number:026d}",
        event_index=0,
        event_id=event.id,
        event="push",
        rule="main",
        action=kind,
        kind=kind,
        target=target,
        due_at=DUE_AT,
    )
    return Acceptance(delivery, (event,), (job,))


async def seed(rig: Rig, count: int, *, kind: ActionKind = "http", target: str = "sink") -> None:
    """Store `count` deliveries, each with one waiting job."""
    body = pushes.body()
    store = await open_store(str(rig.store), clock=SystemClock())
    for first in range(1, count + 1, GROUP):
        numbers = range(first, min(first + GROUP, count + 1))
        each = [acceptance(n, body, kind, target) for n in numbers]
        await asyncio.gather(*(store.accept(one) for one in each))
    await store.close()


def put_off(rig: Rig) -> None:
    """All jobs become due when the router that starts next is up, and what watches it is ready."""
    with closing(sqlite3.connect(rig.store)) as db, db:
        db.execute("UPDATE jobs SET due_at = ?", (SystemClock().now() + PUT_OFF_MS,))


def none_yet(rig: Rig) -> None:
    """
    Raises:
        WrongFigures: a job that was put off has begun, so the router was up too late.
    """
    if (early := ledger.counts(rig.store)).attempts:
        raise WrongFigures(f"jobs were due before they could be watched: {early}")
