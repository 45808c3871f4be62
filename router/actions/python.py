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
from typing import Any

from router.actions.kept_response import json_of
from router.actions.plugin_child import BrokenPluginChild, PluginChild
from router.actions.shell import signal_name
from router.expressions import encode_json
from router.kinds.kind import ActionCall
from router.kinds.python import PythonCall
from router.log import Redactor
from router.model.job import Done, FailOutcome, FailureClass, Job, Outcome, RetryOutcome
from router.plugin_host.wire import TRACE_MAX, Ended

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

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        """Run it to its end, to its time limit, or to our cancellation: then its group is gone."""
        del job
        if not isinstance(call, PythonCall):
            return FailOutcome("not a python call")
        try:
            child = self._taken(call)
        except (OSError, ValueError, subprocess.SubprocessError):
            return RetryOutcome("error", "the plugin's process could not be started")
        try:
            outcome, again = await self._outcome(call, child)
        except BaseException:
            try:
                await child.end()
            finally:
                self._dropped(child)
            raise
        if again:
            self._kept(child)
        else:
            self._dropped(child)
        return outcome

    async def close(self) -> None:
        """End every child."""
        children = tuple(self._children)
        for child in children:
            child.close()
        await asyncio.gather(*(child.gone for child in children))

    # -- one call -------------------------------------------------------------------------------

    async def _outcome(self, call: PythonCall, child: PluginChild) -> tuple[Outcome, bool]:
        """What came of it, and whether the child may be used again."""
        if (refusal := await self._not_ready(call, child)) is not None:
            return refusal, False
        turn = next(self._turns)
        try:
            async with asyncio.timeout(call.timeout_s):
                ended = await child.ask(turn, self._request(call, turn), call.body)
        except TimeoutError:
            reason = f"stopped after {call.timeout_s:g} s"
            return await self._stopped(call, child, "timeout", reason), False
        except BrokenPluginChild:
            return await self._stopped(call, child, "error", NO_ANSWER), False
        if ended is None:
            return await self._died(call, child), False
        twice = child.doubted and ended.kind == "error"  # it may be the process that is broken
        child.doubted = ended.kind == "error"
        again = not ended.spoilt and not twice and ended.rss <= self._rss_max
        return self._classed(call, child, ended), again

    async def _not_ready(self, call: PythonCall, child: PluginChild) -> Outcome | None:
        """None when the process listens; its start is not part of the call's own time."""
        try:
            async with asyncio.timeout(START_S):
                listens = await child.ready()
        except TimeoutError:
            return RetryOutcome("error", "the plugin's process did not start in time")
        except BrokenPluginChild:
            return await self._stopped(call, child, "error", NO_ANSWER)
        return None if listens else await self._died(call, child)

    async def _stopped(
        self, call: PythonCall, child: PluginChild, failure: FailureClass, reason: str
    ) -> Outcome:
        """End the process; the attempt failed for this reason."""
        await child.end()
        await child.drained()
        return RetryOutcome(failure, reason, None, self._result(call, child))

    def _classed(self, call: PythonCall, child: PluginChild, ended: Ended) -> Outcome:
        masks = self._redactor.with_(call.secrets.values())
        result = self._result(call, child)
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

    def _result(self, call: PythonCall, child: PluginChild) -> dict[str, Any]:
        """What every attempt keeps: the output, and which text of the module ran."""
        out, err, cut = child.output()
        masks = self._redactor.with_(call.secrets.values())
        result: dict[str, Any] = {
            "stdout": masks.cut_text(out.decode("utf-8", "replace"), start=cut),
            "stderr": masks.cut_text(err.decode("utf-8", "replace"), start=cut),
            "module": child.module,
        }
        if cut:
            result["truncated"] = True
        return result

    def _request(self, call: PythonCall, turn: int) -> bytes:
        """A `plugin_host.Request` frame; the payload's decimals keep their digits."""
        request = encode_json(
            {
                "turn": turn,
                "call": call.function,
                "event": call.event,
                "args": call.args,
                "secrets": call.secrets,
                "egress": self._egress(),
                "hosts": call.hosts,
                "env": call.env,
                "body_bytes": len(call.body),
            }
        )
        return len(request).to_bytes(4, "big") + request

    async def _died(self, call: PythonCall, child: PluginChild) -> Outcome:
        await child.end()
        await child.drained()
        how = f"killed by {signal_name(-child.code)}" if child.code < 0 else f"exit {child.code}"
        return RetryOutcome(
            "error", f"the plugin ended its process: {how}", None, self._result(call, child)
        )

    # -- the pool -------------------------------------------------------------------------------

    def _taken(self, call: PythonCall) -> PluginChild:
        """The idle child used last that still fits, or a new one."""
        version = self._version()
        for child in reversed(self._idle):
            if not child.usable or child.version != version:
                self._dropped(child)
            elif child.folder == call.cwd:
                self._idle.remove(child)
                return child
        child = PluginChild(call.cwd, call.env, self._memory, version)
        self._children.add(child)
        child.gone.add_done_callback(lambda _: self._children.discard(child))
        return child

    def _kept(self, child: PluginChild) -> None:
        if child.version != self._version() or child.calls >= self._jobs_max or not child.usable:
            self._dropped(child)
            return
        self._idle.append(child)
        if len(self._idle) > 1:
            asyncio.get_running_loop().call_later(self._idle_s, self._end_idle, child, child.calls)

    def _end_idle(self, child: PluginChild, calls: int) -> None:
        """End a child that has not been needed since; the last one stays."""
        if child in self._idle and child.calls == calls and len(self._idle) > 1:
            self._dropped(child)

    def _dropped(self, child: PluginChild) -> None:
        if child in self._idle:
            self._idle.remove(child)
        child.close()
