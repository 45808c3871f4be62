"""What a status, an exit code or a plugin's exception means, to a run and to a test's `replies`."""

from typing import Any

import pytest

from router.kinds import simulated
from router.kinds.http import HttpCall, of_status
from router.kinds.kind import ActionCall
from router.kinds.python import PythonCall
from router.kinds.shell import of_exit
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.trial import SimulatedAnswer
from tests.sim.makers import a_shell_call, an_http_call

PLUGIN = PythonCall("desk:notify", {}, {}, 10.0)


def bare(found: Outcome) -> tuple[Any, ...]:
    """All but what the world sent along."""
    match found:
        case Done():
            return ("done",)
        case RetryOutcome(failure, reason, after_s):
            return ("retry", failure, reason, after_s)
        case FailOutcome(reason):
            return ("fail", reason)


def http(*accept: tuple[int, int]) -> HttpCall:
    call = an_http_call(accept=accept)
    assert isinstance(call, HttpCall)
    return call


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (204, ("done",)),
        (302, ("retry", "client", "HTTP 302", None)),
        (404, ("retry", "client", "HTTP 404", None)),
        (408, ("retry", "throttled", "HTTP 408", 60.0)),
        (410, ("fail", "HTTP 410")),
        (425, ("retry", "throttled", "HTTP 425", 60.0)),
        (429, ("retry", "throttled", "HTTP 429", 60.0)),
        (500, ("retry", "server", "HTTP 500", 60.0)),
        (599, ("retry", "server", "HTTP 599", 60.0)),
    ],
)
def test_a_status_by_default(status: int, expected: tuple[Any, ...]) -> None:
    call = http((200, 299))
    assert bare(of_status(call, status, 60.0)) == expected
    assert bare(simulated(call, SimulatedAnswer(status, after_s=60.0))) == expected


@pytest.mark.parametrize("status", [302, 404, 410, 429, 503])
def test_an_accepted_status_is_success(status: int) -> None:
    assert bare(of_status(http((200, 299), (status, status)), status, None)) == ("done",)
    assert bare(of_status(http((status, status)), 200, None))[0] == "retry"


def test_an_exit_code() -> None:
    for code in range(256):
        found = bare(simulated(a_shell_call("true"), SimulatedAnswer(code)))
        assert found == bare(of_exit(code, {}))
        again = ("retry", "error", f"exit {code}", None)
        assert found == {
            0: ("done",),
            75: ("retry", "temporary", "exit 75: try again", None),
            78: ("fail", "exit 78: must not be tried again"),
        }.get(code, again)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SimulatedAnswer(), ("done",)),
        (SimulatedAnswer("Retry", after_s=30.0), ("retry", "temporary", "Retry was raised", 30.0)),
        (SimulatedAnswer("Fail"), ("fail", "Fail was raised")),
        (SimulatedAnswer(error="timeout"), ("retry", "timeout", "no answer in time", None)),
    ],
)
def test_a_plugin_returns_raises_or_hangs(
    answer: SimulatedAnswer, expected: tuple[Any, ...]
) -> None:
    assert bare(simulated(PLUGIN, answer)) == expected


@pytest.mark.parametrize("call", [an_http_call(), a_shell_call("true"), PLUGIN])
def test_what_is_not_said_is_success(call: ActionCall) -> None:
    assert isinstance(simulated(call, SimulatedAnswer()), Done)
    assert isinstance(simulated(call, SimulatedAnswer(error="network")), RetryOutcome)


def test_what_a_plugin_returns_is_its_result() -> None:
    assert simulated(PLUGIN, SimulatedAnswer(contents={"value": [7]})) == Done({"value": [7]})
