"""A ledger full of jobs that wait, made through the store's own verbs."""

import asyncio

from benchmarks import pushes
from router.clock import SystemClock
from router.model.delivery import Delivery, DeliveryEvent
from router.model.job import ActionKind, NewJob
from router.store.sqlite.store import open_store
from router.store.values import Acceptance
from tests.acceptance.process import Rig

DUE_AT = SystemClock().now() - 60_000
GROUP = 500


def jobs(seconds: int) -> int:
    """20,000 in a run worth its name, fewer in a short one."""
    return 20_000 if seconds >= 3 else 1_000


def acceptance(
    number: int,
    body: bytes,
    kind: ActionKind = "http",
    target: str = "sink",
    due_at: int = DUE_AT,
) -> Acceptance:
    """One push, routed to the rule `main`, its job due since a minute, or when it is told."""
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
        due_at=due_at,
    )
    return Acceptance(delivery, (event,), (job,))


async def seed(
    rig: Rig,
    count: int,
    *,
    kind: ActionKind = "http",
    target: str = "sink",
    due_at: int = DUE_AT,
) -> None:
    """Store `count` deliveries, each with one waiting job."""
    body = pushes.body()
    store = await open_store(str(rig.store), clock=SystemClock())
    for first in range(1, count + 1, GROUP):
        numbers = range(first, min(first + GROUP, count + 1))
        each = [acceptance(n, body, kind, target, due_at) for n in numbers]
        await asyncio.gather(*(store.accept(one) for one in each))
    await store.close()
