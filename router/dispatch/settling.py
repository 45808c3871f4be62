"""Attempts' ends on their way into the store: those that come together go as one group."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from router.clock import Clock
from router.dispatch.live import DispatchSettings
from router.dispatch.observed import Defect, StoreFailed
from router.errors import RouterError, StoreUnavailable
from router.model.job import Job, Settlement
from router.model.observed import Observer
from router.store.protocol import DispatchStore
from router.store.values import Acceptance, Settled

GROUP = 256
"""Ends given to the store at once, at most."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0


class UnwrittenEnd(NamedTuple):
    """An attempt's end that the store is offered; `own` is the router's own event of it."""

    job: Job
    settlement: Settlement
    own: Acceptance | None


class EndQueue:
    """
    Offers ends to the store, and one that it did not take until it does, or patience is spent.

    `written` is told what became of each that it took, `lost` whose end could not be written.
    `unsettled` counts those that are under way, `tasks` are what they are under way with.
    """

    def __init__(
        self,
        store: DispatchStore,
        clock: Clock,
        observe: Observer,
        settings: DispatchSettings,
        *,
        written: Callable[[UnwrittenEnd, Settled], None],
        lost: Callable[[Job], None],
    ) -> None:
        self._store, self._clock, self._observe = store, clock, observe
        self._settings, self._written, self._lost = settings, written, lost
        self._waiting: list[UnwrittenEnd] = []
        self._timer: asyncio.Handle | None = None
        self._is_soon = False
        self.tasks: set[asyncio.Future[Any]] = set()
        self.unsettled = 0

    def put(self, end: UnwrittenEnd, *, can_wait: bool = False) -> None:
        """
        Have an end written, with those of the same turn of the loop. `can_wait`: nobody waits for
        its slot, so it may wait a moment for the commit of those who come next.
        """
        self.unsettled += 1
        self._waiting.append(end)
        if self._is_soon:
            return
        if not can_wait or not self._settings.settle_within_s:
            self._is_soon = True
            self._arm(asyncio.get_running_loop().call_soon(self.flush))
        elif self._timer is None:
            wait = self._settings.settle_within_s
            self._arm(asyncio.get_running_loop().call_later(wait, self.flush))

    def flush(self) -> None:
        """Give the store what waits: it is committed with whatever else it is given meanwhile."""
        if not self._waiting:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._is_soon = None, False
        waiting, self._waiting = self._waiting, []
        for first in range(0, len(waiting), GROUP):
            self._offer(waiting[first : first + GROUP])

    def abandon(self) -> None:
        """Give up what is under way."""
        for task in tuple(self.tasks):
            task.cancel()

    def _arm(self, timer: asyncio.Handle) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _offer(self, group: list[UnwrittenEnd]) -> None:
        try:
            call = asyncio.ensure_future(
                self._store.settle_all([(end.settlement, end.own) for end in group])
            )
        except Exception as error:  # noqa: BLE001 - a job must not hang on its result
            self._failed(group, error)
        else:
            self.tasks.add(call)
            call.add_done_callback(partial(self._answered, group))

    def _answered(
        self, group: list[UnwrittenEnd], call: "asyncio.Future[Sequence[Settled | RouterError]]"
    ) -> None:
        self.tasks.discard(call)
        if call.cancelled():
            self.unsettled -= len(group)
            return
        if (error := call.exception()) is None:
            self._conclude(group, call.result())
        else:
            self._failed(group, cast("Exception", error))

    def _failed(self, group: list[UnwrittenEnd], error: Exception) -> None:
        """The whole group was not taken; what one of them is to blame for is told by each alone."""
        if isinstance(error, StoreUnavailable) or len(group) == 1:
            self._conclude(group, [error] * len(group))
            return
        for end in group:
            self._offer([end])

    def _conclude(
        self, group: Sequence[UnwrittenEnd], answers: Sequence[Settled | Exception]
    ) -> None:
        """Tell of those that are written; each other one is offered again by itself."""
        self.unsettled -= len(group)
        for end, answer in zip(group, answers, strict=True):
            if isinstance(answer, Settled):
                self._written(end, answer)
            else:
                self._spawn(self._insist(end, answer))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _insist(self, end: UnwrittenEnd, error: Exception) -> None:
        """
        Offer an end until the store takes it: the action must not run again for our trouble.

        A result that the store chokes on is left out.
        """
        self.unsettled += 1
        try:
            settled = await self._taken(end, error)
        finally:
            self.unsettled -= 1
        if settled is None:
            self._lost(end.job)
        else:
            self._written(end, settled)

    async def _taken(self, end: UnwrittenEnd, error: Exception) -> Settled | None:
        """None: the patience is spent, or the store chokes on it even without its result."""
        pause, bare = FIRST_PAUSE_S, False
        until = self._clock.monotonic() + self._settings.patience_s
        while True:
            if isinstance(error, StoreUnavailable):
                self._observe(StoreFailed("settle", error))
                if self._clock.monotonic() >= until:
                    return None
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
            else:
                self._observe(Defect(end.job, error))
                if bare:
                    return None
                end, bare = _without_result(end), True
            try:
                return await self._store.settle(end.settlement, end.own)
            except Exception as again:  # noqa: BLE001 - a job must not hang on its result
                error = again


def _without_result(end: UnwrittenEnd) -> UnwrittenEnd:
    attempt = replace(end.settlement.attempt, result={"lost": True})
    return end._replace(settlement=replace(end.settlement, attempt=attempt))
