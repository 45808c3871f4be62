"""Texts of a run that a disk has spoilt: the run goes on, and holds up no other."""

from pathlib import Path

import pytest

from router.model.job import Group, Job, Predecessor, Turn
from router.store.removal import Retain
from router.store.sqlite.store import SqliteStore
from router.store.values import Recovered, Selector
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION, Maker, a_settlement
from tests.unit.store.spoiling import LATER, NOBODY, Teller, spoil

TURN = Turn("paid\x1fx", "x", Group(1, "queue"))
HALTING = Turn("paid\x1fx", "x", Group(1, "queue", "halt"))
FIRST, LAST = ("(SELECT min(n) FROM runs)", "(SELECT max(n) FROM runs)")
each = pytest.mark.parametrize("column", ["rule", "key", "value"])


def damage(path: Path, column: str, run: str) -> None:
    spoil(path, f"UPDATE runs SET {column} = CAST(x'61ff' AS TEXT) WHERE n = {run}")  # noqa: S608


async def two_runs(store: SqliteStore, make: Maker, turn: Turn = TURN) -> Job:
    """Two runs of one group, each a and then b; a of the first is running."""
    for _ in range(2):
        chain = [
            make.job(action="a", run="r", turn=turn),
            make.job(action="b", run="r", turn=turn, after=(Predecessor("a"),)),
        ]
        await store.accept(make.acceptance(jobs=chain))
    (leased,) = (await store.lease({"erp": 9}, lease="b/1", now=FAR)).jobs
    return leased.job


async def waits(store: SqliteStore) -> list[tuple[str, str, tuple[str, ...]]]:
    found = sorted(await store.reads.jobs(Selector()), key=lambda job: (job.delivery, job.action))
    return [(job.action, job.state, job.waits_for) for job in found]


@each
async def test_what_runs_ends_and_its_successor_begins(
    store: SqliteStore, path: Path, make: Maker, teller: Teller, column: str
) -> None:
    job = await two_runs(store, make)
    damage(path, column, FIRST)
    assert await store.settle(a_settlement(job))
    (leased,) = (await store.lease({"erp": 9}, lease="b/2", now=LATER)).jobs
    assert leased.job.action == "b"
    assert await store.settle(a_settlement(leased.job))
    assert teller.reported == []
    # The next of the group has the turn at the latest when another comes.
    await store.accept(make.acceptance(jobs=[make.job(action="c", run="r", turn=TURN)]))
    (leased,) = (await store.lease({"erp": 9}, lease="b/3", now=2 * FAR)).jobs
    assert leased.job.action == "a"


@each
async def test_a_start_takes_back_what_ran(
    store: SqliteStore, path: Path, make: Maker, column: str
) -> None:
    await two_runs(store, make)
    damage(path, column, FIRST)
    mended = await store.recover(
        nodes=await store.reads.lost_nodes("new"),
        now=FAR,
        on_interrupt_dead=NOBODY,
        died=Teller(make).died,
    )
    assert mended == Recovered(1, 0)


@each
async def test_today_s_groups_are_applied_to_all_others(
    store: SqliteStore, path: Path, make: Maker, column: str
) -> None:
    await two_runs(store, make)
    damage(path, column, FIRST)
    changed = await store.regroup({"paid": Group(2, "queue")}, now=FAR, generation=GENERATION)
    assert changed == (1 if column == "rule" else 2)
    (leased,) = (await store.lease({"erp": 9}, lease="b/2", now=LATER)).jobs
    assert leased.job.action == "a", "there is room for two"


@each
async def test_who_waits_is_listed_and_can_be_cancelled(
    store: SqliteStore, path: Path, make: Maker, column: str
) -> None:
    await two_runs(store, make)
    damage(path, column, LAST)
    group = "its turn in group " + ("a\ufffd" if column == "value" else "x")
    assert await waits(store) == [
        ("a", "running", ()),
        ("b", "waiting", ("the end of a",)),
        ("a", "waiting", (group,)),
        ("b", "waiting", ("the end of a", group)),
    ]
    assert await store.cancel(Selector(state="waiting"), reason="spoilt", now=FAR) == 3


@each
async def test_a_replay_queues_where_it_can(
    store: SqliteStore, path: Path, make: Maker, column: str
) -> None:
    job = await two_runs(store, make)
    damage(path, column, FIRST)
    await store.add(job.delivery, [make.job(action="a", run="r", replay_of=job.id)])
    assert len(await store.reads.jobs(Selector())) == 5


@each
async def test_retention_takes_a_run_that_halts_its_group(
    store: SqliteStore, path: Path, make: Maker, column: str
) -> None:
    job = await two_runs(store, make, HALTING)
    await store.settle(a_settlement(job, "dead"))
    damage(path, column, FIRST)
    retain = Retain(succeeded_before=FAR * 2, unmatched_before=0, dead_before=FAR * 2)
    assert (await store.prune(retain, now=START_MS)).deliveries == 1
    assert len(await store.reads.jobs(Selector())) == 2
