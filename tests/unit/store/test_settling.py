"""Attempts' ends: what is written of each, many at once, and whose lease no longer holds."""

from typing import Any

import pytest

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.sqlite import settling
from router.store.sqlite.accepting import Anomaly
from router.store.sqlite.writer_state import LAST_DELIVERY_STEP, ROWS, Book
from router.store.values import ALREADY, HELD, Settled
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION, a_settlement
from tests.unit.store.ledger import Ledger, ending

COLUMNS = "state, due_at, ended_at, reason, charged, deaths, lease"


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def chain(ledger: Ledger, name: str = "r") -> list[NewJob]:
    make = ledger.make
    return [
        make.job(action="a", run=name),
        make.job(action="b", run=name, after=(Predecessor("a"),)),
    ]


@pytest.mark.parametrize(
    ("state", "given", "stored"),
    [
        ("succeeded", {}, (5, START_MS, FAR + 5, None, 1, 0, None)),
        ("dead", {"reason": "no"}, (4, START_MS, FAR + 5, "no", 1, 0, None)),
        ("cancelled", {"charged": False}, (6, START_MS, FAR + 5, None, 0, 2, None)),
        ("retryable", {"due_at": FAR + 9}, (1, FAR + 9, None, None, 1, 0, None)),
        ("available", {"charged": False}, (0, START_MS, None, None, 0, 2, None)),
    ],
)
def test_what_is_written_of_each_end(
    ledger: Ledger, state: Any, given: dict[str, Any], stored: tuple[Any, ...]
) -> None:
    """Only an attempt that is charged is one that nobody died of."""
    ledger.accept(ledger.make.job())
    job = ledger.one()
    ledger.db.execute("UPDATE jobs SET deaths = 2, reason = 'of the one before'")
    assert ledger.settle(job, state, **given)
    assert ledger.of(job, COLUMNS) == stored


def test_charges_add_up(ledger: Ledger) -> None:
    ledger.accept(ledger.make.job())
    for charged in (True, False, True):
        job = ledger.one()
        ledger.settle(job, "retryable", due_at=START_MS, charged=charged)
    assert ledger.of(job, "charged, attempt") == (2, 3)


@pytest.mark.parametrize("count", [1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 1])
def test_many_at_once(ledger: Ledger, count: int) -> None:
    ledger.accept(*[ledger.make.job() for _ in range(count + 1)])
    jobs = [one.job for one in ledger.lease({"erp": count + 1}).jobs]
    ends = [ending(job) for job in jobs[:count]]
    assert settling.settle_all(ledger.book, ends) == [HELD] * count
    ledger.book.committed()
    assert [state for (state,) in ledger.rows("state")] == [5] * count + [3]
    assert ledger.rows("count(*)", "attempts", "1") == [(count,)]
    assert list(ledger.book.running) == [jobs[-1].id]


@pytest.mark.parametrize("lost", [0, ROWS, 2 * ROWS])
def test_one_lease_that_is_lost_among_many_is_found(ledger: Ledger, lost: int) -> None:
    """Then they are done one by one: nobody may be told that it holds who does not."""
    count = 2 * ROWS + 1
    ledger.accept(*[ledger.make.job() for _ in range(count)])
    jobs = [one.job for one in ledger.lease({"erp": count}).jobs]
    ends = [
        ending(job, **({"lease": "x"} if place == lost else {})) for place, job in enumerate(jobs)
    ]
    with pytest.raises(Anomaly):
        settling.settle_all(ledger.book, ends)


def test_an_end_is_written_by_who_holds_the_lease_and_once(ledger: Ledger) -> None:
    linked = chain(ledger)
    ledger.accept(*linked)
    job = ledger.one()
    assert not ledger.settle(job, lease="b/other")
    assert ledger.of(job, "state") == (3,)
    assert ledger.settle(job).freed == (("erp", START_MS),)
    assert ledger.settle(job) == ALREADY
    twice = [ending(ledger.one(FAR + 5))] * 2
    with pytest.raises(Anomaly):
        settling.settle_all(ledger.book, twice)


def test_among_many_each_hears_what_its_own_end_did(ledger: Ledger) -> None:
    make, latest = ledger.make, Turn("r\x1fx", "x", Group(1, "latest"))
    first = make.job(rule="r", run="one", turn=latest)
    ledger.accept(*chain(ledger), make.job(rule="alone"))
    ledger.accept(first)
    jobs = [one.job for one in ledger.lease({"erp": 9}).jobs]
    ledger.accept(make.job(rule="r", run="two", turn=latest))
    states: dict[str, Any] = {jobs[0].id: "dead", first.id: "retryable"}
    ends = [ending(job, states.get(job.id, "succeeded"), due_at=FAR) for job in jobs]
    assert settling.settle_all(ledger.book, ends) == [
        Settled(cancelled=("predecessor_dead",)),
        HELD,
        Settled(freed=(("erp", START_MS),), cancelled=("superseded",)),
    ]


def test_what_an_attempt_ran_under_is_kept_with_it(ledger: Ledger) -> None:
    ledger.accept(ledger.make.job(), generation="old")
    job = ledger.one()
    settlement = a_settlement(job)
    ledger.settle(job)
    names = dict(ledger.rows("n, id", "generations"))
    (generation, *rest) = ledger.rows(
        "generation, job, number, started_at, ended_at, outcome, reason", "attempts", "1"
    )[0]
    assert names[generation] == settlement.attempt.generation != "old"
    assert rest == [1 << 20, 1, FAR, FAR + 5, 0, None]
    (first, last) = ledger.db.execute(
        "SELECT first_delivery, last_delivery FROM generations WHERE n = ?", (generation,)
    ).fetchone()
    assert first == 1 <= last


@pytest.mark.parametrize("order", [1, -1])
def test_what_the_attempts_of_a_batch_ran_under_is_kept_with_each(
    ledger: Ledger, order: int
) -> None:
    """However far apart their deliveries are, and in whatever order they end."""
    far = 3 * LAST_DELIVERY_STEP
    for number in (1, 2, far):
        ledger.book.next_delivery = number
        ledger.accept(ledger.make.job(), generation="old")
    jobs = [one.job for one in ledger.lease({"erp": 3}).jobs]
    ends = [ending(job) for job in jobs[::order]]
    assert settling.settle_all(ledger.book, ends) == [HELD] * 3
    ((first, last),) = ledger.db.execute(
        "SELECT first_delivery, last_delivery FROM generations WHERE id = ?", (GENERATION,)
    )
    assert first == 1 < far <= last


def test_what_a_generation_is_kept_for_is_looked_up_once(ledger: Ledger) -> None:
    """Not for each end, also after a start, when what is in the file suffices."""
    ledger.accept(*[ledger.make.job() for _ in range(3)])
    jobs = [one.job for one in ledger.lease({"erp": 3}).jobs]
    ledger.settle(jobs[0])
    started = Book(ledger.db, ledger.book.path, ledger.book.clock)
    asked: list[str] = []
    ledger.db.set_trace_callback(asked.append)
    for job in jobs[1:]:
        assert settling.settle_all(started, [ending(job)]) == [HELD]
        started.committed()
    ledger.db.set_trace_callback(None)
    assert len([sql for sql in asked if "first_delivery" in sql]) == 1, asked
