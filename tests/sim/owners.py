"""A loop on which several processes live: one may stand still for a while, or end."""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

from tests.sim.loop import SimLoop, SimTask, in_order


class Owner:
    """
    Whose the callbacks and tasks are that are made in its `context`, and in what comes of those.
    While it is `stopped` none of them runs: they are kept until it goes on.
    """

    def __init__(self) -> None:
        self.context = copy_context()
        self.context.run(_OWNER.set, self)
        self.stopped = False
        self.kept: list[asyncio.Handle] = []


_OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)


class OwnedLoop(SimLoop):
    """Knows whose each callback is."""

    def __init__(self, rng: Any) -> None:
        super().__init__(rng)
        make: Any = self.get_task_factory()
        self.set_task_factory(lambda loop, coro, **named: _owned(make(loop, coro, **named), named))

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As ever, unless its owner stands still when its turn has come."""
        cell: list[asyncio.Handle] = []
        cell.append(super().call_soon(_if_it_runs, cell, callback, args, context=context))
        return cell[0]

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As `call_soon`."""
        cell: list[asyncio.Handle] = []
        handle = super().call_at(when, _if_it_runs, cell, callback, args, context=context)
        cell.append(handle)
        return handle

    def go_on(self, owner: Owner) -> None:
        """All that has come due meanwhile is due now."""
        owner.stopped = False
        kept, owner.kept = owner.kept, []
        self._ready.extend(one for one in kept if not one.cancelled())  # type: ignore[has-type]

    async def bury(self, owner: Owner) -> None:
        """End all that it does."""
        self.go_on(owner)
        for _ in range(3):  # a slot that comes free as its task is cancelled starts one more
            for task in in_order(asyncio.all_tasks(self)):
                if getattr(task, "owner", None) is owner:
                    task.cancel()
            await asyncio.sleep(0)


def _owned(task: SimTask, named: dict[str, Any]) -> SimTask:
    context = named.get("context")
    task.owner = _OWNER.get() if context is None else context.get(_OWNER)
    return task


def _if_it_runs(
    cell: list[asyncio.Handle], callback: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    owner = _OWNER.get()
    if owner is not None and owner.stopped:
        owner.kept.append(cell[0])
    else:
        callback(*args)
