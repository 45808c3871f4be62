"""Replays in the ledger: each step makes its jobs and notes how far it has come, or neither."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from router.errors import NotFound
from router.model.operations import Audit, Replay, ReplayStep
from router.store.common.replaying import (
    CANCELLED,
    COLUMNS,
    MAKING,
    Left,
    Made,
    begun,
    left,
    progress,
    to_replay,
)
from router.store.postgres import adding, audit_log
from router.store.postgres.database import Tx
from router.store.postgres.ids import is_id
from router.store.postgres.texts import escape

_ADVANCE = (
    "UPDATE replays SET reached = $1, due = $2, deliveries = deliveries + $3, jobs = jobs + $4, "
    "skipped = skipped + $5, state = $6, passed = passed + $7, "
    "earlier = nullif(greatest(earlier, $8), ''), ended_at = $9 WHERE n = $10"
)


async def begin(tx: Tx, replay: Replay, audit: Audit | None = None) -> Replay:
    """Keep a new replay; a known one is returned as it is."""
    new = await tx.run(
        "INSERT INTO replays (id, asked, items, reached, due, created_at) "
        "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
        *begun(replay),
    )
    if not new:
        return await one(tx, replay.id) or replay
    if audit is not None:
        await audit_log.note(tx, msgspec.structs.replace(audit, id=replay.id))
    return replay


async def step(tx: Tx, step: ReplayStep, *, now: int) -> Replay | None:
    """Make a step's jobs, if the replay still stands where the step begins."""
    number = await tx.one(
        f"SELECT n FROM replays WHERE id = $1 AND state = {MAKING} AND reached = $2 FOR UPDATE",
        step.replay,
        step.after,
    )
    if number is None:
        return None
    there = await adding.lock(tx, [delivery for delivery, _ in step.work])
    work = await _left(tx, step, there)
    todo = [(one.delivery, one.jobs) for one in work if one.jobs and one.delivery in there]
    await adding.add_all(tx, todo, there, now, replay=number)
    made = [None if one.jobs and one.delivery not in there else len(one.jobs) for one in work]
    far = progress(step, work, made)
    await tx.run(_ADVANCE, *far, tx.db.wall(now) if step.last else None, number)
    await audit_log.count_up(tx, step.replay, far.jobs)
    return await one(tx, step.replay, items="NULL::bytea")


async def _left(tx: Tx, step: ReplayStep, there: Iterable[str]) -> list[Left]:
    """What is to be made of each delivery; those that are `there` are locked."""
    made: dict[str, list[Made]] = defaultdict(list)
    if step.once:
        for delivery, index, rule, action, id_, origin, generation in await tx.all(
            "SELECT j.delivery, j.event_index, j.rule, j.action, j.id, j.replay_of, g.id "
            "FROM jobs j JOIN generations g ON g.n = j.generation "
            "WHERE j.delivery = ANY ($1) ORDER BY j.id",
            list(there),
        ):
            job = Made(index, rule, action, f"job_{id_}", origin, generation)
            made[f"dlv_{delivery}"].append(job)
    return [
        left(delivery, jobs, made[delivery]) if step.once and jobs else Left(delivery, jobs)
        for delivery, jobs in step.work
    ]


async def stop(tx: Tx, id_: str, now: int) -> None:
    """The replay makes no more jobs. Raises NotFound."""
    ending = f"UPDATE replays SET state = {CANCELLED}, ended_at = $1 WHERE id = $2"
    if not await tx.run(ending, tx.db.wall(now), id_):
        raise NotFound(f"no replay {id_}")


async def one(tx: Tx, id_: str, *, items: str = "items") -> Replay | None:
    """A replay by its whole id."""
    row = await tx.row(
        f"SELECT {COLUMNS.format(items=items)} FROM replays WHERE id = $1", escape(id_)
    )
    return None if row is None else to_replay(row)


async def of_job(tx: Tx, job: str) -> Replay | None:
    """The replay that made a job, without its items."""
    if not is_id(job):
        return None
    found = f"SELECT {COLUMNS.format(items='NULL::bytea')} FROM replays WHERE n = "
    row = await tx.row(f"{found} (SELECT replay FROM jobs WHERE id = $1)", job)
    return None if row is None else to_replay(row)


async def several(tx: Tx, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
    """Newest first, without their items."""
    which = f"WHERE state = {MAKING}" if making else ""
    found = f"SELECT {COLUMNS.format(items='NULL::bytea')} FROM replays {which}"
    return tuple(map(to_replay, await tx.all(f"{found} ORDER BY n DESC LIMIT $1", limit)))
