"""
What the outcome of an attempt would be, had the world answered so.

The actions themselves may not be asked: they are not to be imported where nothing may run. That
both say the same of every status and exit code is tested.
"""

from router.model.call import Call, HttpCall, PythonCall, ShellCall
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.trial import SimulatedAnswer

_THROTTLED = frozenset({408, 425, 429})
_GONE = 410
_TRY_AGAIN, _NEVER_AGAIN = 75, 78
SUCCESS = SimulatedAnswer()


def outcome(call: Call, answer: SimulatedAnswer) -> Outcome:
    """The outcome of a call that meets this answer; success where it says nothing."""
    if answer.error == "timeout":
        return RetryOutcome("timeout", "no answer in time")
    if answer.error == "network":
        return RetryOutcome("network", "no connection")
    match call:
        case HttpCall():
            status = call.accept[0][0] if answer.status is None else answer.status
            return of_status(call, status, answer.after_s)
        case ShellCall():
            return of_exit(answer.exit or 0)
        case PythonCall():
            return _of_plugin(answer)
        case _:
            return Done()


def of_status(call: HttpCall, status: int, after_s: float | None) -> Outcome:
    """What an HTTP status means to a call."""
    reason, result = f"HTTP {status}", {"status": status}
    if any(low <= status <= high for low, high in call.accept):
        return Done(result)
    if status == _GONE:
        return FailOutcome(reason, result)
    if status in _THROTTLED:
        return RetryOutcome("throttled", reason, after_s, result)
    if status >= 500:
        return RetryOutcome("server", reason, after_s, result)
    return RetryOutcome("client", reason, None, result)


def of_exit(code: int) -> Outcome:
    """What an exit code means."""
    if code == 0:
        return Done({"exit": 0})
    if code == _TRY_AGAIN:
        return RetryOutcome("temporary", f"exit {code}: try again")
    if code == _NEVER_AGAIN:
        return FailOutcome(f"exit {code}: must not be tried again")
    return RetryOutcome("error", f"exit {code}")


def _of_plugin(answer: SimulatedAnswer) -> Outcome:
    if answer.raises == "Retry":
        return RetryOutcome("temporary", "Retry was raised", answer.after_s)
    return FailOutcome("Fail was raised") if answer.raises == "Fail" else Done()
