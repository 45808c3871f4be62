"""Handing out due jobs: how much at once, in which order, each with its own delivery."""

import pytest

from router.model.job import Predecessor
from router.store.sqlite.leasing import LEASED_BYTES
from router.store.sqlite.writer_state import ROWS
from tests.clocks import START_MS
from tests.store_values import FAR
from tests.unit.store.ledger import Ledger

HALF = 16 * 1024 * 1024


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def large(ledger: Ledger, sizes: list[int], target: str = "erp") -> None:
    """Deliveries of bodies so large, each with a job."""
    for size in sizes:
        id_ = ledger.accept(ledger.make.job(target=target))
        ledger.db.execute("UPDATE deliveries SET body = zeroblob(?) WHERE id = ?", (size, id_))


@pytest.mark.parametrize(("second", "count"), [(HALF, 2), (HALF - 1, 3), (2 * HALF, 2)])
def test_bodies_of_32_mib_are_handed_out_at_once_and_no_more(
    ledger: Ledger, second: int, count: int
) -> None:
    """The one that goes beyond it is the last; what is left waits for the next call."""
    assert LEASED_BYTES == 2 * HALF
    large(ledger, [HALF, second, 1, 1])
    batch = ledger.lease({"erp": 9})
    assert [len(one.delivery.body) for one in batch.jobs] == [HALF, second, 1][:count]
    assert batch.next_due == {"erp": START_MS}


def test_the_room_for_bodies_is_that_of_all_targets(ledger: Ledger) -> None:
    large(ledger, [2 * HALF])
    large(ledger, [1], "crm")
    batch = ledger.lease({"erp": 1, "crm": 1})
    assert [one.job.target for one in batch.jobs] == ["erp"]
    assert batch.next_due == {"erp": None, "crm": START_MS}
    assert [one.job.target for one in ledger.lease({"crm": 1}).jobs] == ["crm"]


def test_what_is_due_first_comes_first_whichever_target_it_is_of(ledger: Ledger) -> None:
    make = ledger.make
    due = [("erp", 30), ("crm", 20), ("erp", 10), ("crm", 20), ("wiki", 20)]
    ledger.accept(*[make.job(target=name, due_at=START_MS + at) for name, at in due])
    batch = ledger.lease({"wiki": 9, "erp": 9, "crm": 9})
    found = [(one.job.target, one.job.due_at - START_MS) for one in batch.jobs]
    assert found == [("erp", 10), ("crm", 20), ("crm", 20), ("wiki", 20), ("erp", 30)]


@pytest.mark.parametrize("count", [1, 3, ROWS - 1, ROWS, ROWS + 1])
def test_each_job_comes_with_its_own_delivery(ledger: Ledger, count: int) -> None:
    """However many statements that takes; each with the generation that it names."""
    for number in range(count):
        name = f"g{number % 3}"
        ledger.accept(ledger.make.job(), body=b"%d" % number, generation=name)
    batch = ledger.lease({"erp": count})
    found = [(one.delivery.id, one.delivery.body, one.delivery.generation) for one in batch.jobs]
    ids = [id_ for (id_,) in ledger.rows("id", "deliveries")]
    assert found == [(ids[i], b"%d" % i, f"g{i % 3}") for i in range(count)]
    assert [one.job.delivery for one in batch.jobs] == ids


@pytest.mark.parametrize("count", [15, 16, 17, 33])
def test_each_target_says_when_its_next_is_due(ledger: Ledger, count: int) -> None:
    """However many are asked for: the first that was left, or None."""
    names = [f"t{i}" for i in range(count)]
    for place, name in enumerate(names):
        jobs = [ledger.make.job(target=name, due_at=START_MS + 100 * i + place) for i in range(3)]
        ledger.accept(*jobs[: 1 + place % 3])
    batch = ledger.lease(dict.fromkeys(names, 2))
    assert len(batch.jobs) == sum((1, 2, 2)[i % 3] for i in range(count))
    assert batch.next_due == {
        name: START_MS + 200 + i if i % 3 == 2 else None for i, name in enumerate(names)
    }


