"""A deterministic event loop: time jumps, the order of what is ready is drawn from a seed."""

import asyncio
import random
from collections import deque
from collections.abc import Coroutine, Iterable
from itertools import count
from typing import Any

from router.rehearsal.virtual_time import VirtualClock, VirtualLoop

START_MS = 1_750_000_000_000


class SimTask(asyncio.Task[Any]):
    """A task whose hash is its number: sets of tasks have the same order whenever a seed is run."""

    owner: Any = None

    def __init__(self, coro: Any, *, number: int, **named: Any) -> None:
        self.number = number
        super().__init__(coro, **named)

    def __hash__(self) -> int:
        return self.number


def in_order(tasks: Iterable["asyncio.Task[Any]"]) -> list["asyncio.Task[Any]"]:
    """The oldest first."""
    return sorted(tasks, key=hash)


class SimLoop(VirtualLoop):
    """The same seed gives the same run."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        super().__init__()
        numbers = count()
        self.set_task_factory(
            lambda loop, coro, **named: SimTask(coro, number=next(numbers), loop=loop, **named)
        )

    def _run_once(self) -> None:
        ready: deque[Any] = self._ready  # type: ignore[has-type]
        if len(ready) > 1:
            shuffled = list(ready)
            self._rng.shuffle(shuffled)
            self._ready = deque(shuffled)
        super()._run_once()  # type: ignore[misc]


class SimClock(VirtualClock):
    """A clock on the running loop's virtual time."""

    def __init__(self) -> None:
        super().__init__(lambda: asyncio.get_running_loop().time(), START_MS)


def simulate(
    main: Coroutine[Any, Any, Any], rng: random.Random, kind: type[SimLoop] = SimLoop
) -> Any:
    """Run `main` to its end on a loop of its own."""
    loop = kind(rng)
    leaked: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: leaked.append(context))
    try:
        answer = loop.run_until_complete(main)
        assert leaked == [], f"a task failed and nobody heard it: {leaked}"
        return answer
    finally:
        for task in in_order(asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
