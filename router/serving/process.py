"""From ready to gone: start the parts, wait for a signal, drain, exit."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from router.dispatch import Dispatcher
from router.log import Log
from router.web.server import Listener

CLOSE_S = 5.0
LAST_S = 5.0
"""What all the rest of an end may take, beside the grace."""


class Shutdown(NamedTuple):
    """
    The end of a process. `grace_s`: what running actions get; `begins` is called when it begins,
    `ends_within` with how many seconds the process has left.
    """

    grace_s: Callable[[], float]
    begins: Callable[[], None]
    ends_within: Callable[[float], object]


class Process:
    """
    Runs until SIGTERM or SIGINT, then drains: no new requests, no new leases, running actions
    get `grace_s`, exit 0. A second signal ends the grace at once. A failed store ends it with 1.
    """

    def __init__(
        self,
        *,
        listeners: list[Listener],
        loops: dict[str, Callable[[], Coroutine[Any, Any, None]]],
        dispatch: Dispatcher,
        store_failed: Awaitable[Any],
        reload: Callable[[], Awaitable[bool]],
        shutdown: Shutdown,
        log: Log,
    ) -> None:
        self._listeners = listeners
        self._loops = loops
        self._dispatch = dispatch
        self._store_failed = store_failed
        self._reload = reload
        self._shutdown = shutdown
        self._log = log
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._exit = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, on_ready: Callable[[], None]) -> int:
        """
        Serve; returns the exit code.

        Raises:
            CannotListen, UsageError: a listener cannot start; nothing is left running.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._spawn("reload", self._reload))
        for name, start in self._loops.items():
            self._spawn(name, start, must_live=True)
        watcher = asyncio.ensure_future(self._store_failed)
        watcher.add_done_callback(self._store_gone)
        try:
            for listener in self._listeners:
                await listener.start()
        except BaseException:  # end what has started before the store it works on is closed
            self._stop.set()
            for listener in self._listeners:
                await listener.stop(0)
            await self._dispatch.drain(0)
            await self._end_tasks()
            raise
        on_ready()
        await self._stop.wait()
        await self._drain()
        watcher.cancel()
        return self._exit

    def _signalled(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
            self._shutdown.ends_within(LAST_S)
        else:
            self._stop.set()
            self._shutdown.ends_within(self._shutdown.grace_s() + LAST_S)

    def _store_gone(self, failure: "asyncio.Future[Any]") -> None:
        if not failure.cancelled():
            self._fail(f"the store failed: {failure.result()}")

    def _fail(self, reason: str) -> None:
        if not self._stop.is_set():
            self._log.error("stopping", reason=reason)
            self._exit = 1
            self._hurry.set()
            self._stop.set()
            self._shutdown.ends_within(LAST_S)

    def _spawn(self, name: str, start: Callable[[], Any], *, must_live: bool = False) -> None:
        task = asyncio.ensure_future(start())
        self._tasks.add(task)
        task.add_done_callback(lambda t: self._ended(name, t, must_live))

    def _ended(self, name: str, task: "asyncio.Future[Any]", must_live: bool) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        expected = self._stop.is_set() or not must_live
        if task.cancelled() or (error is None and expected):
            return
        self._log.error("a part of the router ended", part=name, error=repr(error))
        if must_live:
            self._fail(f"{name} ended")

    async def _drain(self) -> None:
        """Finish requests and running actions side by side, within the grace."""
        self._shutdown.begins()
        grace = self._shutdown.grace_s()
        self._log.info("draining", grace_s=grace)
        work = asyncio.gather(
            self._dispatch.drain(grace), *(one.stop(CLOSE_S) for one in self._listeners)
        )
        hurry = asyncio.ensure_future(self._hurry.wait())
        waits: set[asyncio.Future[Any]] = {work, hurry}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            self._log.warning("ending at once")
            work.cancel()
            await self._dispatch.drain(0)
        await asyncio.gather(work, return_exceptions=True)
        hurry.cancel()
        await self._end_tasks()

    async def _end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
