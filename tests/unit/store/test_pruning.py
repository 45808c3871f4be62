"""The search for what may go: in windows, from where it stopped, and round again."""

import sqlite3
from pathlib import Path

import pytest

from router.store.removal import Pruned, Retain
from router.store.sqlite import accepting, pruning, schema
from router.store.sqlite.pruning import KEYS_EXAMINED, WINDOW, PrunePlan, PruneSearch, removable
from router.store.sqlite.writer_state import Book
from router.store.values import Acceptance
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker


class Shelf:
    """A book in memory."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        schema.make(self.db)
        self.book, self.make = Book(self.db, Path(), ManualClock()), Maker()

    def accept(self, *acceptances: Acceptance) -> None:
        accepting.accept_all(self.book, [(one, START_MS) for one in acceptances])
        self.book.committed()

    def unmatched(self, count: int) -> list[int]:
        """So many deliveries without jobs; when each was received."""
        return self._stored(self.make.acceptance(jobs=(), state="unmatched"), count)

    def open(self, count: int) -> list[int]:
        """So many deliveries, each with a job that waits for its time."""
        return self._stored(self.make.acceptance(), count)

    def _stored(self, first: Acceptance, count: int) -> list[int]:
        """The first is accepted, the others are made like it: thousands in no time."""
        self.accept(first)
        number, received = self.book.next_delivery - 1, first.delivery.received_at
        self._like(
            "deliveries",
            count,
            f"n = {number}",
            n="n + i",
            id="id || printf('%06d', i)",
            received_at="received_at + i",
        )
        if first.jobs:
            self._like(
                "jobs",
                count,
                f"n = {number << 20}",
                n="n + (i << 20)",
                id="id || printf('%06d', i)",
            )
        self.book.next_delivery = number + count
        self.make = Maker(self.book.next_delivery)
        self.make._at = received + count
        return [received + i for i in range(count)]

    def _like(self, table: str, count: int, which: str, **other: str) -> None:
        columns = [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(other.get(column, column) for column in columns)
        self.db.execute(
            "WITH RECURSIVE numbers(i) AS "  # noqa: S608 - our own words
            f"(SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < {count}) "
            f"INSERT INTO {table} ({', '.join(columns)}) "
            f"SELECT {values} FROM {table}, numbers WHERE {which} AND i < {count}"
        )

    def keys(self, count: int, until: int, beginning: bytes = b"") -> None:
        self.db.executemany(
            "INSERT INTO keys (key, delivery, until) VALUES (?, 'dlv', ?)",
            [(beginning + b"%08d" % number, until) for number in range(count)],
        )

    def prune(self, plan: PrunePlan, retain: Retain, now: int = START_MS) -> Pruned:
        done = pruning.prune(self.book, plan, retain, now)
        self.book.committed()
        return done


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def keep(**given: int | None) -> Retain:
    values = {"succeeded_before": 0, "unmatched_before": 0, "dead_before": 0, **given}
    return Retain(**values)  # type: ignore[arg-type]


def test_nothing_is_found_in_an_empty_store(shelf: Shelf) -> None:
    plan = PruneSearch().plan(shelf.db, keep(unmatched_before=FAR), FAR)
    assert (plan.deliveries, plan.keys, plan.ended) == ((), None, FAR)
    assert removable(shelf.db, keep(unmatched_before=FAR), FAR) == (0, 0)


def test_a_search_looks_beyond_what_it_sees_at_once(shelf: Shelf) -> None:
    """All of the first window is still open; what may go stands behind it."""
    shelf.open(WINDOW)
    shelf.unmatched(3)
    found = PruneSearch().plan(shelf.db, keep(unmatched_before=FAR), FAR).deliveries
    assert found == tuple(range(WINDOW + 1, WINDOW + 4))


def test_one_that_came_when_the_clock_was_ahead_hides_none_behind_it(shelf: Shelf) -> None:
    shelf.open(WINDOW)
    shelf.db.execute("UPDATE deliveries SET received_at = ? WHERE n = 5", (2 * FAR,))
    shelf.unmatched(3)
    found = PruneSearch().plan(shelf.db, keep(unmatched_before=FAR), FAR).deliveries
    assert found == tuple(range(WINDOW + 1, WINDOW + 4))


def test_what_is_too_young_ends_the_search(shelf: Shelf) -> None:
    """The oldest of a window was not received before any limit: nor was anything behind it."""
    received = shelf.unmatched(WINDOW + 5)
    search = PruneSearch()
    retain = keep(unmatched_before=received[0])
    assert search.plan(shelf.db, retain, FAR).deliveries == ()
    assert search._delivery == ""
    one = keep(unmatched_before=received[0] + 1)
    assert search.plan(shelf.db, one, FAR).deliveries == (1,)


def test_a_window_that_holds_more_than_asked_for_is_looked_at_again(shelf: Shelf) -> None:
    shelf.unmatched(10)
    search, retain = PruneSearch(), keep(unmatched_before=FAR, limit=4)
    plan = search.plan(shelf.db, retain, FAR)
    assert plan.deliveries == (1, 2, 3, 4)
    assert shelf.prune(plan, retain).deliveries == 4
    assert search.plan(shelf.db, retain, FAR).deliveries == (5, 6, 7, 8)


def test_a_search_goes_on_where_it_stopped_and_begins_anew_at_the_end(shelf: Shelf) -> None:
    received = shelf.unmatched(WINDOW + 5)
    search, retain = PruneSearch(), keep(unmatched_before=FAR, limit=WINDOW + 5)
    assert len(search.plan(shelf.db, retain, FAR).deliveries) == WINDOW + 5
    assert search._delivery != "", "it found enough: the last window is looked at again"
    again = search.plan(shelf.db, retain, FAR).deliveries
    assert again == tuple(range(WINDOW + 1, WINDOW + 6))
    assert len(search.plan(shelf.db, retain, FAR).deliveries) == WINDOW + 5
    assert removable(shelf.db, keep(unmatched_before=received[-1]), FAR)[0] == WINDOW + 4


@pytest.mark.parametrize("kind", ["succeeded_before", "unmatched_before", "dead_before"])
def test_the_latest_of_all_limits_is_how_far_it_looks(shelf: Shelf, kind: str) -> None:
    """Each kind's limit may be the latest, the size cap's too."""
    shelf.open(WINDOW)
    shelf.unmatched(2)
    retain = keep(**{kind: FAR}, finished_before=START_MS)
    found = PruneSearch().plan(shelf.db, retain, FAR).deliveries
    assert len(found) == (2 if kind == "unmatched_before" else 0)
    capped = PruneSearch().plan(shelf.db, keep(finished_before=FAR), FAR).deliveries
    assert len(capped) == 2


def test_what_a_plan_names_may_have_been_opened_again(shelf: Shelf) -> None:
    """Between the search and the removal somebody revived it, or it is gone."""
    shelf.accept(shelf.make.acceptance())
    done = shelf.prune(
        PrunePlan((1, 99), None, START_MS), keep(succeeded_before=FAR, unmatched_before=FAR)
    )
    assert done == Pruned(0, 0, 0)
    assert shelf.book.one("SELECT count(*) FROM jobs") == 1


def test_with_a_delivery_goes_all_that_hangs_on_it(shelf: Shelf) -> None:
    shelf.unmatched(2)
    shelf.db.execute("INSERT INTO copies (delivery, count, last_seen_at) VALUES (1, 3, 0)")
    shelf.db.execute("INSERT INTO copies (delivery, count, last_seen_at) VALUES (2, 3, 0)")
    assert shelf.prune(PrunePlan((1,), None, START_MS), keep(unmatched_before=FAR)).deliveries == 1
    assert shelf.db.execute("SELECT delivery FROM copies").fetchall() == [(2,)]
    assert shelf.db.execute("SELECT n FROM deliveries").fetchall() == [(2,)]


def test_jobs_and_attempts_go_with_their_delivery_and_no_others(shelf: Shelf) -> None:
    shelf.accept(*[shelf.make.acceptance(jobs=[shelf.make.job(), shelf.make.job()]) for _ in "ab"])
    shelf.db.execute(
        "INSERT INTO attempts (job, number, started_at, ended_at, outcome, reason, result, "
        "generation) SELECT n, 1, 0, 0, 0, NULL, '{}', 1 FROM jobs"
    )
    shelf.db.execute("UPDATE jobs SET state = 5, ended_at = ?", (START_MS,))
    assert shelf.prune(PrunePlan((1,), None, START_MS), keep(succeeded_before=FAR)).deliveries == 1
    second = 2 << 20
    for column, table in (("n", "jobs"), ("job", "attempts")):
        left = shelf.db.execute(f"SELECT {column} FROM {table} ORDER BY 1").fetchall()  # noqa: S608
        assert left == [(second,), (second + 1,)]


def test_the_number_of_one_that_is_gone_is_not_given_again(shelf: Shelf) -> None:
    """Not even after a restart, when nothing but the file knows of it."""
    shelf.unmatched(3)
    shelf.prune(PrunePlan((1, 2, 3), None, START_MS), keep(unmatched_before=FAR))
    assert Book(shelf.db, Path(), ManualClock()).next_delivery == 4


def test_how_much_is_looked_at_in_one_go() -> None:
    assert (WINDOW, KEYS_EXAMINED) == (10_000, 100_000)


def test_expired_keys_go_in_steps_and_the_others_between_them_stay(shelf: Shelf) -> None:
    shelf.keys(10, START_MS, b"a")
    shelf.keys(1, START_MS + 1, b"a00000003x")
    search, retain = PruneSearch(), keep(limit=6)
    plan = search.plan(shelf.db, retain, START_MS)
    assert plan.keys == (b"a00000000", b"a00000005")
    assert shelf.prune(plan, retain).keys == 6
    plan = search.plan(shelf.db, retain, START_MS)
    assert plan.keys == (b"a00000006", b"a00000009")
    assert shelf.prune(plan, retain).keys == 4
    assert search.plan(shelf.db, retain, START_MS).keys is None
    assert shelf.book.one("SELECT count(*) FROM keys") == 1
    assert removable(shelf.db, retain, START_MS) == (0, 0)
    assert removable(shelf.db, retain, START_MS + 1) == (0, 1)


def test_near_the_end_a_search_for_keys_goes_on_from_the_beginning(shelf: Shelf) -> None:
    shelf.keys(3, START_MS, b"m")
    search, retain = PruneSearch(), keep(limit=9)
    assert search.plan(shelf.db, retain, START_MS).keys == (b"m00000000", b"m00000002")
    shelf.prune(PrunePlan((), (b"m", b"n"), START_MS), retain)
    shelf.keys(2, START_MS, b"a")
    assert search.plan(shelf.db, retain, START_MS).keys == (b"a00000000", b"a00000001")


@pytest.mark.long
def test_only_so_many_keys_are_looked_at_in_one_go(shelf: Shelf) -> None:
    shelf.keys(KEYS_EXAMINED, FAR)
    shelf.keys(1, START_MS, b"z")
    search, retain = PruneSearch(), keep(limit=9)
    assert search.plan(shelf.db, retain, START_MS).keys is None
    assert search.plan(shelf.db, retain, START_MS).keys == (b"z00000000", b"z00000000")


@pytest.mark.parametrize("by", ["delivery", "job", "attempt"])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_generation_stays_while_anything_names_it(shelf: Shelf, by: str, place: int) -> None:
    """A delivery, a job that was made for an older one, or an attempt alone; wherever it stands."""
    shelf.accept(*[shelf.make.acceptance() for _ in range(3)])
    shelf.accept(shelf.make.acceptance(generation="other"))
    number = shelf.book.generation("named")
    shelf.book.named(number, place, place)
    shelf.db.execute("UPDATE generations SET last_delivery = ? WHERE n = ?", (place, number))
    if by == "delivery":
        shelf.db.execute("UPDATE deliveries SET generation = ? WHERE n = ?", (number, place))
    elif by == "job":
        where = (number, place << 20)
        shelf.db.execute("UPDATE jobs SET generation = ? WHERE n = ?", where)
    else:
        values = (place << 20, START_MS, START_MS, number)
        shelf.db.execute(
            "INSERT INTO attempts (job, number, started_at, ended_at, outcome, reason, result, "
            "generation) VALUES (?, 1, ?, ?, 0, NULL, '{}', ?)",
            values,
        )
    keep_all, nothing = keep(), PrunePlan((), None, START_MS)
    assert shelf.prune(nothing, keep_all).generations == 0
    shelf.db.execute("DELETE FROM attempts")
    shelf.db.execute("UPDATE jobs SET generation = 1 WHERE generation = ?", (number,))
    shelf.db.execute("UPDATE deliveries SET generation = 1 WHERE generation = ?", (number,))
    shelf.db.execute("INSERT INTO rule_generations VALUES ('r', ?)", (number,))
    assert shelf.prune(nothing, keep_all).generations == 1
    left = shelf.db.execute("SELECT id FROM generations ORDER BY n").fetchall()
    assert [id_ for (id_,) in left] == [GENERATION, "other"]
    assert shelf.book.one("SELECT count(*) FROM rule_generations WHERE rule = 'r'") == 0


def test_a_generation_that_is_live_stays_unnamed(shelf: Shelf) -> None:
    number = shelf.book.generation("live")
    shelf.book.live.add(number)
    assert shelf.prune(PrunePlan((), None, START_MS), keep()).generations == 0
    shelf.book.live.clear()
    assert shelf.prune(PrunePlan((), None, START_MS), keep()).generations == 1
    assert shelf.book.generation("live") == 1, "forgotten: it is given a number anew"


def test_a_generation_that_is_removed_and_comes_again_is_kept_with_what_names_it(
    shelf: Shelf,
) -> None:
    """Nothing of the removed one is remembered: neither its number, nor its rules, nor its span."""
    again = shelf.make.acceptance(generation="again", jobs=[shelf.make.job(rule="r")])
    shelf.accept(again)
    shelf.db.execute("UPDATE jobs SET state = 5, ended_at = ?", (START_MS,))
    gone = shelf.prune(PrunePlan((1,), None, START_MS), keep(succeeded_before=FAR))
    assert (gone.deliveries, gone.generations) == (1, 1)
    for name in ("another", "again"):
        job = shelf.make.job(rule="r")
        shelf.accept(shelf.make.acceptance(generation=name, jobs=[job]))
    named = "SELECT g.id, d.n FROM deliveries d JOIN generations g ON g.n = d.generation"
    assert shelf.db.execute(f"{named} ORDER BY d.n").fetchall() == [("another", 2), ("again", 3)]
    ruled = "SELECT g.id FROM rule_generations r JOIN generations g ON g.n = r.generation"
    assert sorted(shelf.db.execute(ruled).fetchall()) == [("again",), ("another",)]
    assert shelf.prune(PrunePlan((), None, START_MS), keep()).generations == 0


def test_a_step_of_nothing_finds_nothing(shelf: Shelf) -> None:
    shelf.unmatched(3)
    assert PruneSearch().plan(shelf.db, keep(unmatched_before=FAR, limit=0), FAR).deliveries == ()
