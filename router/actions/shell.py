"""The `shell` action: one process in a group of its own, bounded in time and output."""

import asyncio
import contextlib
import errno
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

from router.actions.begun import EndOfWork, waited_for
from router.actions.child import Child
from router.actions.live_output import Watching, secrets_of
from router.actions.process_limits import bounded, handed
from router.dispatch.protocol import Cancel, Ended
from router.kinds.json_results import json_of
from router.kinds.kind import ActionCall
from router.kinds.shell import ShellCall, of_exit
from router.log import Redactor
from router.model.job import FailOutcome, Job, Outcome, RetryOutcome

TERM_S = 0.5
"""What a process group gets between SIGTERM and SIGKILL."""
GONE_S = 0.2
PIPES_S = 0.2
"""How long pipes are read after the process has gone: a grandchild may hold them for ever."""


class ShellAction:
    """
    Starts processes. The environment is the call's and nothing else; payload text can only be a
    whole argument, a variable, a file or stdin.

    `watching` follows the output of what runs. What `redactor` knows is masked in what is kept, as
    are the secrets among the call's variables.
    """

    def __init__(
        self,
        *,
        term_s: float = TERM_S,
        watching: Watching | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._term_s = term_s
        self._redactor = redactor or Redactor()
        self._watching = watching or Watching()
        self._running: set[_Command] = set()

    def begin(self, call: ActionCall, job: Job, ended: Ended) -> Cancel | None:
        """Start it without a task; None: it has files to write first, or cannot start."""
        if not isinstance(call, ShellCall) or call.files:
            return None
        try:
            return self._begun(call, job, call.env, ended)
        except (OSError, ValueError, subprocess.SubprocessError):
            return None  # `run` meets it again and says why

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Run it to its end, to its time limit, or to our cancellation: then the group is gone."""
        if not isinstance(call, ShellCall):
            return FailOutcome("not a shell call")
        try:
            async with handed(call.files) as paths:
                env = {**call.env, **paths}
                return await waited_for(lambda ended: self._begun(call, job, env, ended))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return _not_started(error)

    async def close(self) -> None:
        """End what still runs."""
        for command in tuple(self._running):
            command.let_go()

    def _begun(self, call: ShellCall, job: Job, env: dict[str, str], ended: Ended) -> Cancel:
        child = Child(bounded(call.argv, call.limits), env, call.cwd, call.stdin)
        command = _Command(call, child, self._term_s, self._redactor, partial(self._left, job))
        self._running.add(command)
        self._watching.began(job, child, call)
        return EndOfWork(command, child.exit, call.timeout_s, ended).cancel

    def _left(self, job: Job, command: "_Command") -> None:
        self._running.discard(command)
        self._watching.ended(job)


class _Command:
    """A started process; see `BegunWork`. `left` is told when it is let go."""

    def __init__(
        self,
        call: ShellCall,
        child: Child,
        term_s: float,
        redactor: Redactor,
        left: "Callable[[_Command], None]",
    ) -> None:
        self._call, self._child, self._term_s = call, child, term_s
        self._redactor, self._left = redactor, left

    def concluded(self) -> Outcome | None:
        """None: somebody holds its pipes."""
        if not self._child.read_out():
            return None
        try:
            return self._outcome()
        finally:
            self.let_go()

    async def failed(self, *, late: bool) -> Outcome:
        """Its time is over, or it has ended and left its pipes to others."""
        try:
            if late:
                await self._end()
            await self._child.drained(PIPES_S)
            if not late:
                return self._outcome()
            reason = f"stopped after {self._call.timeout_s:g} s"
            return RetryOutcome("timeout", reason, None, self._result())
        finally:
            self.let_go()

    async def broken_off(self) -> None:
        """End it with its group."""
        try:
            await self._end()
        finally:
            self.let_go()

    def let_go(self) -> None:
        """What still runs of it is killed."""
        self._child.close()
        self._left(self)

    def _outcome(self) -> Outcome:
        code, result = self._child.code, self._result()
        if code >= 0:
            return of_exit(code, result)
        over = ": over its limit of processor time" if -code == signal.SIGXCPU else ""
        return RetryOutcome("error", f"killed by {signal_name(-code)}{over}", None, result)

    def _result(self) -> dict[str, Any]:
        child = self._child
        masks = self._redactor.with_(secrets_of(self._call))
        stdout, stderr = (
            masks.cut_text(stream.tail().decode("utf-8", "replace"), start=stream.cut)
            for stream in (child.stdout, child.stderr)
        )
        result: dict[str, Any] = {"exit": child.code, "stdout": stdout, "stderr": stderr}
        if child.stdout.cut or child.stderr.cut:
            result["truncated"] = True
        if not child.stdout.cut:
            result |= masks.json_value(json_of(stdout.strip()))
        return result

    async def _end(self) -> None:
        """SIGTERM to the group, then SIGKILL to what is left of it."""
        child = self._child
        child.doom()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._term_s):
                    await child.exited()
        finally:
            child.kill()
        await child.exited()
        await child.gone(GONE_S)


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _not_started(error: Exception) -> Outcome:
    """Our own words: the exception's text may quote an argument or a variable."""
    if isinstance(error, UnicodeEncodeError):
        return FailOutcome("an argument or a variable holds text that is not valid Unicode")
    if isinstance(error, subprocess.SubprocessError):
        return RetryOutcome("error", "the process could not be started")
    if isinstance(error, ValueError):
        return FailOutcome(
            "a NUL character in an argument or a variable, or a variable without a legal name"
        )
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.E2BIG:
        return FailOutcome(
            "the arguments and variables are too long for the system: pass the long one by `stdin` "
            "or `files`"
        )
    words = {
        errno.ENOENT: "the program or its folder was not found",
        errno.EACCES: "the program may not be executed",
        errno.EPERM: "the program may not be executed",
        errno.ENOEXEC: "the program is not executable: a first line like #!/bin/sh is missing",
        errno.ENOTDIR: "the working folder is not a folder",
        errno.EAGAIN: "the system cannot start another process now",
        errno.ENOMEM: "the system has no memory for another process",
        errno.EMFILE: "the router has too many files open",
        errno.ENFILE: "the system has too many files open",
    }
    return RetryOutcome("error", words.get(number or 0, "the process could not be started"))
