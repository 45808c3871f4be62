"""Each verb tells about how much it wrote: that is what a checkpoint waits for."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.model.target import Pause
from router.store.removal import Retain
from router.store.sqlite import (
    accepting,
    adding,
    holding,
    in_force,
    leasing,
    pruning,
    schema,
    settling,
)
from router.store.sqlite.pruning import PrunePlan
from router.store.sqlite.writer_state import Book
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker
from tests.unit.store.ledger import ending

ALL_GONE = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=FAR)


class Ledger:
    """A book in memory; `since` gives the pages written since it was asked last."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        schema.make(self.db)
        self.book, self.make = Book(self.db, Path(), ManualClock()), Maker()

    def accept(self, *keys: bytes, jobs: int = 0, **given: Any) -> str:
        made = [self.make.job() for _ in range(jobs)]
        acceptance = self.make.acceptance(*keys, jobs=made, **given)
        accepting.accept_all(self.book, [(acceptance, START_MS)])
        self.book.committed()
        return acceptance.delivery.id

    def since(self) -> int:
        pages, self.book.pages = self.book.pages, 0
        return pages


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_a_delivery_is_two_pages_and_its_body_its_keys_its_jobs(ledger: Ledger) -> None:
    ledger.accept()
    assert ledger.since() == 2
    ledger.accept(b"k")
    assert ledger.since() == 3
    ledger.accept(jobs=3)
    assert ledger.since() == 5
    ledger.accept(body=b"x" * 8_192)
    assert ledger.since() == 4
    ledger.accept(b"k")
    assert ledger.since() == 1, "a copy: its key was looked for"


def test_jobs_that_are_leased_and_settled(ledger: Ledger) -> None:
    ledger.accept(jobs=3)
    ledger.since()
    batch = leasing.lease(ledger.book, {"erp": 3}, lease="b/1", now=START_MS)
    ledger.book.committed()
    assert ledger.since() == 4
    ends = [ending(one.job) for one in batch.jobs]
    settling.settle_all(ledger.book, ends)
    ledger.book.committed()
    assert ledger.since() == 4
    assert leasing.lease(ledger.book, {"erp": 3}, lease="b/1", now=START_MS).jobs == ()
    assert ledger.since() == 0


def test_jobs_that_are_added(ledger: Ledger) -> None:
    delivery = ledger.accept()
    ledger.since()
    adding.add(ledger.book, delivery, [ledger.make.job(), ledger.make.job()], START_MS)
    assert ledger.since() == 4


def test_jobs_that_are_held_and_released(ledger: Ledger) -> None:
    ledger.accept(jobs=3)
    ledger.since()
    assert holding.hold(ledger.book, {"paid"}, generation=GENERATION, now=START_MS) == 3
    assert ledger.since() == 3
    assert holding.hold(ledger.book, (), generation=GENERATION, now=START_MS) == 3
    assert ledger.since() == 3


def test_a_target_that_is_paused_and_resumed(ledger: Ledger) -> None:
    ledger.accept(jobs=3)
    ledger.since()
    assert holding.pause(ledger.book, "erp", Pause()) == 3
    assert ledger.since() == 4
    assert holding.resume(ledger.book, "erp", START_MS) == 3
    assert ledger.since() == 4


def test_rules_that_are_put_in_force(ledger: Ledger) -> None:
    for pages in (2, 0):
        in_force.put_in_force(ledger.book, "g", by="n1", at=START_MS)
        assert ledger.since() == pages


def test_what_is_removed(ledger: Ledger) -> None:
    ledger.accept(b"a")
    ledger.accept(b"b")
    ledger.since()
    pruning.prune(ledger.book, PrunePlan((1, 2), (b"a", b"b"), FAR), ALL_GONE, FAR)
    assert ledger.since() == 10


def test_jobs_that_are_found_again(ledger: Ledger) -> None:
    ledger.accept(jobs=2)
    leasing.lease(ledger.book, {"erp": 2}, lease="old/1", now=START_MS)
    ledger.book.committed()
    ledger.since()
    leasing.recover(ledger.book, {"old"}, START_MS, frozenset(), lambda _job, _attempt: None)
    assert ledger.since() == 4


def test_what_has_begun_is_found_without_looking(ledger: Ledger) -> None:
    """Jobs that are taken running, or leased, are remembered once that has committed."""
    job = ledger.make.job(state="running", lease="b/1")
    acceptance = ledger.make.acceptance(jobs=[job, ledger.make.job()])
    accepting.accept_all(ledger.book, [(acceptance, START_MS)])
    assert ledger.book.running == {}
    ledger.book.committed()
    assert ledger.book.running == {job.id: 1 << 20}
    (leased,) = leasing.lease(ledger.book, {"erp": 1}, lease="b/2", now=START_MS).jobs
    assert len(ledger.book.running) == 1
    ledger.book.committed()
    assert ledger.book.running == {job.id: 1 << 20, leased.job.id: (1 << 20) + 1}
    settling.settle_all(ledger.book, [ending(leased.job)])
    ledger.book.committed()
    assert ledger.book.running == {job.id: 1 << 20}


def test_a_settlement_of_a_job_that_is_not_there_is_lost(ledger: Ledger) -> None:
    ledger.accept(jobs=1)
    (leased,) = leasing.lease(ledger.book, {"erp": 1}, lease="b/1", now=START_MS).jobs
    gone = ending(msgspec.structs.replace(leased.job, id="job_gone"))
    assert [bool(one) for one in settling.settle_all(ledger.book, [gone])] == [False]
    with pytest.raises(accepting.Anomaly):
        settling.settle_all(ledger.book, [gone, ending(leased.job)])
