"""What dispatch asks of the packages above it: actions that run calls."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from router.kinds.kind import ActionCall
from router.model.job import Job, Outcome, Skip, Work


class Action(Protocol):
    """
    Runs rendered calls of one kind.

    `run` returns an Outcome for whatever the world does, within the call's own time limit plus a
    second; cancelling it ends the work (the process group is gone, the connection closed) before
    the CancelledError leaves it.
    """

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Run a call to its end."""

    async def close(self) -> None:
        """Let go of what is kept between calls."""


RunNow = Callable[[ActionCall, Job], Outcome]
"""
The `run_now` of an action that never waits: dispatch calls it in passing, without a task. It takes
microseconds, and so needs no slot.
"""

Cancel = Callable[[], Awaitable[None] | None]
"""Ends begun work; what it returns is waited for: the work has not ended before."""

Ended = Callable[[Outcome | Exception], None]
"""Gets what came of begun work, or the exception that `run` would have leaked."""

Begin = Callable[[ActionCall, Job, Ended], Cancel | None]
"""
The `begin` of an action that can run a call without a task: `ended` is called once, later. Returns
what ends the work, after which `ended` is not called; None: this call is one for `run`, and nothing
was begun.
"""

Results = Mapping[str, Any]
"""What the actions that a job comes after have left, by their ids."""

Render = Callable[[Work, Results], ActionCall | Skip]
"""Builds a job's call from today's version of its action. Raises RenderError."""
