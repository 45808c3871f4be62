"""
The `python` action: a function of a plugin, always in a child process.

Children are started as jobs need them and used again. One is ended after 1,000 jobs, over 256 MiB,
after two errors in a row, when a plugin spoilt it, and when the rules were reloaded. Whatever a
plugin does to its process costs one attempt: the process is killed with its group, and the next
job gets another.
"""

import asyncio
import itertools
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

from router.actions.begun import EndOfWork, waited_for
from router.actions.plugin_child import BrokenPluginChild, Heard, PluginChild
from router.actions.shell import signal_name
from router.dispatch.protocol import Cancel, Ended
from router.expressions import encode_json
from router.kinds.json_results import json_of
from router.kinds.kind import ActionCall
from router.kinds.python import PythonCall
from router.log import Redactor
from router.model.job import Done, FailOutcome, FailureClass, Job, Outcome, RetryOutcome
from router.plugin_host.wire import TRACE_MAX
from router.plugin_host.wire import Ended as EndedFrame

JOBS_MAX = 1_000
RSS_MAX = 256 * 1024 * 1024
MEMORY = 1024 * 1024 * 1024
"""What a child may allocate at all; beyond it a plugin meets MemoryError."""
START_S = 5.0
NO_ANSWER = "the plugin's process sent no proper answer"
IDLE_S = 60.0
"""How long a child beyond the first is kept for the next rush."""


