"""Jobs that are made to wait: for what, among what else they wait for, and how they go on."""

from collections.abc import Collection
from typing import Any

import msgspec
import pytest

from router.model.job import Predecessor
from router.model.target import PAUSED as PAUSED_FACT
from router.model.target import Pause
from router.store.common.chains import PAUSED, PREDECESSORS, TARGET
from router.store.common.damage import Damaged
from router.store.sqlite import holding, operations, reading
from router.store.sqlite.operations import STEP
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION
from tests.unit.store.ledger import Ledger

AVAILABLE, RETRYABLE, WAITING = 0, 1, 2


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def hold(
    ledger: Ledger, rules: Collection[str] = (), targets: Collection[str] = (), now: int = START_MS
) -> int:
    """One step, when these targets and no others are paused."""
    paused = dict.fromkeys(reading.recall(ledger.db, PAUSED_FACT))
    operations.remember(ledger.book, {**paused, **{PAUSED_FACT + name: {} for name in targets}})
    return holding.hold(ledger.book, rules, generation=GENERATION, now=now)


def states(ledger: Ledger, columns: str = "state, waits") -> list[tuple[Any, ...]]:
    return ledger.rows(columns)


@pytest.mark.parametrize(
    ("rules", "targets", "waits"),
    [(["paid"], [], PAUSED), ([], ["erp"], TARGET), (["paid"], ["erp"], PAUSED | TARGET)],
)
def test_what_it_waits_for_is_reported_and_it_waits_once(
    ledger: Ledger, rules: list[str], targets: list[str], waits: int
) -> None:
    ledger.accept(ledger.make.job(), ledger.make.job(rule="other", target="crm"))
    held = len(rules) + len(targets)
    assert hold(ledger, rules, targets) == held
    assert states(ledger) == [(WAITING, waits), (AVAILABLE, None)]
    assert hold(ledger, rules, targets) == 0, "it waits already"
    assert hold(ledger) == held
    assert states(ledger) == [(AVAILABLE, None)] * 2


def test_of_two_that_hold_it_each_lets_go_by_itself(ledger: Ledger) -> None:
    ledger.accept(ledger.make.job())
    hold(ledger, ["paid"], ["erp"])
    assert hold(ledger, [], ["erp"]) == 1
    assert states(ledger) == [(WAITING, TARGET)]
    assert hold(ledger, ["paid"], ["erp"]) == 1
    assert hold(ledger, ["paid"], []) == 1
    assert states(ledger) == [(WAITING, PAUSED)]
    assert hold(ledger, ["another"], ["crm"]) == 1
    assert states(ledger) == [(AVAILABLE, None)]


def test_one_that_waits_for_its_predecessor_waits_for_both(ledger: Ledger) -> None:
    make = ledger.make
    ledger.accept(
        make.job(action="a", run="r", rule="free"),
        make.job(action="b", run="r", after=(Predecessor("a"),)),
    )
    assert hold(ledger, ["paid"]) == 1
    assert states(ledger) == [(AVAILABLE, None), (WAITING, PREDECESSORS | PAUSED)]
    assert hold(ledger, [], ["erp"]) == 3, "one let go, both held"
    assert states(ledger)[1] == (WAITING, PREDECESSORS | TARGET)
    assert hold(ledger) == 2
    assert states(ledger) == [(AVAILABLE, None), (WAITING, PREDECESSORS)]


def test_its_predecessor_s_end_does_not_start_one_that_is_held(ledger: Ledger) -> None:
    make = ledger.make
    ledger.accept(
        make.job(action="a", run="r", rule="free"),
        make.job(action="b", run="r", after=(Predecessor("a"),)),
    )
    hold(ledger, ["paid"])
    ledger.settle(ledger.one())
    assert states(ledger)[1] == (WAITING, PAUSED)
    hold(ledger, now=FAR + 9)
    assert states(ledger, "state, waits, due_at")[1] == (AVAILABLE, None, FAR + 9)


