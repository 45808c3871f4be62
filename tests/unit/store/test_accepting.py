"""What one transaction makes of a batch: whose a key is, what waits, what is told."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.common.chains import PAUSED, PREDECESSORS, TURN
from router.store.common.columns import decode_events, decode_names
from router.store.common.states import STATE
from router.store.sqlite import accepting, schema
from router.store.sqlite.accepting import Receipt
from router.store.sqlite.writer_state import ROWS, Book
from router.store.values import Acceptance, Accepted, Duplicate
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker, entries

DROP = Turn("r\x1fx", "x", Group(1, "drop"))
LATEST = Turn("r\x1fx", "x", Group(1, "latest"))
OTHER = Turn("r\x1fy", "y", Group(1, "latest"))


class Noting(sqlite3.Connection):
    """Keeps the text of each statement: SQLite prepares each other one anew."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.texts: list[str] = []

    def execute(self, text: str, values: Any = (), /) -> sqlite3.Cursor:
        self.texts.append(text)
        return super().execute(text, values)


class Ledger:
    """A book in memory, written to by batches."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None, factory=Noting)
        schema.make(self.db)
        self.book, self.make = Book(self.db, Path(), ManualClock()), Maker()

    def write(self, *batch: Acceptance, now: int = START_MS) -> list[Receipt]:
        """The receipts of a batch whose transaction is still open."""
        return accepting.accept_all(self.book, [(one, now) for one in batch])

    def accept(self, *batch: Acceptance, now: int = START_MS) -> list[Receipt]:
        receipts = self.write(*batch, now=now)
        self.book.committed()
        return receipts

    def with_jobs(
        self, *jobs: NewJob, keys: tuple[bytes, ...] = (), now: int = START_MS, **given: Any
    ) -> Receipt:
        return self.accept(self.make.acceptance(*keys, jobs=jobs, **given), now=now)[0]

    def rows(self, columns: str, table: str = "jobs", order: str = "n") -> list[tuple[Any, ...]]:
        found = self.db.execute(f"SELECT {columns} FROM {table} ORDER BY {order}")  # noqa: S608
        return found.fetchall()

    def keys(self) -> dict[bytes, tuple[str, int]]:
        return {key: (who, until) for key, who, until in self.rows("*", "keys", "key")}


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


# -- keys -----------------------------------------------------------------------------------------


def test_a_key_is_known_until_its_time_and_not_at_it(ledger: Ledger) -> None:
    first = ledger.make.acceptance(b"k", keys_until=START_MS + 9)
    copy, again = (ledger.make.acceptance(b"k") for _ in range(2))
    ledger.accept(first)
    assert ledger.accept(copy, now=START_MS + 8) == [Duplicate(first.delivery.id)]
    assert ledger.accept(again, now=START_MS + 9) == [Accepted(again.delivery.id)]
    assert ledger.keys() == {b"k": (again.delivery.id, FAR)}


def test_a_key_that_is_known_keeps_its_owner_and_its_time(ledger: Ledger) -> None:
    first = ledger.make.acceptance(b"k")
    copy = ledger.make.acceptance(b"k", keys_until=FAR + 9)
    ledger.accept(first)
    ledger.accept(copy)
    assert ledger.keys() == {b"k": (first.delivery.id, FAR)}


def test_a_batch_is_as_late_as_its_latest(ledger: Ledger) -> None:
    """Deliveries that come together are judged by one time, whichever stands first."""
    ledger.accept(ledger.make.acceptance(b"k", keys_until=START_MS + 5))
    copy, other = ledger.make.acceptance(b"k"), ledger.make.acceptance(b"other")
    receipts = accepting.accept_all(ledger.book, [(copy, START_MS + 4), (other, START_MS + 5)])
    assert receipts == [Accepted(copy.delivery.id), Accepted(other.delivery.id)]


def test_a_key_is_known_until_its_end(ledger: Ledger) -> None:
    first = ledger.make.acceptance(b"k", keys_until=START_MS + 9)
    ledger.accept(first, now=START_MS)
    assert ledger.keys() == {b"k": (first.delivery.id, START_MS + 9)}
    for now, known in ((START_MS + 8, True), (START_MS + 9, False)):
        (receipt,) = ledger.write(ledger.make.acceptance(b"k"), now=now)
        assert isinstance(receipt, Duplicate) is known
    ledger.accept(ledger.make.acceptance(b"x", b"y"), ledger.make.acceptance(b"y", b"z"))
    ledger.accept(ledger.make.acceptance(b"x", b"w"), ledger.make.acceptance(b"w"))
    assert {b"w"} < set(ledger.keys()), "it goes from the copy to who brings it anew"
    assert {until for _, until in ledger.keys().values()} == {FAR}


def test_batches_of_one_size_are_written_by_the_same_statements(ledger: Ledger) -> None:
    def written(key: bytes, now: int) -> list[str]:
        ledger.db.texts.clear()
        ledger.with_jobs(ledger.make.job(), keys=(key,), now=now)
        return ledger.db.texts[:]

    written(b"first", START_MS)  # what belongs to a generation is written once
    second = written(b"second", START_MS + 1)
    assert second == written(b"third", START_MS + 2)
    assert [text.split()[:3] for text in second] == [
        ["INSERT", "INTO", table] for table in ("keys", "deliveries", "jobs")
    ]


def test_what_a_copy_claimed_besides_is_free_again(ledger: Ledger) -> None:
    first, copy = ledger.make.acceptance(b"a"), ledger.make.acceptance(b"a", b"b")
    ledger.accept(first)
    assert ledger.accept(copy) == [Duplicate(first.delivery.id)]
    assert ledger.keys() == {b"a": (first.delivery.id, FAR)}


def test_a_key_that_a_copy_claimed_first_goes_to_who_brings_it_anew(ledger: Ledger) -> None:
    """With its own time: the one that stood before it in the batch was a copy, and keeps none."""
    known = ledger.make.acceptance(b"a")
    ledger.accept(known)
    copy = ledger.make.acceptance(b"a", b"b")
    new = ledger.make.acceptance(b"b", keys_until=FAR + 7)
    assert ledger.accept(copy, new) == [Duplicate(known.delivery.id), Accepted(new.delivery.id)]
    assert ledger.keys() == {
        b"a": (known.delivery.id, FAR),
        b"b": (new.delivery.id, FAR + 7),
    }
    assert ledger.accept(ledger.make.acceptance(b"b")) == [Duplicate(new.delivery.id)]


@pytest.mark.parametrize("count", [ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 1])
def test_copies_of_many_are_distinguished_from_each_other(ledger: Ledger, count: int) -> None:
    """More keys than one statement asks for."""
    firsts = [ledger.make.acceptance(b"%d" % number) for number in range(count)]
    ledger.accept(*firsts)
    copies = [ledger.make.acceptance(b"%d" % number) for number in range(count)]
    assert ledger.accept(*copies) == [Duplicate(one.delivery.id) for one in firsts]


def test_of_a_batch_s_events_only_those_that_are_new_are_kept(ledger: Ledger) -> None:
    make = ledger.make
    ledger.accept(make.acceptance(b"a"))
    events = [make.event(0, b"a", name="known"), make.event(1, b"b", name="new")]
    partly = make.acceptance(events=events)
    assert ledger.accept(partly) == [Accepted(partly.delivery.id, frozenset({1}))]
    names, kept = ledger.rows("names, events", "deliveries")[1]
    assert (decode_names(names), decode_events(kept)) == (("new",), entries(partly)[1:])
    assert [index for (index,) in ledger.rows("event_index")] == [0, 1]


def test_a_copy_is_counted_with_the_latest_time_and_only_when_committed(ledger: Ledger) -> None:
    first = ledger.make.acceptance(b"k", received_at=START_MS)
    ledger.accept(first)
    for at in (START_MS + 7, START_MS + 3):
        ledger.write(ledger.make.acceptance(b"k", received_at=at))
    assert ledger.book.copies == {}
    ledger.book.committed()
    assert ledger.book.copies == {first.delivery.id: (2, START_MS + 7)}


# -- jobs -----------------------------------------------------------------------------------------


def test_a_job_handed_over_is_remembered_when_it_is_committed(ledger: Ledger) -> None:
    begun = ledger.make.job(state="running", lease="b/1")
    ledger.write(ledger.make.acceptance(jobs=[ledger.make.job(), begun]))
    assert ledger.book.running == {}
    ledger.book.committed()
    (place,) = ledger.db.execute("SELECT n FROM jobs WHERE id = ?", (begun.id,)).fetchone()
    assert ledger.book.running == {begun.id: place}
    assert ledger.rows("state, attempt, lease, started_at")[1] == (
        *(STATE["running"], 1, "b/1", START_MS),
    )


def test_jobs_of_a_paused_rule_wait_beside_others_and_beside_runs(ledger: Ledger) -> None:
    """Each of one delivery in its own way, at its own place."""
    make = ledger.make
    ledger.with_jobs(
        make.job(action="free"),
        make.job(action="paused", state="waiting"),
        make.job(action="first", run="r"),
        make.job(action="second", run="r", after=(Predecessor("first"),)),
        make.job(action="later", run="p", state="waiting"),
    )
    found = {action: rest for action, *rest in ledger.rows("action, state, waits, run, n & 15")}
    assert found == {
        "free": [STATE["available"], None, None, 0],
        "paused": [STATE["waiting"], PAUSED, None, 1],
        "first": [STATE["available"], None, 1, 2],
        "second": [STATE["waiting"], PREDECESSORS, 1, 3],
        "later": [STATE["waiting"], PAUSED, 2, 4],
    }


def test_one_paused_job_alone_waits(ledger: Ledger) -> None:
    ledger.with_jobs(ledger.make.job(state="waiting"))
    assert ledger.rows("state, waits, run") == [(STATE["waiting"], PAUSED, None)]


def test_a_run_takes_its_turn_by_its_own_group(ledger: Ledger) -> None:
    """Two runs of one delivery, each with its value."""
    make = ledger.make
    for _ in range(2):
        ledger.with_jobs(
            make.job(run="a", turn=LATEST), make.job(run="b", turn=OTHER), make.job(run="c")
        )
    assert ledger.rows("n, key, value", "runs") == [
        *((1, LATEST.key, "x"), (2, OTHER.key, "y"), (3, None, None)),
        *((4, LATEST.key, "x"), (5, OTHER.key, "y"), (6, None, None)),
    ]


def test_what_a_group_cancels_ended_when_the_delivery_came(ledger: Ledger) -> None:
    ledger.with_jobs(ledger.make.job(run="a", turn=DROP))
    receipt = ledger.with_jobs(ledger.make.job(run="b", turn=DROP), now=START_MS + 77)
    assert isinstance(receipt, Accepted)
    assert receipt.cancelled == ("busy",)
    assert ledger.rows("state, reason, ended_at") == [
        (STATE["available"], None, None),
        (STATE["cancelled"], "busy", START_MS + 77),
    ]


def test_what_one_delivery_cancels_is_reported_with_its_own_receipt(ledger: Ledger) -> None:
    """In a batch of three of which the second supersedes the first, and the third is a copy."""
    make = ledger.make
    old = make.acceptance(b"1", jobs=[make.job(run="a", turn=LATEST)])
    waits = make.acceptance(b"2", jobs=[make.job(run="b", turn=LATEST)])
    newest = make.acceptance(b"3", jobs=[make.job(run="c", turn=LATEST), make.job(run="c")])
    copy = make.acceptance(b"1")
    ledger.accept(old)
    ledger.db.execute("UPDATE jobs SET state = ?", (STATE["running"],))
    assert ledger.accept(waits, copy, newest) == [
        Accepted(waits.delivery.id),
        Duplicate(old.delivery.id),
        Accepted(newest.delivery.id, cancelled=("superseded",)),
    ]
    assert ledger.rows("state, waits") == [
        *((STATE["running"], None), (STATE["cancelled"], None)),
        *((STATE["waiting"], TURN), (STATE["waiting"], TURN)),
    ]


def test_jobs_of_a_copy_are_not_made(ledger: Ledger) -> None:
    make = ledger.make
    ledger.accept(make.acceptance(b"k", jobs=[make.job(run="a", turn=DROP)]))
    copy = make.acceptance(b"k", jobs=[make.job(run="b", turn=DROP), make.job()])
    assert isinstance(ledger.accept(copy)[0], Duplicate)
    assert len(ledger.rows("n")) == len(ledger.rows("n", "runs")) == 1


# -- numbers --------------------------------------------------------------------------------------


def test_deliveries_are_numbered_one_after_the_other_and_copies_take_none(ledger: Ledger) -> None:
    make = ledger.make
    ledger.accept(make.acceptance(b"a"), make.acceptance(b"a"), make.acceptance(b"b"))
    assert ledger.rows("n", "deliveries") == [(1,), (2,)]
    assert ledger.book.next_delivery == 3
    assert ledger.rows("id, first_delivery", "generations") == [(GENERATION, 1)]


def test_numbers_of_what_was_rolled_back_are_given_again(ledger: Ledger) -> None:
    ledger.book.begin()
    ledger.write(ledger.make.acceptance(), ledger.make.acceptance())
    assert ledger.book.next_delivery == 3
    ledger.db.execute("ROLLBACK")
    ledger.book.unwind()
    assert ledger.book.next_delivery == 1


@pytest.mark.parametrize(
    ("size", "pages"), [(0, 2), (4_095, 2), (4_096, 3), (8_191, 3), (8_192, 4)]
)
def test_a_body_is_estimated_by_the_whole_pages_it_fills(
    ledger: Ledger, size: int, pages: int
) -> None:
    ledger.accept(ledger.make.acceptance(jobs=(), body=b"x" * size))
    assert ledger.book.pages == pages
