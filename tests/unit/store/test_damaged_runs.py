"""A job of a run that nobody can read is dead alone: the others settle, start and take turns."""

from pathlib import Path

import pytest

from router.model.job import Group, Predecessor, Turn
from router.store.sqlite.store import SqliteStore
from router.store.values import HELD, Acceptance, Accepted, Settled
from tests.clocks import START_MS
from tests.store_values import FAR, Maker, a_settlement
from tests.unit.store.spoiling import LATER, Teller, begun_run, ends, own, spoil


@pytest.mark.parametrize(
    "change",
    [
        "action = CAST(x'63ff' AS TEXT)",
        "action = x'63'",
        "target = CAST(x'ff' AS TEXT)",
        "reason = CAST(x'ff' AS TEXT)",
        "needs = '[[\"a'",
        "needs = '[[7]]'",
        "needs = CAST(x'5bff' AS TEXT)",
        "due_at = 'soon'",
        "attempt = 'many'",
        "state = 77",
        "state = -1",
    ],
)
async def test_a_spoilt_job_of_a_run_is_dead_alone_and_the_others_settle(
    store: SqliteStore, path: Path, make: Maker, teller: Teller, change: str
) -> None:
    job, ids = await begun_run(store, make)
    spoil(path, f"UPDATE jobs SET {change} WHERE id = ?", ids["c"])  # noqa: S608
    settled = await store.settle(a_settlement(job))
    assert settled
    assert ("erp", START_MS) in settled.freed, "b may start"
    assert await ends(store, ids) == {
        "a": ("succeeded", None),
        "b": ("available", None),
        "c": ("dead", "corrupt"),
        "d": ("available", None),
    }
    assert [reported.id for reported, _ in teller.reported] == [ids["c"]]
    assert len(await own(store)) == 1
    batch = await store.lease({"erp": 9}, lease="b/2", now=LATER)
    assert batch.corrupt == (ids["c"],)
    assert [one.job.id for one in batch.jobs] == [ids["b"], ids["d"]]
    assert (await store.lease({"erp": 9}, lease="b/3", now=LATER)).corrupt == ()


async def test_a_settlement_wakes_the_target_of_a_spoilt_job_so_that_a_lease_tells_of_it(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(action="a", run="r"), make.job(action="b", run="r", after=(Predecessor("a"),))]
    await store.accept(make.acceptance(jobs=jobs))
    (leased,) = (await store.lease({"erp": 1}, lease="b/1", now=FAR)).jobs
    spoil(path, "UPDATE jobs SET target = x'6d' WHERE id = ?", jobs[1].id)
    assert await store.settle(a_settlement(leased.job)) == Settled(freed=(("m", START_MS),))


async def test_who_waits_for_a_job_whose_name_is_spoilt_does_not_run(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """They would take it for one that a replay left out, which had ended as they want."""
    job, ids = await begun_run(store, make)
    spoil(path, "UPDATE jobs SET action = CAST(x'ff' AS TEXT) WHERE id = ?", ids["a"])
    assert await store.settle(a_settlement(job, "dead", reason="no"))
    assert await ends(store, ids) == {
        "a": ("dead", "no"),
        "b": ("cancelled", "predecessor_dead: \ufffd"),
        "c": ("available", None),
        "d": ("waiting", None),
    }


async def test_nor_when_a_lease_is_what_finds_it(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """It stands for every need that no other meets, be it of one that a replay left out."""
    jobs = [make.job(action=name, run="r", target=name) for name in ("fetch", "fetcg")]
    needed = ("fetch", "fetcg", "first")
    jobs += [make.job(action=f"of-{name}", run="r", after=(Predecessor(name),)) for name in needed]
    both = (Predecessor("fetcg"), Predecessor("first"))
    jobs.append(make.job(action="of-both", run="r", after=both))
    await store.accept(make.acceptance(jobs=jobs))
    spoil(path, "UPDATE jobs SET action = CAST(? AS TEXT) WHERE id = ?", b"fetc\xff", jobs[0].id)
    assert (await store.lease({"fetch": 1}, lease="b/1", now=FAR)).corrupt == (jobs[0].id,)
    assert await ends(store, {job.action: job.id for job in jobs[1:]}) == {
        "fetcg": ("available", None),
        "of-fetch": ("cancelled", "predecessor_dead: fetc\ufffd"),
        "of-fetcg": ("waiting", None),
        "of-first": ("available", None),
        "of-both": ("cancelled", "predecessor_dead: fetc\ufffd"),
    }


async def test_one_that_runs_is_left_to_end(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    """Whoever runs it has read it before: its result counts, another attempt does not begin."""
    jobs = [make.job(action=name, run="r") for name in "abc"]
    await store.accept(make.acceptance(jobs=jobs))
    a, b, c = [one.job for one in (await store.lease({"erp": 3}, lease="b/1", now=FAR)).jobs]
    for spoilt in (b, c):
        spoil(path, "UPDATE jobs SET target = x'ff' WHERE id = ?", spoilt.id)
    ids = {job.action: job.id for job in jobs}
    assert await store.settle(a_settlement(a)) == HELD
    assert (await store.reads.counts())["paid"] == {"succeeded": 1, "running": 2}
    assert await store.settle(a_settlement(b)) == HELD
    again = a_settlement(c, "retryable", due_at=FAR + 5)
    assert await store.settle(again)
    assert await ends(store, ids) == {
        "a": ("succeeded", None),
        "b": ("succeeded", None),
        "c": ("dead", "corrupt"),
    }
    assert [job.id for job, _ in teller.reported] == [c.id]


async def test_one_that_has_ended_stays_as_it_is(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    job, ids = await begun_run(store, make)
    await store.settle(a_settlement(job))
    spoil(path, "UPDATE jobs SET reason = x'ff' WHERE id = ?", ids["a"])
    leased = (await store.lease({"erp": 9}, lease="b/2", now=LATER)).jobs
    assert [one.job.action for one in leased] == ["b", "c"]
    for one in leased:
        assert await store.settle(a_settlement(one.job))
    assert await ends(store, ids) == {
        "a": ("succeeded", "\ufffd"),
        "b": ("succeeded", None),
        "c": ("succeeded", None),
        "d": ("cancelled", "not_needed: c"),
    }
    assert teller.reported == []


@pytest.mark.parametrize("on_busy", ["queue", "latest"])
async def test_a_spoilt_job_that_waits_for_its_turn_holds_up_no_delivery_and_no_turn(
    store: SqliteStore, path: Path, make: Maker, teller: Teller, on_busy: str
) -> None:
    turn = Turn("deploy\x1fx", "x", Group(on_busy=on_busy))  # type: ignore[arg-type]

    def a_run() -> Acceptance:
        job = make.job(run="r", turn=turn)
        return make.acceptance(jobs=[job])

    runs = [a_run() for _ in range(3)]
    await store.accept(runs[0])
    (first,) = (await store.lease({"erp": 9}, lease="b/1", now=FAR)).jobs
    await store.accept(runs[1])
    spoil(path, "UPDATE jobs SET target = CAST(x'ff' AS TEXT) WHERE id = ?", runs[1].jobs[0].id)
    assert isinstance(await store.accept(runs[2]), Accepted)
    assert await store.settle(a_settlement(first.job))
    (third,) = (await store.lease({"erp": 9}, lease="b/2", now=LATER)).jobs
    assert third.job.id == runs[2].jobs[0].id
    assert [job.id for job, _ in teller.reported] == [runs[1].jobs[0].id]
    assert await ends(store, {"second": runs[1].jobs[0].id}) == {"second": ("dead", "corrupt")}
