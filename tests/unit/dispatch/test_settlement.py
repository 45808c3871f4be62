"""Outcomes become settlements."""

import random

import msgspec
import pytest

from router.dispatch.settlement import Settler, interrupted, too_old
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome, Settlement, Skip
from router.model.retry import AGE_LIMIT_MS, NONE, STANDARD, RetryPolicy
from router.model.settings import DAY_MS
from tests.sim.makers import NOW, a_job

END = NOW + 250
AHEAD = 7 * DAY_MS
"""Of ledger time, by which is due what an attempt that ended then is followed by."""


def _settled(outcome: Outcome, charged: int = 0, policy: RetryPolicy = STANDARD) -> Settlement:
    settler = Settler(random.Random(1), dry=False)
    return settler.settlement(a_job(charged=charged), outcome, policy, "g2", END + AHEAD, END)


def test_done() -> None:
    settlement = _settled(Done({"status": 200}))
    assert (settlement.state, settlement.reason, settlement.due_at) == ("succeeded", None, None)
    attempt = settlement.attempt
    assert (attempt.outcome, attempt.number, attempt.generation) == ("succeeded", 1, "g2")
    assert (attempt.started_at, attempt.ended_at) == (NOW, END + AHEAD)
    assert attempt.result == {"status": 200}
    assert settlement.lease == "boot/1"


def test_dry() -> None:
    settlement = Settler(random.Random(1), dry=True).settlement(
        a_job(), Done({}), STANDARD, "g", END, END
    )
    assert (settlement.state, settlement.attempt.outcome) == ("succeeded", "dry")


def test_fail() -> None:
    settlement = _settled(FailOutcome("HTTP 410"))
    assert (settlement.state, settlement.reason) == ("dead", "HTTP 410")
    assert settlement.attempt.outcome == "dead"


@pytest.mark.parametrize("charged", range(10))
def test_the_standard_schedule(charged: int) -> None:
    settlement = _settled(RetryOutcome("server", "HTTP 503"), charged)
    assert settlement.state == "retryable"
    assert settlement.attempt.outcome == "failed"
    assert settlement.due_at is not None
    share = (settlement.due_at - END) / STANDARD.schedule_ms[charged]
    assert 0.8 <= share <= 1.2


def test_a_delay_is_spread_both_ways() -> None:
    """Jobs that failed together do not come back together."""
    delays = set()
    for seed in range(200):
        settler = Settler(random.Random(seed), dry=False)
        settlement = settler.settlement(
            a_job(), RetryOutcome("server", "no"), STANDARD, "g", END, END
        )
        assert settlement.due_at is not None
        delays.add(settlement.due_at - END)
    usual = STANDARD.schedule_ms[0]
    assert 0.8 * usual <= min(delays) < 0.85 * usual
    assert 1.15 * usual < max(delays) <= 1.2 * usual
    assert len(delays) > 150


@pytest.mark.parametrize(
    ("failure", "policy", "charged", "state"),
    [
        ("server", STANDARD, 10, "dead"),
        ("client", STANDARD, 4, "retryable"),
        ("client", STANDARD, 5, "dead"),
        ("error", NONE, 0, "dead"),
        ("temporary", NONE, 0, "retryable"),
        ("temporary", NONE, 1, "retryable"),
        ("temporary", NONE, 2, "dead"),
    ],
)
def test_when_it_ends(failure: str, policy: RetryPolicy, charged: int, state: str) -> None:
    settlement = _settled(RetryOutcome(failure, "why"), charged, policy)  # type: ignore[arg-type]
    assert settlement.state == state
    assert settlement.reason == ("why" if state == "dead" else None)


@pytest.mark.parametrize(
    ("after_s", "least", "most"), [(0, 4, 6), (-1, 4, 6), (3600, 3600, 3600), (1e12, 86400, 86400)]
)
def test_a_targets_retry_after_is_clamped(after_s: float, least: float, most: float) -> None:
    due_at = _settled(RetryOutcome("throttled", "HTTP 429", after_s)).due_at
    assert due_at is not None
    assert least * 1000 <= due_at - END <= most * 1000


def test_an_interruption_is_not_charged() -> None:
    settlement = interrupted(a_job(), "g", END, END, dead=False)
    assert (settlement.state, settlement.charged, settlement.due_at) == ("available", False, END)
    assert settlement.attempt.outcome == "interrupted"
    settlement = interrupted(a_job(), "g", END, END, dead=True)
    assert (settlement.state, settlement.reason) == ("dead", "interrupted")


def test_the_age_limit() -> None:
    """What counts is when it was leased: somebody may have set the clock since."""
    job = a_job()
    assert not too_old(job, job.due_at + AGE_LIMIT_MS)
    assert too_old(job, job.due_at + AGE_LIMIT_MS + 1)


def test_what_was_skipped_is_cancelled_and_not_charged() -> None:
    settler = Settler(random.Random(1), dry=False)
    settlement = settler.settlement(a_job(), Skip("not wanted"), STANDARD, "g2", END, END)
    assert (settlement.state, settlement.reason) == ("cancelled", "not wanted")
    assert settlement.charged is False
    attempt = settlement.attempt
    assert (attempt.outcome, attempt.result, attempt.generation) == ("skipped", {}, "g2")


@pytest.mark.parametrize("outcome", [Done(), FailOutcome("no"), RetryOutcome("server", "no")])
def test_an_attempt_of_the_job_s_own_is_charged(outcome: Outcome) -> None:
    assert _settled(outcome).charged is True


def test_which_delay_comes_after_how_many_charged_attempts() -> None:
    policy = RetryPolicy("p", (1_000, 2_000), 0.0)
    due = [_settled(RetryOutcome("server", "no"), charged, policy).due_at for charged in (0, 1, 2)]
    assert due == [END + 1_000, END + 2_000, None]


def test_no_attempt_is_planned_beyond_the_age_limit() -> None:
    """What the schedule has waited by then counts, the next delay too."""
    within = RetryPolicy("w", (AGE_LIMIT_MS - 1, 1, 1), 0.0)
    states = [_settled(RetryOutcome("server", "no"), c, within).state for c in (0, 1, 2)]
    assert states == ["retryable", "retryable", "dead"]


def test_a_job_without_a_beginning_is_not_too_old_and_began_at_its_end() -> None:
    job = msgspec.structs.replace(a_job(), started_at=None, lease=None)
    assert not too_old(job, END)
    settlement = interrupted(job, "g", END, END, dead=False)
    assert (settlement.attempt.started_at, settlement.lease) == (END, "")
    assert settlement.attempt.reason == "interrupted"
    assert settlement.reason is None


def test_an_interruption_that_ends_a_job_is_not_charged_either() -> None:
    settlement = interrupted(a_job(), "g", END, END, dead=True)
    assert (settlement.charged, settlement.due_at) == (False, None)
