"""
Kinds of action: what is known of each without running it. Pure.

Adding a kind
=============

A kind is three files and a row in each of three tables, which `tests/unit/kinds` compares and
`tests/acceptance/test_new_kind.py` proves to be enough. `log` is the model; copy its three files. A
kind that waits (files, networks, processes) runs by `run`, not `run_now`, and has retries that fit
what can fail: see `python`.

1. `router/kinds/log.py`: its spec (what a rule says), its call (what one attempt does), how the
   one becomes the other, and a `Kind` with its facts. Row: `KINDS` here. `Kind` has no defaults,
   so mypy names what is left out. `number` is stored: take the next one, never change it.
2. `router/config/kinds/log.py`: its key in the rules file, the schema of its value, its checks.
   Row: `SCHEMAS` there. A row may also compile to another kind, as `repository_dispatch` does.
3. `router/actions/log.py`: what runs a call. Row: `ACTIONS` there.

Then what CONTRIBUTING.md lists, and `docs/rules.schema.json` anew.
"""

from typing import Any

from router.kinds.http import HTTP
from router.kinds.kind import ActionCall, Kind
from router.kinds.log import LOG
from router.kinds.python import PYTHON
from router.kinds.shell import SHELL
from router.model.job import Outcome, RetryOutcome
from router.model.trial import SimulatedAnswer

KINDS: dict[str, Kind[Any, Any]] = {kind.name: kind for kind in (HTTP, SHELL, PYTHON, LOG)}
NUMBERED: dict[int, str] = {kind.number: kind.name for kind in KINDS.values()}
CODES: tuple[str, ...] = tuple(
    kind.result.code for kind in KINDS.values() if kind.result.code is not None
)
"""Numbers of a result that tell how it ended and nothing of what was in it."""

ADDRESSED = HTTP.name
"""The kind that calls named targets and bare addresses."""


def simulated(call: ActionCall, answer: SimulatedAnswer) -> Outcome:
    """The outcome of a call that meets this answer; success where it says nothing."""
    if answer.error == "timeout":
        return RetryOutcome("timeout", "no answer in time")
    if answer.error == "network":
        return RetryOutcome("network", "no connection")
    return KINDS[call.kind].outcome(call, answer)
