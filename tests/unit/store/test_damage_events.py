"""The router's own event of a job that was found unreadable: with it, or not at all."""

from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.store.sqlite.store import SqliteStore
from router.store.values import Recovered
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION, Maker, a_settlement
from tests.unit.store.spoiling import LATER, NOBODY, Teller, begun_run, own, refusing, spoil


async def test_a_spoilt_job_makes_the_event_that_every_dead_one_makes(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    accepted = make.acceptance(jobs=[make.job(), make.job()])
    await store.accept(accepted)
    spoil(path, "UPDATE jobs SET event = x'70ff' WHERE id = ?", accepted.jobs[0].id)
    assert (await store.lease({"erp": 9}, lease="b/1", now=FAR)).corrupt == (accepted.jobs[0].id,)
    ((job, attempt),) = teller.reported
    assert (job.id, job.state, job.reason, job.ended_at) == (
        accepted.jobs[0].id,
        "dead",
        "corrupt",
        FAR,
    )
    assert (job.delivery, job.endpoint) == (accepted.delivery.id, "shop")
    assert (job.rule, job.action, job.kind, job.target) == ("paid", "erp", "http", "erp")
    assert (job.event, job.generation, job.created_at) == ("p\ufffd", GENERATION, START_MS)
    assert (attempt.job, attempt.number, attempt.outcome, attempt.reason, attempt.ended_at) == (
        job.id,
        0,
        "dead",
        "corrupt",
        FAR,
    )
    assert await own(store) == [teller.events[0].delivery.id]
    made = await store.reads.job(teller.events[0].jobs[0].id)
    assert made is not None
    assert (made.state, made.rule) == ("available", "call")


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ("UPDATE deliveries SET id = CAST(x'ff' AS TEXT) WHERE id = ?", ("\ufffd", "shop")),
        ("UPDATE deliveries SET endpoint = x'ff' WHERE id = ?", None),
    ],
)
async def test_what_is_lost_with_the_delivery_is_left_out(
    store: SqliteStore,
    path: Path,
    make: Maker,
    teller: Teller,
    change: str,
    known: tuple[str, str] | None,
) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    spoil(path, change, accepted.delivery.id)
    (id_,) = (await store.lease({"erp": 9}, lease="b/1", now=FAR)).corrupt
    ((job, _),) = teller.reported
    assert (job.id, job.rule, job.event) == (id_, "paid", "orders/paid")
    assert (job.delivery, job.endpoint) == (known or (accepted.delivery.id, "\ufffd"))
    assert await own(store) == [teller.events[0].delivery.id]


async def test_of_a_job_without_a_delivery_and_rules_the_rest_is_reported(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    spoil(path, "UPDATE jobs SET rule = CAST(x'ff' AS TEXT), generation = 77")
    spoil(path, "DELETE FROM deliveries")
    teller = Teller(make)
    mended = await store.recover(
        nodes=await store.reads.lost_nodes("b"), now=FAR, on_interrupt_dead=NOBODY, died=teller.died
    )
    assert mended == Recovered(0, 1)
    ((job, _),) = teller.reported
    assert (job.id, job.delivery, job.endpoint, job.generation, job.rule, job.action) == (
        accepted.jobs[0].id,
        "",
        "",
        "",
        "\ufffd",
        "erp",
    )
    assert await own(store) == [teller.events[0].delivery.id]


@pytest.mark.parametrize(
    "change", ["created_at = 9223372036854775807", "created_at = 'x'", "kind = -1"]
)
async def test_a_value_that_cannot_be_read_is_reported_as_another(
    store: SqliteStore, path: Path, make: Maker, teller: Teller, change: str
) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    change = f"UPDATE jobs SET event = x'ff', {change} WHERE id = ?"  # noqa: S608
    spoil(path, change, accepted.jobs[0].id)
    assert (await store.lease({"erp": 9}, lease="b/1", now=FAR)).corrupt
    ((job, _),) = teller.reported
    assert 0 <= job.created_at <= FAR
    assert job.kind == "http"


async def test_a_start_tells_of_those_that_it_finds(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    spoil(path, "UPDATE jobs SET rule = CAST(x'ff' AS TEXT) WHERE id = ?", jobs[0].id)
    teller = Teller(make)
    await store.recover(
        nodes=await store.reads.lost_nodes("new"),
        now=FAR,
        on_interrupt_dead=NOBODY,
        died=teller.died,
    )
    assert [(job.id, attempt.number) for job, attempt in teller.reported] == [(jobs[0].id, 1)]
    assert len(await own(store)) == 1
    batch = await store.lease({"erp": 9}, lease="new/1", now=FAR)
    assert batch.corrupt == (jobs[0].id,), "the log has its line of it too"


async def test_what_is_rolled_back_is_neither_dead_nor_reported(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    job, ids = await begun_run(store, make)
    spoil(path, "UPDATE jobs SET target = x'ff' WHERE id = ?", ids["c"])
    with refusing(path, "INSERT ON deliveries"), pytest.raises(StoreUnavailable):
        await store.settle(a_settlement(job))
    assert (await store.lease({"other": 1}, lease="b/2", now=LATER)).corrupt == ()
    assert await store.settle(a_settlement(job))
    assert (await store.lease({"other": 1}, lease="b/3", now=LATER)).corrupt == (ids["c"],)
    assert len(await own(store)) == 1


async def test_nor_is_what_a_lease_finds_that_fails_in_the_end(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    jobs = [make.job(), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    spoil(path, "UPDATE jobs SET event = x'ff' WHERE id = ?", jobs[0].id)
    with refusing(path, "UPDATE ON jobs WHEN NEW.state = 3"), pytest.raises(StoreUnavailable):
        await store.lease({"erp": 9}, lease="b/1", now=FAR)
    await store.ready()
    assert teller.reported == []
    assert (await store.reads.counts())["paid"] == {"available": 2}
    assert (await store.lease({"erp": 9}, lease="b/2", now=FAR)).corrupt == (jobs[0].id,)


async def test_what_a_lease_could_not_tell_the_next_one_does(
    store: SqliteStore, path: Path, make: Maker, teller: Teller
) -> None:
    job, ids = await begun_run(store, make)
    spoil(path, "UPDATE jobs SET reason = x'ff' WHERE id = ?", ids["c"])
    assert await store.settle(a_settlement(job))
    spoil(path, "UPDATE jobs SET event = x'ff' WHERE id = ?", ids["b"])
    with refusing(path, "INSERT ON deliveries"), pytest.raises(StoreUnavailable):
        await store.lease({"erp": 9}, lease="b/2", now=LATER)
    batch = await store.lease({"erp": 9}, lease="b/3", now=LATER)
    assert batch.corrupt == (ids["c"], ids["b"])
