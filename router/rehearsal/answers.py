"""
What the outcome of an attempt would be, had the world answered so.

The actions themselves may not be asked: they are not to be imported where nothing may run. That
both say the same of every status and exit code is tested.
"""

from router.model.call import Call, HttpCall, PythonCall, ShellCall
from router.model.job import Done, Fail, Outcome, Retry
from router.model.trial import Answer

_THROTTLED = frozenset({408, 425, 429})
_GONE = 410
_TRY_AGAIN, _NEVER_AGAIN = 75, 78
SUCCESS = Answer()


def outcome(call: Call, answer: Answer) -> Outcome:
    """The outcome of a call that meets this answer; success where it says nothing."""
    if answer.error == "timeout":
        return Retry("timeout", "no answer in time")
    if answer.error == "network":
        return Retry("network", "no connection")
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
        return Fail(reason, result)
    if status in _THROTTLED:
        return Retry("throttled", reason, after_s, result)
    if status >= 500:
        return Retry("server", reason, after_s, result)
    return Retry("client", reason, None, result)


def of_exit(code: int) -> Outcome:
    """What an exit code means."""
    if code == 0:
        return Done({"exit": 0})
    if code == _TRY_AGAIN:
        return Retry("temporary", f"exit {code}: try again")
    if code == _NEVER_AGAIN:
        return Fail(f"exit {code}: must not be tried again")
    return Retry("error", f"exit {code}")


def _of_plugin(answer: Answer) -> Outcome:
    if answer.raises == "Retry":
        return Retry("temporary", "Retry was raised", answer.after_s)
    return Fail("Fail was raised") if answer.raises == "Fail" else Done()
