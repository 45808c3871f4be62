"""Retention on request: what the rules file lets go, or more of it, now."""

from collections import Counter

import msgspec

from router.clock import Clock
from router.model.settings import KeepFor
from router.operator.answers import PruneProgress
from router.rules.ruleset import Ruleset
from router.store.protocol import OperatorStore
from router.store.removal import EndedBefore, Retain

STEP = 500
"""Deliveries to a transaction, so that accepting need not wait for long."""

STEPS = 40
"""Of one call: a caller who wants more asks again."""

PAUSE_S = 0.02


def retain(
    ruleset: Ruleset, now: int, *, finished_before: int | None = None, audit_before: int = 0
) -> Retain:
    """What the rules file lets go at this ledger time; the rest is as in `Retain`."""
    usual = ended_before(ruleset.server.retention, now)
    return Retain(
        usual.succeeded,
        usual.unmatched,
        usual.dead,
        finished_before=finished_before,
        limit=STEP,
        audit_before=audit_before,
        endpoints={
            name: ended_before(endpoint.retention, now)
            for name, endpoint in ruleset.endpoints.items()
            if endpoint.retention is not None
        },
    )


def ended_before(keep: KeepFor, now: int) -> EndedBefore:
    """What is kept no longer, at this ledger time."""
    return EndedBefore(now - keep.succeeded, now - keep.unmatched, now - keep.dead)


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
