"""What several leased jobs are of is read once, whole and sound, and not too much of it is kept."""

from collections.abc import Iterator

import pytest

from router.model.delivery import Delivery
from router.store.sqlite.delivery_cache import CACHED_BYTES, CACHED_MAX, DeliveryCache
from tests.store_values import Maker
from tests.unit.store.ledger import Ledger


class Reading:
    """A ledger that notes how many deliveries' bodies are read."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.read = 0
        self.ledger.db.set_trace_callback(self._note)

    def _note(self, sql: str) -> None:
        self.read += sql.count("SELECT body FROM deliveries")

    def lease(self, count: int) -> list[Delivery]:
        return [one.delivery for one in self.ledger.lease({"erp": count}).jobs]


@pytest.fixture
def reading() -> Iterator[Reading]:
    made = Reading()
    yield made
    made.ledger.db.close()


def test_a_delivery_of_many_jobs_is_read_once_however_many_leases_that_takes(
    reading: Reading,
) -> None:
    jobs = [reading.ledger.make.job() for _ in range(9)]
    id_ = reading.ledger.accept(*jobs, body=b"whole")
    for count in (4, 1, 1, 3):
        assert {(one.id, one.body) for one in reading.lease(count)} == {(id_, b"whole")}
    assert reading.read == 1


def test_a_delivery_of_one_job_is_not_kept(reading: Reading) -> None:
    ledger = reading.ledger
    one = ledger.accept(ledger.make.job())
    two = ledger.accept(ledger.make.job(), ledger.make.job())
    assert [delivery.id for delivery in reading.lease(3)] == [one, two, two]
    assert ledger.book.deliveries.get(one) is None
    assert ledger.book.deliveries.get(two) is not None


def test_a_number_that_is_given_again_brings_its_own_delivery(reading: Reading) -> None:
    """The first was leased in the transaction that made it, and that was rolled back."""
    ledger = reading.ledger
    ledger.book.begin()
    jobs = [ledger.make.job() for _ in range(3)]
    gone = ledger.make.acceptance(jobs=jobs, body=b"gone")
    ledger.write(gone)
    ledger.lease_within({"erp": 2})
    ledger.db.execute("ROLLBACK")
    ledger.book.unwind()
    stays = ledger.accept(ledger.make.job(), ledger.make.job(), body=b"stays")
    assert [(one.id, one.body) for one in reading.lease(9)] == [(stays, b"stays")] * 2


def test_what_a_disk_has_damaged_is_not_kept(reading: Reading) -> None:
    ledger = reading.ledger
    id_ = ledger.accept(ledger.make.job(), ledger.make.job())
    ledger.db.execute("UPDATE deliveries SET body = x'00' WHERE id = ?", (id_,))
    assert all(one.damaged for one in reading.lease(2))
    assert ledger.book.deliveries.get(id_) is None


def test_no_more_than_so_many_bytes_are_kept_and_the_latest_stay() -> None:
    cache, make = DeliveryCache(), Maker()
    half = bytes(CACHED_BYTES // 2)
    first, second, third = (make.delivery(body=half) for _ in range(3))
    cache.keep({1: 2, 2: 2}, {1: first, 2: second})
    assert (cache.get(first.id), cache.get(second.id)) == (first, second)
    cache.keep({3: 2}, {3: third})
    kept = [cache.get(one.id) for one in (first, second, third)]
    assert kept == [None, second, third]
    cache.keep({4: 2}, {4: make.delivery(body=bytes(CACHED_BYTES + 1))})
    assert [cache.get(one.id) for one in (second, third)] == [None, None]


def test_no_more_than_so_many_are_kept_though_they_are_empty() -> None:
    cache, make = DeliveryCache(), Maker()
    first, *others = (make.delivery(body=b"") for _ in range(CACHED_MAX + 1))
    twice = dict.fromkeys(range(CACHED_MAX), 2)
    cache.keep(twice, dict(enumerate([first, *others[:-1]])))
    assert cache.get(first.id) is first
    cache.keep({0: 2}, {0: others[-1]})
    assert cache.get(first.id) is None
    assert [cache.get(one.id) for one in others] == others
