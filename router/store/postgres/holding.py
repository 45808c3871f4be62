"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection

from router.store.common.chains import PAUSED, TARGET
from router.store.common.states import AVAILABLE, RETRYABLE, RUNNING, WAITING
from router.store.postgres.database import Tx
from router.store.postgres.operations import STEP
from router.store.postgres.publishing import in_force


async def hold(
    tx: Tx, rules: Collection[str], targets: Collection[str], generation: str, now: int
) -> int:
    """
    Some jobs of paused rules and targets made to wait, some of others released: one step. None, if
    other rules than those of this generation are in force.
    """
    if not await in_force(tx, generation):
        return 0
    changed = 0
    for what, column, names in ((PAUSED, "rule", rules), (TARGET, "target", targets)):
        if names:
            changed += await _hold(tx, what, column, list(names))
        changed += await _release(tx, what, column, list(names), now)
    return changed


async def _hold(tx: Tx, what: int, column: str, names: list[str]) -> int:
    # Those that wait for something else must not start when they have it.
    return await tx.run(
        f"UPDATE queue SET state = {WAITING}, waits = waits | {what} WHERE job IN ("
        f"SELECT job FROM queue WHERE state < {RUNNING} AND waits & {what} = 0 "
        f"AND {column} = ANY($1) ORDER BY job LIMIT {STEP} FOR UPDATE)",
        names,
    )


async def _release(tx: Tx, what: int, column: str, names: list[str], now: int) -> int:
    """Due anew, so that the time in which they had to wait does not make them too old."""
    return await tx.run(
        f"UPDATE queue SET waits = waits - {what}, due_at = greatest(due_at, $2), state = CASE "
        f"WHEN waits > {what} THEN {WAITING} WHEN attempt > 0 THEN {RETRYABLE} ELSE {AVAILABLE} "
        f"END WHERE job IN (SELECT job FROM queue WHERE waits > 0 AND waits & {what} > 0 "
        f"AND {column} <> ALL($1) ORDER BY job LIMIT {STEP} FOR UPDATE)",
        names,
        now,
    )