@pytest.mark.parametrize("state", ["waiting", "running", "succeeded"])
def test_one_that_is_named_is_handed_out_only_if_it_may_start(ledger: Ledger, state: str) -> None:
    named, other = ledger.make.job(due_at=START_MS + 5), ledger.make.job()
    if state == "waiting":
        named = ledger.make.job(state="waiting")
    ledger.accept(named, other)
    if state != "waiting":
        (leased,) = ledger.lease({"erp": 1}, START_MS + 5, fresh={"erp": [named.id]}).jobs
        if state == "succeeded":
            ledger.settle(leased.job)
    batch = ledger.lease({"erp": 9}, fresh={"erp": [named.id]})
    assert [one.job.id for one in batch.jobs] == [other.id]
    assert batch.next_due == {"erp": None}


def test_one_that_is_named_must_be_due(ledger: Ledger) -> None:
    named = ledger.make.job(due_at=START_MS + 5)
    ledger.accept(named, ledger.make.job(due_at=FAR))
    early = ledger.lease({"erp": 1}, START_MS + 4, fresh={"erp": [named.id]})
    assert (early.jobs, early.next_due) == ((), {"erp": START_MS + 5})
    batch = ledger.lease({"erp": 1}, START_MS + 5, fresh={"erp": [named.id]})
    assert [one.job.id for one in batch.jobs] == [named.id]
    assert batch.next_due == {"erp": FAR}


def test_those_named_of_one_target_are_not_those_of_another(ledger: Ledger) -> None:
    erp, crm = [ledger.make.job() for _ in range(3)], ledger.make.job(target="crm")
    ledger.accept(*erp, crm)
    batch = ledger.lease({"erp": 1, "crm": 0}, fresh={"erp": [erp[2].id], "wiki": [erp[1].id]})
    assert [one.job.id for one in batch.jobs] == [erp[2].id]
    assert batch.next_due == {"erp": START_MS, "crm": START_MS}


def test_what_is_leased_is_what_is_stored(ledger: Ledger) -> None:
    job = ledger.make.job()
    ledger.accept(job)
    leased = ledger.one(START_MS + 9, lease="b/7")
    stored = ledger.of(job, "state, attempt, lease, started_at, charged, deaths, ended_at")
    assert stored == (3, 1, "b/7", START_MS + 9, 0, 0, None)
    assert (leased.state, leased.attempt, leased.lease) == ("running", 1, "b/7")
    assert (leased.started_at, leased.charged, leased.deaths) == (START_MS + 9, 0, 0)


def test_only_jobs_of_runs_are_remembered_as_such_once_it_is_committed(ledger: Ledger) -> None:
    chain = [
        ledger.make.job(action="a", run="r"),
        ledger.make.job(action="b", run="r", after=(Predecessor("a"),)),
    ]
    alone = ledger.make.job()
    ledger.accept(*chain, alone)
    batch = ledger.lease({"erp": 9})
    numbers = dict(ledger.rows("id, n"))
    assert ledger.book.linked == {numbers[chain[0].id]: 1}
    assert ledger.book.running == {id_: numbers[id_] for id_ in (chain[0].id, alone.id)}
    for one in batch.jobs:
        ledger.settle(one.job)
    assert (ledger.book.linked, ledger.book.running) == ({}, {})


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 9])
def test_those_named_come_first_and_once(ledger: Ledger, slots: int) -> None:
    """Though they are due like the others, and found among them."""
    jobs = [ledger.make.job(due_at=START_MS + i) for i in range(4)]
    ledger.accept(*jobs)
    named = [jobs[2].id, jobs[1].id]
    batch = ledger.lease({"erp": slots}, fresh={"erp": named})
    first = [jobs[i] for i in (2, 1, 0, 3)][:slots]
    assert [one.job.id for one in batch.jobs] == [job.id for job in jobs if job in first]
    left = [job.due_at for job in jobs if job not in first]
    assert batch.next_due == {"erp": min(left, default=None)}
