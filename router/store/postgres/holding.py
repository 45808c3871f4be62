"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection

import msgspec

from router.model.target import PAUSED as PAUSED_FACT
from router.model.target import Pause
from router.store.common.chains import PAUSED, TARGET
from router.store.common.states import AVAILABLE, RETRYABLE, RUNNING, WAITING
from router.store.postgres.database import Tx
from router.store.postgres.in_force import is_in_force
from router.store.postgres.notices import tell
from router.store.postgres.operations import STEP, remember


async def hold(tx: Tx, rules: Collection[str], *, generation: str, now: int) -> int:
    """
    Some jobs of paused rules and targets made to wait, some of others released: one step. None, if
    other rules than those of this generation are in force.
    """
    if not await is_in_force(tx, generation):
        return 0
    targets = await _paused(tx)
    held = await _hold(tx, PAUSED, "rule", rules) + await _hold(tx, TARGET, "target", targets)
    released = await _release(tx, PAUSED, "rule <> ALL", rules, now)
    return held + released + await _release(tx, TARGET, "target <> ALL", targets, now)


async def pause(tx: Tx, target: str, why: Pause) -> int:
    """A target is paused, if it was not: the first step of its jobs."""
    await tx.run(
        "INSERT INTO facts VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        PAUSED_FACT + target,
        msgspec.json.encode(why),
        tx.db.clock.now(),
    )
    await tell(tx)
    return await pause_on(tx, target)


async def pause_on(tx: Tx, target: str) -> int:
    """Some jobs of a target made to wait, if it is paused still: one step."""
    return await _hold(tx, TARGET, "target", {target} & await _paused(tx))


async def resume(tx: Tx, target: str, now: int) -> int:
    """A target is paused no more: the first step of its jobs."""
    await remember(tx, {PAUSED_FACT + target: None})
    await tell(tx)
    return await resume_on(tx, target, now)


async def resume_on(tx: Tx, target: str, now: int) -> int:
    """Some jobs of a target released, if it is not paused again: one step."""
    return await _release(tx, TARGET, "target = ANY", {target} - await _paused(tx), now)


async def _paused(tx: Tx) -> set[str]:
    rows = await tx.all("SELECT name FROM facts WHERE starts_with(name, $1)", PAUSED_FACT)
    return {name.removeprefix(PAUSED_FACT) for (name,) in rows}


def _some(condition: str) -> str:
    """
    Up to a step of the jobs that this chooses. Those that others change just now come with the next
    upkeep: who waited for them might hold what they wait for.
    """
    # As an array they are looked for once; as a set, for each row anew, if the planner thinks so.
    found = f"SELECT job FROM queue WHERE {condition} ORDER BY job LIMIT {STEP}"
    return f"WHERE job = ANY (ARRAY({found} FOR UPDATE SKIP LOCKED))"


async def _hold(tx: Tx, what: int, column: str, names: Collection[str]) -> int:
    if not names:
        return 0
    # Those that wait for something else must not start when they have it.
    return await tx.run(
        f"UPDATE queue SET state = {WAITING}, waits = waits | {what} "
        + _some(f"state < {RUNNING} AND waits & {what} = 0 AND {column} = ANY ($1)"),
        list(names),
    )


async def _release(tx: Tx, what: int, whose: str, names: Collection[str], now: int) -> int:
    """Due anew, so that the time in which they had to wait does not make them too old."""
    return await tx.run(
        f"UPDATE queue SET waits = waits - {what}, due_at = greatest(due_at, $2), state = CASE "
        f"WHEN waits > {what} THEN {WAITING} WHEN attempt > 0 THEN {RETRYABLE} ELSE {AVAILABLE} "
        "END " + _some(f"waits > 0 AND waits & {what} > 0 AND {whose} ($1)"),
        list(names),
        now,
    )
