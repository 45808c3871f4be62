"""Work that has begun and whose end a future tells: no task, unless it ends badly."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from router.dispatch.protocol import Cancel, Ended
from router.model.job import Outcome


class BegunWork(Protocol):
    """One run of a call; when one of these has returned, nothing of it is held."""

    def concluded(self) -> Outcome | None:
        """What came of it, now that it has ended; None: `failed` has to see to it."""

    async def failed(self, *, late: bool) -> Outcome:
        """What comes of one that did not end as it should, or not in time."""

    async def broken_off(self) -> None:
        """End it."""


class EndOfWork:
    """Tells `ended` once what comes of a run that `end` tells the end of, or of its time limit."""

    def __init__(
        self, work: BegunWork, end: "asyncio.Future[Any]", timeout_s: float, ended: Ended
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._work, self._ended = work, ended
        self._failing: asyncio.Task[None] | None = None
        self._cancelled = False
        self._timer = self._loop.call_later(timeout_s, self._on_timeout)
        end.add_done_callback(self._on_end)

    def cancel(self) -> Coroutine[Any, Any, None]:
        """Nobody is told any more; what is returned ends the work."""
        self._cancelled = True
        self._timer.cancel()
        if self._failing is not None:
            self._failing.cancel()
        return self._work.broken_off()

    def _on_end(self, _: "asyncio.Future[Any]") -> None:
        if self._cancelled or self._failing is not None:
            return
        self._timer.cancel()
        try:
            outcome: Outcome | Exception | None = self._work.concluded()
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            outcome = error
        if outcome is None:
            self._failing = self._loop.create_task(self._fail(late=False))
        else:
            self._ended(outcome)

    def _on_timeout(self) -> None:
        self._failing = self._loop.create_task(self._fail(late=True))

    async def _fail(self, *, late: bool) -> None:
        try:
            outcome: Outcome | Exception = await self._work.failed(late=late)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            outcome = error
        self._ended(outcome)


async def waited_for(begin: Callable[[Ended], Cancel]) -> Outcome:
    """The outcome of work that is begun here; cancelling ends it first."""
    told: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()
    cancel = begin(told.set_result)
    try:
        outcome = await asyncio.shield(told)
    except asyncio.CancelledError:
        if not told.done() and (ending := cancel()) is not None:
            await ending
        raise
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
