"""A rehearsed answer means what the same answer means to the action that runs."""

from typing import Any

import pytest

from router.actions.http import HttpAction
from router.actions.shell import _classed
from router.model.call import HttpCall, PythonCall
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.trial import SimulatedAnswer
from router.rehearsal.answers import of_exit, of_status, outcome
from tests.sim.makers import a_shell_call, an_http_call


def bare(found: Outcome) -> tuple[Any, ...]:
    """All but what the world sent along."""
    match found:
        case Done():
            return ("done",)
        case RetryOutcome(failure, reason, after_s):
            return ("retry", failure, reason, after_s)
        case FailOutcome(reason):
            return ("fail", reason)


@pytest.mark.parametrize("accept", [((200, 299),), ((200, 299), (409, 410)), ((500, 500),)])
def test_every_status_means_the_same_as_to_the_http_action(accept: Any) -> None:
    call = an_http_call(accept=accept)
    assert isinstance(call, HttpCall)
    real = HttpAction.__new__(HttpAction)
    real._now_s = lambda: 0.0
    for status in range(200, 600):
        assert bare(real._classed(call, status, {}, {})) == bare(of_status(call, status, None))


@pytest.mark.parametrize("status", [429, 503])
def test_a_wish_to_wait_means_the_same(status: int) -> None:
    call, real = an_http_call(), HttpAction.__new__(HttpAction)
    real._now_s = lambda: 0.0
    theirs = real._classed(call, status, {"Retry-After": "60"}, {})
    assert bare(theirs) == bare(of_status(call, status, 60.0))


def test_every_exit_code_means_the_same_as_to_the_shell_action() -> None:
    for code in range(256):
        assert bare(_classed(code, {})) == bare(of_exit(code))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SimulatedAnswer(), ("done",)),
        (
            SimulatedAnswer(raises="Retry", after_s=30.0),
            ("retry", "temporary", "Retry was raised", 30.0),
        ),
        (SimulatedAnswer(raises="Fail"), ("fail", "Fail was raised")),
        (SimulatedAnswer(error="timeout"), ("retry", "timeout", "no answer in time", None)),
    ],
)
def test_a_plugin_returns_raises_or_hangs(
    answer: SimulatedAnswer, expected: tuple[Any, ...]
) -> None:
    call = PythonCall("desk:notify", {}, {}, 10.0)
    assert bare(outcome(call, answer)) == expected


def test_what_is_not_said_is_success() -> None:
    assert isinstance(outcome(an_http_call(), SimulatedAnswer()), Done)
    assert isinstance(outcome(a_shell_call("true"), SimulatedAnswer()), Done)
    assert isinstance(outcome(a_shell_call("true"), SimulatedAnswer(error="network")), RetryOutcome)
