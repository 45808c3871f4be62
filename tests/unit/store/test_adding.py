"""New jobs for a stored delivery: their places, their generation, their run and its turn."""

import pytest

from router.errors import NotFound
from router.model.job import Group, NewJob, Turn
from router.store.common.run_changes import ON_BUSY
from router.store.sqlite import adding
from tests.clocks import START_MS
from tests.store_values import GENERATION
from tests.unit.store.ledger import Ledger

HALT = Turn("r\x1fx", "x", Group(1, "queue", "halt"))
OTHER = Turn("r\x1fy", "y", Group(1, "queue", "halt"))


class AddingLedger(Ledger):
    """It takes runs, and more jobs for what is stored."""

    def run(self, turn: Turn | None, name: str = "run") -> tuple[str, NewJob]:
        """A delivery whose one job is a run with this turn."""
        job = self.make.job(run=name, turn=turn)
        return self.accept(job), job

    def add(self, delivery: str, *jobs: NewJob) -> int:
        done = adding.add(self.book, delivery, jobs, START_MS)
        self.book.committed()
        return done

    def state(self, job: NewJob) -> int:
        return int(self.of(job, "state")[0])


@pytest.fixture
def ledger() -> AddingLedger:
    return AddingLedger()


def test_a_delivery_that_is_not_there_gets_none(ledger: AddingLedger) -> None:
    ledger.accept(ledger.make.job())
    with pytest.raises(NotFound, match="no delivery dlv_X"):
        ledger.add("dlv_X", ledger.make.job())
    assert len(ledger.rows("n")) == 1


def test_they_stand_behind_those_that_are_there(ledger: AddingLedger) -> None:
    ledger.accept(ledger.make.job(), ledger.make.job())
    bare = ledger.accept()
    first = ledger.accept(ledger.make.job())
    assert ledger.add(first, ledger.make.job(), ledger.make.job()) == 2
    assert ledger.add(first, ledger.make.job()) == 1
    assert ledger.add(bare, ledger.make.job()) == 1
    places = [(n >> 20, n & 0xFFFFF) for (n,) in ledger.rows("n")]
    assert places == [(1, 0), (1, 1), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3)]


def test_a_job_is_of_its_own_generation_or_of_its_delivery_s(ledger: AddingLedger) -> None:
    delivery = ledger.accept(ledger.make.job())
    ledger.add(delivery, ledger.make.job(), ledger.make.job(generation="new", rule="other"))
    generations = dict(ledger.db.execute("SELECT n, id FROM generations"))
    assert [generations[n] for (n,) in ledger.rows("generation")] == [GENERATION, GENERATION, "new"]
    ruled = ledger.db.execute("SELECT rule, generation FROM rule_generations").fetchall()
    assert {(rule, generations[n]) for rule, n in ruled} == {("paid", GENERATION), ("other", "new")}


def test_one_that_waits_by_itself_waits(ledger: AddingLedger) -> None:
    delivery = ledger.accept()
    ledger.add(delivery, ledger.make.job(state="waiting"), ledger.make.job())
    assert ledger.rows("state, waits IS NOT NULL, run") == [(2, 1, None), (0, 0, None)]


def test_jobs_of_one_run_are_one_run(ledger: AddingLedger) -> None:
    delivery = ledger.accept()
    make = ledger.make
    jobs = [make.job(run="a"), make.job(run="b"), make.job(run="a"), make.job()]
    ledger.add(delivery, *jobs)
    by_id = dict(ledger.rows("id, run"))
    a, b, again, alone = (by_id[job.id] for job in jobs)
    assert alone is None
    assert a == again
    assert a is not None
    assert b not in (a, None)


def test_a_replay_of_a_run_is_a_run_with_its_turn(ledger: AddingLedger) -> None:
    delivery, old = ledger.run(HALT)
    queued = ledger.make.job(replay_of=old.id)
    ledger.add(delivery, queued)
    assert ledger.state(queued) == 2, "the run that it replays has the turn"
    keys = ledger.db.execute("SELECT key, value, at_once, on_busy, on_dead FROM runs").fetchall()
    assert keys == [("r\x1fx", "x", 1, ON_BUSY["queue"], 1)] * 2


def test_a_replay_of_a_run_without_a_turn_has_none(ledger: AddingLedger) -> None:
    delivery, old = ledger.run(None)
    again = ledger.make.job(replay_of=old.id)
    ledger.add(delivery, again)
    assert ledger.state(again) == 0
    assert ledger.db.execute("SELECT key FROM runs").fetchall() == [(None,)] * 2


def test_a_replay_of_a_job_of_no_run_is_none_either(ledger: AddingLedger) -> None:
    ledger.run(HALT)
    alone = ledger.make.job()
    delivery = ledger.accept(alone)
    ledger.add(delivery, ledger.make.job(replay_of=alone.id))
    assert [run for (run,) in ledger.rows("run")] == [1, None, None]


def test_a_run_that_is_forgotten_leaves_no_turn(ledger: AddingLedger) -> None:
    delivery, old = ledger.run(HALT)
    ledger.db.execute("DELETE FROM runs")
    again = ledger.make.job(replay_of=old.id)
    ledger.add(delivery, again)
    assert ledger.state(again) == 0


@pytest.mark.parametrize("by", ["job", "delivery", "another delivery"])
def test_a_halted_group_goes_on_with_the_replay_of_what_halts_it(
    ledger: AddingLedger, by: str
) -> None:
    delivery, dead = ledger.run(HALT)
    ledger.settle(ledger.one(), "dead")
    other, behind = ledger.run(HALT, "behind")
    assert ledger.state(behind) == 2
    if by == "job":
        again = ledger.make.job(replay_of=dead.id)
        ledger.add(delivery, again)
    else:
        again = ledger.make.job(run="again", turn=HALT)
        ledger.add(delivery if by == "delivery" else other, again)
    assert ledger.state(behind) == 2
    assert ledger.state(again) == (2 if by == "another delivery" else 0)


def test_a_replay_of_another_group_s_run_leaves_a_halted_one_alone(ledger: AddingLedger) -> None:
    ledger.run(HALT)
    ledger.settle(ledger.one(), "dead")
    delivery, old = ledger.run(OTHER, "other")
    _, behind = ledger.run(HALT, "behind")
    again = ledger.make.job(replay_of=old.id, run="again", turn=HALT)
    ledger.add(delivery, again)
    assert (ledger.state(behind), ledger.state(again)) == (2, 2)
