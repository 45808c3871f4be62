"""Each promise that a fleet may break is noticed when it is broken, and nothing else is."""

import dataclasses

import pytest

from tests.fleet import judge
from tests.fleet.campaign import answer
from tests.fleet.judge import Ledger, StoredAttempt, StoredDelivery, StoredJob
from tests.fleet.target import Call

DELIVERY = StoredDelivery("dlv_1", "aa", ("call",))
JOB = StoredJob("job_1", "dlv_1", "call", "succeeded", None, "l1", 1)
LATER = StoredJob("job_2", "dlv_2", "call", "succeeded", None, "l1", 2)
DONE = StoredAttempt("job_1", 1, "succeeded")
LATER_DONE = StoredAttempt("job_2", 1, "succeeded")
CALL = Call("/call/1", "job_1", 1, 10.0, 10.5, 200)
LATER_CALL = Call("/call/2", "job_2", 1, 11.0, 11.5, 200)
LOOP = JOB._replace(state="dead", reason="crash_loop")
DEATHS = [StoredAttempt("job_1", number, "interrupted") for number in (1, 2, 3)]


def ledger(
    jobs: list[StoredJob] | None = None, attempts: list[StoredAttempt] | None = None
) -> Ledger:
    return Ledger(
        [DELIVERY],
        [JOB] if jobs is None else jobs,
        [DONE] if attempts is None else attempts,
    )


def test_nothing_is_said_of_a_ledger_that_is_whole() -> None:
    whole = Ledger(
        [DELIVERY, StoredDelivery("dlv_2", "bb", ["call"])],
        [JOB, LATER],
        [DONE, LATER_DONE],
    )
    calls = [CALL, LATER_CALL]
    assert judge.lost(whole, {"dlv_1": "aa"}) == judge.odd_jobs(whole) == []
    assert judge.odd_calls(whole, calls, ["call"]) == judge.out_of_turn(whole, calls) == []
    assert judge.most_at_once(calls) == 1


@pytest.mark.parametrize(
    ("acked", "stored", "said"),
    [
        ({"dlv_2": "bb"}, [DELIVERY], "lost: dlv_2"),
        ({"dlv_1": "bb"}, [DELIVERY], "other body: dlv_1"),
        ({}, [DELIVERY, DELIVERY._replace(id="dlv_2")], "stored 2 times: aa"),
    ],
)
def test_what_is_lost_other_or_there_twice(
    acked: dict[str, str], stored: list[StoredDelivery], said: str
) -> None:
    assert judge.lost(Ledger(stored, [], []), acked) == [said]


@pytest.mark.parametrize(
    ("jobs", "attempts", "said"),
    [
        ([], [], "jobs of dlv_1: [], not ['call']"),
        ([JOB, JOB._replace(id="job_2")], [DONE, LATER_DONE], "jobs of dlv_1: ['call', 'call']"),
        ([JOB, LATER], [DONE, LATER_DONE], "jobs of no delivery: dlv_2"),
        ([JOB], [DONE, DONE._replace(number=2)], "completed 2 times: job_1"),
        ([JOB], [], "odd end: job_1 of call is succeeded"),
        ([JOB._replace(state=None)], [], "open for ever: job_1"),
        ([JOB._replace(state="dead", reason="status")], DEATHS, "odd end: job_1"),
        ([LOOP], DEATHS[:2], "odd end: job_1"),
    ],
)
def test_jobs_that_are_not_as_they_should_be(
    jobs: list[StoredJob], attempts: list[StoredAttempt], said: str
) -> None:
    [found] = judge.odd_jobs(ledger(jobs, attempts))[:1]
    assert found.startswith(said)


def test_a_job_that_three_routers_died_with_is_dead_as_promised() -> None:
    assert judge.odd_jobs(ledger([LOOP], DEATHS)) == []


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([CALL, CALL], "attempt called 2 times: ('job_1', 1)"),
        ([CALL, dataclasses.replace(CALL, attempt=2)], "attempt not recorded: ('job_1', 2)"),
        ([dataclasses.replace(CALL, status=503)], "said to be done: ('job_1', 1)"),
        ([], "said to be done: ('job_1', 1)"),
    ],
)
def test_calls_that_ledger_and_target_tell_differently(calls: list[Call], said: str) -> None:
    assert judge.odd_calls(ledger(), calls, ["call"]) == [said]


def overlapping(outcome: str) -> list[str]:
    """The later run's call began before the first one's had ended; that one ended so."""
    attempts = [StoredAttempt("job_1", 1, outcome), DONE._replace(number=2), LATER_DONE]
    early = dataclasses.replace(LATER_CALL, began=10.2)
    return judge.out_of_turn(ledger([LATER, JOB], attempts), [early, CALL])


def test_a_run_that_began_too_early_is_noticed_but_not_the_overlap_of_a_takeover() -> None:
    assert overlapping("failed") == ["out of turn in l1: job_2 began before job_1 ended"]
    assert overlapping("interrupted") == []


def test_calls_at_once_are_those_that_overlap() -> None:
    calls = [
        Call("/", "job", n, began, ended)
        for n, (began, ended) in enumerate([(1.0, 4.0), (2.0, 3.0), (3.0, 5.0), (6.0, None)])
    ]
    assert judge.most_at_once(calls) == 2


def test_the_target_fails_some_first_attempts() -> None:
    answers = [
        answer(Call(path, "job", n, 0.0)) for path in ("/flaky/4", "/lane/4") for n in (1, 2)
    ]
    assert answers == [503, 200, 200, 200]