@pytest.mark.parametrize("attempts", [0, 1, 2])
def test_one_that_had_been_tried_goes_on_as_such(ledger: Ledger, attempts: int) -> None:
    ledger.accept(ledger.make.job())
    for _ in range(attempts):
        ledger.settle(ledger.one(), "retryable", due_at=START_MS)
    assert hold(ledger, ["paid"]) == 1
    assert hold(ledger) == 1
    assert states(ledger) == [(RETRYABLE if attempts else AVAILABLE, None)]


@pytest.mark.parametrize(
    ("due", "now", "then"),
    [
        (START_MS + 5, START_MS + 4, START_MS + 5),
        (START_MS + 5, START_MS + 6, START_MS + 6),
    ],
)
def test_it_is_due_anew_but_never_sooner(ledger: Ledger, due: int, now: int, then: int) -> None:
    ledger.accept(ledger.make.job(due_at=due))
    hold(ledger, ["paid"])
    assert states(ledger, "due_at") == [(due,)]
    hold(ledger, now=now)
    assert states(ledger, "due_at") == [(then,)]


def test_what_runs_or_has_ended_is_left_alone(ledger: Ledger) -> None:
    ledger.accept(*[ledger.make.job() for _ in range(3)])
    first, second = (one.job for one in ledger.lease({"erp": 2}).jobs)
    ledger.settle(first)
    assert hold(ledger, ["paid"], ["erp"]) == 2, "the third, for both"
    assert [state for state, _ in states(ledger)] == [5, 3, WAITING]
    assert ledger.settle(second)


@pytest.mark.parametrize("by", ["rule", "target"])
def test_many_are_held_and_released_in_steps(ledger: Ledger, by: str) -> None:
    ledger.accept(*[ledger.make.job() for _ in range(STEP + 1)])
    names = {"rules": ["paid"]} if by == "rule" else {"targets": ["erp"]}
    assert [hold(ledger, **names) for _ in range(3)] == [STEP, 1, 0]
    assert [hold(ledger) for _ in range(3)] == [STEP, 1, 0]


def test_those_that_wait_otherwise_are_held_in_steps_too(ledger: Ledger) -> None:
    make = ledger.make
    first = make.job(action="a", run="r", rule="free")
    then = [make.job(action=f"b{i}", run="r", after=(Predecessor("a"),)) for i in range(STEP + 1)]
    ledger.accept(first, *then)
    assert [hold(ledger, ["paid"]) for _ in range(3)] == [STEP, 1, 0]


def test_a_target_is_paused_and_resumed_in_steps(ledger: Ledger) -> None:
    """Not all at once, so that what is accepted meanwhile need not wait for a million jobs."""
    book, why = ledger.book, Pause("they migrate", "ann", START_MS)
    ledger.accept(*[ledger.make.job() for _ in range(STEP + 1)])
    assert holding.pause(book, "erp", why) == STEP
    assert reading.recall(ledger.db, PAUSED_FACT) == {PAUSED_FACT + "erp": msgspec.to_builtins(why)}
    assert [holding.pause_on(book, "erp") for _ in range(2)] == [1, 0]
    assert holding.resume(book, "erp", FAR) == STEP
    assert reading.recall(ledger.db, PAUSED_FACT) == {}
    assert [holding.resume_on(book, "erp", FAR) for _ in range(2)] == [1, 0]
    assert set(states(ledger, "state, waits, due_at")) == {(AVAILABLE, None, FAR)}


def test_whoever_pauses_or_resumes_step_by_step_ends_when_another_does_the_opposite(
    ledger: Ledger,
) -> None:
    book = ledger.book
    ledger.accept(*[ledger.make.job() for _ in range(STEP + 1)])
    holding.pause(book, "erp", Pause())
    assert holding.resume(book, "erp", FAR) == STEP
    assert holding.pause_on(book, "erp") == 0
    assert holding.pause(book, "erp", Pause()) == STEP
    assert holding.resume_on(book, "erp", FAR) == 0


def test_a_pause_that_cannot_be_read_is_named(ledger: Ledger) -> None:
    ledger.accept(ledger.make.job())
    holding.pause(ledger.book, "erp", Pause())
    ledger.db.execute("UPDATE facts SET value = x'ff'")
    with pytest.raises(Damaged, match="row paused/erp of table facts"):
        holding.hold(ledger.book, (), generation=GENERATION, now=FAR)
