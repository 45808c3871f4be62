"""Taking back what another process had begun: what is written of each, and who comes back when."""

import pytest

from router.model.job import Predecessor
from router.store.common.interruptions import ENDED_WITH_US
from router.store.common.states import OUTCOME, STATE
from router.store.values import APART_MS, Recovered
from tests.clocks import START_MS
from tests.store_values import FAR
from tests.unit.store.ledger import Ledger


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_the_attempt_that_was_broken_off_is_written_down(ledger: Ledger) -> None:
    """When it began, if that is known; under the generation of its job; with its number."""
    known, unknown = ledger.make.job(), ledger.make.job(state="running", lease="old/2")
    ledger.accept(known, generation="g1")
    ledger.accept(unknown, generation="g2")
    ledger.one(START_MS + 7, lease="old/1")
    ledger.db.execute("UPDATE jobs SET started_at = NULL WHERE id = ?", (unknown.id,))
    assert ledger.recover(START_MS + 99) == Recovered(2, 0)
    columns = "number, started_at, ended_at, outcome, reason, result, generation"
    names = dict(ledger.rows("n, id", "generations"))
    found = [(*row[:6], names[row[6]]) for row in ledger.rows(columns, "attempts", "job")]
    end = (START_MS + 99, OUTCOME["interrupted"])
    assert found == [
        (1, START_MS + 7, *end, ENDED_WITH_US, "{}", "g1"),
        (1, START_MS + 99, *end, ENDED_WITH_US, "{}", "g2"),
    ]


def test_what_is_taken_back_is_due_as_before_and_nobody_holds_it(ledger: Ledger) -> None:
    job = ledger.make.job(due_at=START_MS + 3)
    ledger.accept(job)
    ledger.one(lease="old/1")
    ledger.recover()
    columns = "state, lease, deaths, due_at, attempt, charged, ended_at, reason"
    assert ledger.of(job, columns) == (0, None, 1, START_MS + 3, 1, 0, None, None)


@pytest.mark.parametrize(
    ("lease", "alive", "kept"),
    [
        ("new/1", "new", True),
        ("new/12", "new", True),
        ("old/1", "new", False),
        ("ne/1", "new", False),
        ("new2/1", "new", False),
        ("xnew/1", "new", False),
    ],
)
def test_a_lease_is_of_the_node_that_it_names(
    ledger: Ledger, lease: str, alive: str, kept: bool
) -> None:
    ledger.accept(ledger.make.job())
    ledger.one(lease=lease)
    assert ledger.recover(alive=alive) == (Recovered(0, 0) if kept else Recovered(1, 0))


def test_only_what_runs_is_taken_back(ledger: Ledger) -> None:
    make = ledger.make
    jobs = {state: make.job(target=state) for state in ("retryable", "succeeded", "dead")}
    fresh, waiting = make.job(target="none"), make.job(target="none", state="waiting")
    ledger.accept(fresh, waiting, *jobs.values())
    for state in jobs:
        (leased,) = ledger.lease({state: 1}, lease="old/1").jobs
        ledger.settle(leased.job, state, due_at=FAR)  # type: ignore[arg-type]
    before = ledger.rows("*")
    assert ledger.recover() == Recovered(0, 0)
    assert ledger.rows("*") == before


@pytest.mark.parametrize(("deaths", "state"), [(0, 0), (1, 0), (2, 4), (3, 4), (9, 4)])
def test_at_the_third_death_it_is_dead(ledger: Ledger, deaths: int, state: int) -> None:
    job = ledger.make.job()
    ledger.accept(job)
    ledger.one(lease="old/1")
    ledger.db.execute("UPDATE jobs SET deaths = ?", (deaths,))
    ledger.recover()
    reason = "crash_loop" if state == STATE["dead"] else None
    assert ledger.of(job, "state, deaths, reason") == (state, deaths + 1, reason)


def test_only_those_that_died_twice_are_put_apart_and_the_dead_are_none_of_them(
    ledger: Ledger,
) -> None:
    """In the order of their ids; whoever has died once or must not run again takes no room."""
    jobs = [ledger.make.job(rule=name) for name in ("a", "gone", "b", "once", "c")]
    ledger.accept(*jobs)
    ledger.lease({"erp": 9}, lease="old/1")
    ledger.db.execute("UPDATE jobs SET deaths = 1 WHERE rule <> 'once'")
    now = FAR + 5
    assert ledger.recover(now, dead=frozenset({("gone", "erp")})) == Recovered(4, 1)
    due = dict(ledger.rows("rule, due_at"))
    order = sorted((job for job in jobs if job.rule in "abc"), key=lambda job: job.id)
    assert [due[job.rule] for job in order] == [now, now + APART_MS, now + 2 * APART_MS]
    assert due["once"] == due["gone"] == START_MS


def test_who_must_not_run_again_is_named_by_rule_and_action(ledger: Ledger) -> None:
    jobs = [ledger.make.job(rule=r, action=a) for r, a in (("p", "x"), ("p", "y"), ("q", "x"))]
    ledger.accept(*jobs)
    ledger.lease({"erp": 9}, lease="old/1")
    assert ledger.recover(FAR, dead=frozenset({("p", "x")})) == Recovered(2, 1)
    assert ledger.of(jobs[0], "state, reason, ended_at, lease") == (4, "interrupted", FAR, None)
    assert [ledger.of(job, "state, ended_at") for job in jobs[1:]] == [(0, None)] * 2


def test_what_comes_after_one_that_dies_of_it_is_cancelled(ledger: Ledger) -> None:
    """And what comes after one that is taken back waits for it still."""
    chains = {
        name: [
            ledger.make.job(rule=name, action="a", run=name),
            ledger.make.job(rule=name, action="b", run=name, after=(Predecessor("a"),)),
        ]
        for name in ("dies", "lives")
    }
    for chain in chains.values():
        ledger.accept(*chain)
    ledger.lease({"erp": 9}, lease="old/1")
    assert ledger.recover(dead=frozenset({("dies", "a")})) == Recovered(1, 1)
    cancelled = (STATE["cancelled"], "predecessor_dead: a")
    assert ledger.of(chains["dies"][1], "state, reason") == cancelled
    assert ledger.of(chains["lives"][1], "state, reason") == (STATE["waiting"], None)


def test_those_of_a_run_and_those_alone_are_taken_back_together(ledger: Ledger) -> None:
    make = ledger.make
    for name in ("r", "s"):
        ledger.accept(make.job(run=name), make.job())
    ledger.lease({"erp": 9}, lease="old/1")
    assert ledger.recover() == Recovered(4, 0)
    assert [state for (state,) in ledger.rows("state")] == [STATE["available"]] * 4
