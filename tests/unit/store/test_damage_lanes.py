"""Where a lease looks for due jobs, it finds those that cannot be read too, and only those."""

import sqlite3
from contextlib import closing
from pathlib import Path

from router.model.operations import Replay, ReplayStep
from router.store.sqlite.store import SqliteStore
from tests.clocks import START_MS
from tests.store_values import FAR, Maker


def spoil(path: Path, *ids: str) -> None:
    """Change these jobs behind the store's back so that nobody can read them."""
    with closing(sqlite3.connect(path)) as db, db:
        for id_ in ids:
            db.execute("UPDATE jobs SET rule = CAST(x'ff' AS TEXT) WHERE id = ?", (id_,))


async def test_a_spoilt_job_among_those_replayed(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    stored = make.acceptance()
    await store.accept(stored)
    replayed = tuple(make.job(replay_of=stored.jobs[0].id) for _ in range(3))
    await store.begin_replay(Replay("rpl_1", {}, START_MS, None))
    step = ReplayStep("rpl_1", "", "x", True, ((stored.delivery.id, replayed),), {})
    await store.replay_step(step, now=START_MS)
    spoil(path, replayed[1].id)
    batch = await store.lease({"erp": 9}, lease="b/1", now=FAR)
    good = [stored.jobs[0].id, replayed[0].id, replayed[2].id]
    assert [one.job.id for one in batch.jobs] == good
    assert batch.corrupt == (replayed[1].id,)


async def test_a_spoilt_job_just_behind_those_that_are_handed_out(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """A lease looks at one more than it hands out: when is the next one due?"""
    stored = [make.acceptance(jobs=[make.job(due_at=START_MS + at)]) for at in range(3)]
    for one in stored:
        await store.accept(one)
    first, spoilt, last = [one.jobs[0].id for one in stored]
    spoil(path, spoilt)
    batch = await store.lease({"erp": 1}, lease="b/1", now=FAR)
    assert [one.job.id for one in batch.jobs] == [first]
    assert (batch.corrupt, batch.next_due) == ((spoilt,), {"erp": START_MS + 2})
    rest = await store.lease({"erp": 1}, lease="b/2", now=FAR)
    assert [one.job.id for one in rest.jobs] == [last]


async def test_what_a_lease_does_not_look_at_is_left_alone(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """It is found when its turn comes: two behind the last one that is handed out."""
    ids: dict[str, list[str]] = {}
    for target in ("erp", "crm"):
        stored = [make.acceptance(jobs=[make.job(target=target)]) for _ in range(4)]
        for one in stored:
            await store.accept(one)
        ids[target] = [one.jobs[0].id for one in stored]
    erp, crm = ids["erp"], ids["crm"]
    spoil(path, erp[0], erp[3], crm[2])
    batch = await store.lease({"erp": 1, "crm": 1}, lease="b/1", now=FAR)
    assert sorted(one.job.id for one in batch.jobs) == sorted((erp[1], crm[0]))
    assert batch.corrupt == (erp[0],)
    rest = await store.lease({"erp": 2, "crm": 2}, lease="b/2", now=FAR)
    assert sorted(one.job.id for one in rest.jobs) == sorted((erp[2], crm[1], crm[3]))
    assert sorted(rest.corrupt) == sorted((erp[3], crm[2]))
