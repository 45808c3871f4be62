"""Retention on request: what the rules file lets go, or more of it, now."""

from collections import Counter

import msgspec

from router.clock import Clock
from router.model.settings import Retention
from router.operator.answers import PruneProgress
from router.store.protocol import OperatorStore
from router.store.values import Retain

STEP = 500
"""Deliveries to a transaction, so that accepting need not wait for long."""

STEPS = 40
"""Of one call: a caller who wants more asks again."""

PAUSE_S = 0.02


def retain(keep: Retention, now: int, older_than: int | None) -> Retain:
    """
    As the rules file says; with `older_than` (milliseconds) also every finished delivery that was
    received longer ago.
    """
    return Retain(
        succeeded_before=now - keep.succeeded,
        unmatched_before=now - keep.unmatched,
        dead_before=now - keep.dead,
        finished_before=None if older_than is None else now - older_than,
        limit=STEP,
    )


async def prune(store: OperatorStore, what: Retain, *, clock: Clock) -> PruneProgress:
    """What a number of steps removed, and whether there may be more."""
    now, fruitless, removed = clock.ledger(), 0, Counter[str]()
    for _ in range(STEPS):
        step = await store.prune(what, now=now)
        counts = msgspec.structs.asdict(step)
        more = counts.pop("more")
        removed.update(counts)
        # The search goes on where it stopped and begins anew at the end: one step without a find
        # may only have been the rest of a round.
        fruitless = 0 if step.deliveries or step.keys or more else fruitless + 1
        if fruitless == 2:
            return PruneProgress(**removed, more=False)
        await clock.sleep(PAUSE_S)
    return PruneProgress(**removed, more=True)
