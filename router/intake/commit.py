"""What the store is asked to commit."""

from router.model.delivery import Delivery
from router.rules.live import LiveEndpoint
from router.rules.plan import Plan
from router.store.values import Acceptance, EventEntry


def acceptance(delivery: Delivery, plan: Plan, endpoint: LiveEndpoint, now: int) -> Acceptance:
    """A delivery, its events with the keys that are known from `now` on, and its jobs."""
    until = now + endpoint.settings.dedupe.window_ms
    entries = tuple(
        [
            EventEntry(e.index, e.id, e.name, e.action, e.keys, until if e.keys else 0)
            for e in plan.events
        ]
    )
    return Acceptance(delivery, entries, plan.jobs)
