"""Jobs added to stored deliveries: replays, alone or as runs again."""

from collections.abc import Mapping, Sequence

import msgspec

from router.errors import NotFound
from router.model.job import NewJob
from router.store.common.adding import Unit, replayed, units
from router.store.common.run_changes import NewRun, RunChanges, RunId
from router.store.common.states import TURN_HALTED
from router.store.postgres import runs
from router.store.postgres.database import Tx
from router.store.postgres.ids import is_id
from router.store.postgres.job_rows import JobRow, insert, job_row
from router.store.postgres.notices import tell

Work = Sequence[tuple[str, Sequence[NewJob]]]
"""Deliveries, and the jobs that are to be added to each."""

_DELIVERIES = (
    "SELECT d.id, d.kept, g.id FROM deliveries d JOIN generations g ON g.n = d.generation "
    "WHERE d.id = ANY ($1) ORDER BY d.id FOR NO KEY UPDATE OF d"
)
"""Retention leaves them alone then, and two who add jobs to one take turns."""

_LINE_MAX = 100
_HALTED = f"""
    WITH RECURSIVE line (halted, id, depth) AS (
        SELECT id, id, 1 FROM runs WHERE id = ANY ($1)
        UNION ALL
        SELECT l.halted, r.origin, l.depth + 1 FROM line l JOIN runs r ON r.id = l.id
        WHERE r.origin IS NOT NULL AND l.depth < {_LINE_MAX}
    )
    SELECT h.id FROM runs h JOIN line l ON l.halted = h.id
    WHERE l.id = $2 OR ($2 IS NULL AND h.delivery = $3) ORDER BY h.n LIMIT 1
"""
"""A run is in a line with the one that it replays, and so on."""


async def add(tx: Tx, delivery: str, jobs: Sequence[NewJob]) -> int:
    """Make new jobs for a stored delivery; returns how many. Raises NotFound."""
    there = await lock(tx, [delivery])
    if delivery not in there:
        raise NotFound(f"no delivery {delivery}")
    await add_all(tx, [(delivery, jobs)], there, tx.db.clock.ledger())
    return len(jobs)


Stored = tuple[bool, str]
"""Of a delivery, whether it is kept and its generation."""


async def lock(tx: Tx, deliveries: Sequence[str]) -> dict[str, Stored]:
    """Those of these deliveries that are there: they stay, and nobody else adds jobs to them."""
    found = await tx.all(_DELIVERIES, sorted(filter(is_id, deliveries)))
    return {f"dlv_{id_}": (kept, generation) for id_, kept, generation in found}


async def add_all(
    tx: Tx, work: Work, there: Mapping[str, Stored], now: int, replay: int | None = None
) -> None:
    """Make these jobs for deliveries that are locked. `replay` is the number of the one."""
    rows = await _rows(tx, work, there, now, replay)
    origins = await _origins(tx, [job for _, jobs in work for job in jobs])
    found = [unit for _, jobs in work for unit in units(jobs, origins)]
    await insert(tx, [rows[unit.jobs[0].id] for unit in found if not unit.linked])
    new = [await _new_run(tx, unit, rows) for unit in found if unit.linked]
    async with runs.changing(tx, now, new=new) as changes:
        for run in new:
            halted = await _halted(tx, changes, run)
            await changes.add(msgspec.structs.replace(run, takes_over=halted))
    await tell(tx, {job.target for _, jobs in work for job in jobs})


async def _rows(
    tx: Tx, work: Work, there: Mapping[str, Stored], now: int, replay: int | None
) -> dict[str, JobRow]:
    wall, rows, ruled = tx.db.wall(now), dict[str, JobRow](), set[tuple[str, int]]()
    for delivery, jobs in work:
        kept, own = there[delivery]
        for job in jobs:
            generation = await tx.generation(job.generation or own)
            ruled.add((job.rule, generation))
            rows[job.id] = job_row(job, delivery, generation, wall, replay, kept=kept)
    await tx.rule_generations(ruled)
    return rows


async def _origins(tx: Tx, jobs: Sequence[NewJob]) -> dict[str, str]:
    """The runs that the replayed jobs belonged to."""
    asked = [id_ for id_ in replayed(jobs) if id_.startswith("job_") and is_id(id_)]
    if not asked:
        return {}
    sql = "SELECT id, run FROM jobs WHERE id = ANY ($1) AND run IS NOT NULL"
    return {f"job_{id_}": f"job_{run}" for id_, run in await tx.all(sql, asked)}


async def _new_run(tx: Tx, unit: Unit, rows: Mapping[str, JobRow]) -> NewRun:
    """A replay takes its turn where the run that it replays did."""
    turn = unit.jobs[0].turn or await runs.stored_turn(tx, unit.origin)
    return NewRun(unit.jobs, [rows[job.id] for job in unit.jobs], turn, unit.origin)


async def _halted(tx: Tx, changes: RunChanges, new: NewRun) -> RunId | None:
    """The run that halts its group, if this is its replay: by its jobs, or by its delivery."""
    if new.turn is None:
        return None
    halting = await changes.rows.standing(new.turn.key, TURN_HALTED)
    found = halting and await tx.one(_HALTED, halting, new.origin, new.rows[0][1])
    return f"job_{found}" if found else None
