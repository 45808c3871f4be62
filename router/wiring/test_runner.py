"""The tests of a rules file, run: in memory, or for real where that was asked for."""

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from router.actions import ACTIONS
from router.actions.resources import Resources
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.model.job import Job, Outcome, RetryOutcome
from router.model.trial import Trial
from router.rehearsal import Coverage, TrialResult, TrialRunner
from router.rehearsal.run import Act
from router.rules.ruleset import Ruleset

GUARD_S = 5.0
"""What an action gets beyond its own time limit to end what it started."""


class TestRunResult(NamedTuple):
    """Each trial's result in order, and what all of them covered, if that was asked for."""

    results: list[TrialResult]
    coverage: Coverage | None


def run_tests(
    ruleset: Ruleset,
    trials: Sequence[Trial],
    *,
    environ: Mapping[str, str],
    real: bool = False,
    coverage: bool = False,
) -> TestRunResult:
    """Run trials one after another; `real` lets those that say so start their actions."""
    with ExitStack() as stack:
        act = stack.enter_context(acting(ruleset)) if real else None
        runner = TrialRunner(ruleset, environ=environ, random_bytes=os.urandom, act=act)
        covered = Coverage(ruleset, runner.explainer) if coverage else None
        results = []
        for trial in trials:
            results.append(runner.run(trial))
            if covered is not None:
                covered.add(results[-1])
        return TestRunResult(results, covered)


@contextmanager
def acting(ruleset: Ruleset) -> Iterator[Act]:
    """
    Runs shell and python actions as a server does; nothing of them is left behind.

    They have a loop of their own, in real time, in a thread.
    """
    # Lines of a test's actions are compared, not written.
    resources = Resources(lambda *_: None, private=lambda: ruleset.server.egress_allow)
    actions = {name: ACTIONS[name](resources) for name, kind in KINDS.items() if kind.real}

    async def run(call: ActionCall, job: Job) -> Outcome:
        try:
            async with asyncio.timeout(call.timeout_s + GUARD_S):
                return await actions[call.kind].run(call, job)
        except TimeoutError:
            return RetryOutcome("timeout", f"not done within {call.timeout_s:g} s")

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name="real-actions")
        thread.start()
        try:
            try:
                yield lambda *of: asyncio.run_coroutine_threadsafe(run(*of), loop).result()
            finally:
                for action in actions.values():
                    asyncio.run_coroutine_threadsafe(action.close(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