class PythonAction:
    """
    Runs calls in children, one call a child at a time.

    A child is used for one folder, and for one `version`: the caller's mark of the generation,
    compared by equality. `egress` gives the private ranges that plugins may call now. What
    `redactor` knows is masked in what is kept, as are the secrets that a call is given.
    """

    def __init__(
        self,
        *,
        version: Callable[[], object] = lambda: None,
        egress: Callable[[], tuple[str, ...]] = tuple,
        jobs_max: int = JOBS_MAX,
        rss_max: int = RSS_MAX,
        memory: int = MEMORY,
        redactor: Redactor | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        self._version = version
        self._egress = egress
        self._jobs_max = jobs_max
        self._rss_max = rss_max
        self._memory = memory
        self._redactor = redactor or Redactor()
        self._idle_s = idle_s
        self._turns = itertools.count(1)
        self._idle: list[PluginChild] = []
        self._children: set[PluginChild] = set()
        self._shrinking: asyncio.TimerHandle | None = None

    def begin(self, call: ActionCall, job: Job, ended: Ended) -> Cancel | None:
        """Call a process that listens already, without a task; None: one must start first."""
        del job
        if not isinstance(call, PythonCall) or (child := self._idle_child(call)) is None:
            return None
        return self._begun(call, child, ended)

    async def run(self, call: ActionCall, job: Job | None = None) -> Outcome:
        """Run it to its end, to its time limit, or to our cancellation: then its group is gone."""
        del job
        if not isinstance(call, PythonCall):
            return FailOutcome("not a python call")
        if (child := self._idle_child(call)) is None:
            try:
                child = self._new_child(call)
            except (OSError, ValueError, subprocess.SubprocessError):
                return RetryOutcome("error", "the plugin's process could not be started")
            if (refusal := await self._run_in(child, call).refusal()) is not None:
                return refusal
        return await waited_for(partial(self._begun, call, child))

    async def close(self) -> None:
        """End every child."""
        if self._shrinking is not None:
            self._shrinking.cancel()
        children = tuple(self._children)
        for child in children:
            child.close()
        await asyncio.gather(*(child.gone for child in children))

    def _begun(self, call: PythonCall, child: PluginChild, ended: Ended) -> Cancel:
        run = self._run_in(child, call)
        try:
            heard = run.ask(next(self._turns), self._egress())
        except BaseException:  # what cannot be said to it: nobody else would end the process
            self._left(child, None)
            raise
        return EndOfWork(run, heard, call.timeout_s, ended).cancel

    def _run_in(self, child: PluginChild, call: PythonCall) -> "_Run":
        return _Run(call, child, self._redactor, self._left)

    # -- the pool -------------------------------------------------------------------------------

    def _left(self, child: PluginChild, ended: EndedFrame | None) -> None:
        """A call has left its process, None: without a proper end."""
        if ended is None:
            self._dropped(child)
            return
        twice = child.doubted and ended.kind == "error"  # it may be the process that is broken
        child.doubted = ended.kind == "error"
        if ended.spoilt or twice or ended.rss > self._rss_max:
            self._dropped(child)
        else:
            self._kept(child)

    def _idle_child(self, call: PythonCall) -> PluginChild | None:
        """The one used last that still fits; it is idle no longer."""
        version = self._version()
        for child in reversed(self._idle):
            if not child.usable or child.version != version:
                self._dropped(child)
            elif child.folder == call.cwd:
                self._idle.remove(child)
                return child
        return None

    def _new_child(self, call: PythonCall) -> PluginChild:
        child = PluginChild(call.cwd, call.env, self._memory, self._version())
        self._children.add(child)
        child.gone.add_done_callback(lambda _: self._children.discard(child))
        return child

    def _kept(self, child: PluginChild) -> None:
        if child.version != self._version() or child.calls >= self._jobs_max or not child.usable:
            self._dropped(child)
            return
        self._idle.append(child)
        child.idle_since = asyncio.get_running_loop().time()
        if self._shrinking is None and len(self._idle) > 1:
            self._shrink()

    def _shrink(self) -> None:
        """End the children that have not been needed for so long; the last one stays."""
        loop, idle = asyncio.get_running_loop(), self._idle
        while len(idle) > 1 and idle[0].idle_since + self._idle_s <= loop.time():
            self._dropped(idle[0])
        more = len(idle) > 1
        until = idle[0].idle_since + self._idle_s if more else 0.0
        self._shrinking = loop.call_at(until, self._shrink) if more else None

    def _dropped(self, child: PluginChild) -> None:
        if child in self._idle:
            self._idle.remove(child)
        child.close()


class _Run:
    """A call in its process; see `BegunWork`. `left` is told how it left the process."""

    def __init__(
        self,
        call: PythonCall,
        child: PluginChild,
        redactor: Redactor,
        left: Callable[[PluginChild, EndedFrame | None], None],
    ) -> None:
        self._call, self._child, self._redactor, self._left = call, child, redactor, left
        self._heard: Heard | None = None

    async def refusal(self) -> Outcome | None:
        """None when the process listens; its start is not part of the call's own time."""
        try:
            outcome = await self._not_ready()
        except BaseException:
            await self.broken_off()
            raise
        if outcome is not None:
            self._left(self._child, None)
        return outcome

    async def _not_ready(self) -> Outcome | None:
        try:
            async with asyncio.timeout(START_S):
                if await self._child.ready():
                    return None
            return await self._died()
        except TimeoutError:
            return RetryOutcome("error", "the plugin's process did not start in time")
        except BrokenPluginChild:
            return await self._stopped("error", NO_ANSWER)

    def ask(self, turn: int, egress: tuple[str, ...]) -> Heard:
        """Make the call."""
        call = self._call
        self._heard = self._child.ask(turn, call.function, _request(call, turn, egress), call.body)
        return self._heard

    def concluded(self) -> Outcome | None:
        """None: there is no proper end."""
        heard = self._heard
        if heard is None or heard.exception() is not None:
            return None
        ended = heard.result()
        if not isinstance(ended, EndedFrame):
            return None
        left = None
        try:
            outcome = self._classed(ended)
            left = ended
        finally:
            self._left(self._child, left)
        return outcome

    async def failed(self, *, late: bool) -> Outcome:
        """Its time is over, or the process ended or spoke nonsense; the process goes."""
        try:
            if late:
                return await self._stopped("timeout", f"stopped after {self._call.timeout_s:g} s")
            if self._heard is not None and self._heard.exception() is not None:
                return await self._stopped("error", NO_ANSWER)
            return await self._died()
        finally:
            self._left(self._child, None)

    async def broken_off(self) -> None:
        """The process goes."""
        try:
            await self._child.end()
        finally:
            self._left(self._child, None)

    async def _stopped(self, failure: FailureClass, reason: str) -> RetryOutcome:
        """End the process; the attempt failed for this reason."""
        await self._child.end()
        await self._child.drained()
        return RetryOutcome(failure, reason, None, self._result())

    async def _died(self) -> RetryOutcome:
        child = self._child
        await child.end()
        await child.drained()
        how = f"killed by {signal_name(-child.code)}" if child.code < 0 else f"exit {child.code}"
        reason = f"the plugin ended its process: {how}"
        return RetryOutcome("error", reason, None, self._result())

    def _classed(self, ended: EndedFrame) -> Outcome:
        masks, result = self._masks(), self._result()
        whole = ended.reason.removesuffix("…")
        is_cut = whole != ended.reason
        reason = masks.cut_text(whole, end=is_cut) + "…" * is_cut
        if ended.trace:
            result["traceback"] = masks.cut_text(ended.trace, start=len(ended.trace) >= TRACE_MAX)
        if ended.kind == "retry":
            return RetryOutcome("temporary", reason, ended.after, result)
        if ended.kind == "fail":
            return FailOutcome(reason, result)
        if ended.kind == "error":
            return RetryOutcome("error", reason, None, result)
        found = json_of(bytes(ended.value).decode("utf-8", "replace"))
        if "json" not in found:
            return RetryOutcome("error", "the result is JSON that cannot be kept", None, result)
        return Done({"value": masks.json_value(found["json"]), **result})

    def _result(self) -> dict[str, Any]:
        """What every attempt keeps: the output, and which text of the module ran."""
        (out, err, cut), masks = self._child.output(), self._masks()
        result: dict[str, Any] = {
            "stdout": masks.cut_text(out.decode("utf-8", "replace"), start=cut),
            "stderr": masks.cut_text(err.decode("utf-8", "replace"), start=cut),
            "module": self._child.module,
        }
        if cut:
            result["truncated"] = True
        return result

    def _masks(self) -> Redactor:
        secrets = self._call.secrets
        return self._redactor.with_(secrets.values()) if secrets else self._redactor


def _request(call: PythonCall, turn: int, egress: tuple[str, ...]) -> bytes:
    """A `plugin_host.Request` frame; the payload's decimals keep their digits."""
    request = encode_json(
        {
            "turn": turn,
            "call": call.function,
            "event": call.event,
            "args": call.args,
            "secrets": call.secrets,
            "egress": egress,
            "hosts": call.hosts,
            "env": call.env,
            "body_bytes": len(call.body),
        }
    )
    return len(request).to_bytes(4, "big") + request
