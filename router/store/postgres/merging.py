"""Calls that are made together: what comes while others are under way goes with the next."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def _light(_items: Sequence[object]) -> float:
    return 0.0


def _keyless(_items: Sequence[object]) -> AbstractSet[Hashable]:
    return frozenset()


class Merged(Generic[Item, Answer]):
    """
    Calls of `work`, `at_once` at a time, of what is waiting then, in the order in which it came.
    `work` answers each item, in order; what it raises is raised to everybody whose items were in
    that call.

    `load` says what part of a call some items fill: those that came together stay so, others join
    them up to 1. Items that have `keys` in common are not under way at the same time: what comes
    later waits, with all behind it.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        at_once: int = 1,
        load: Callable[[Sequence[Item]], float] = _light,
        keys: Callable[[Sequence[Item]], AbstractSet[Hashable]] = _keyless,
    ) -> None:
        self._work, self._at_once, self._load, self._keys_of = work, at_once, load, keys
        self._waiting: deque[_Asked[Item, Answer]] = deque()
        self._keys: set[Hashable] = set()  # of what is under way
        self._starting = False
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, items: Sequence[Item]) -> "asyncio.Future[Sequence[Answer]]":
        """The answers of these items. Whoever does not wait for them does not stop the work."""
        loop = asyncio.get_running_loop()
        asked = _Asked(items, self._load(items), self._keys_of(items), loop.create_future())
        self._waiting.append(asked)
        if not self._starting and self._under_way < self._at_once:
            self._starting = True
            self._under_way += 1
            task = loop.create_task(self._go_on())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return asked.answers

    async def close(self) -> None:
        """Wait until everything has been answered."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _go_on(self) -> None:
        self._starting = False
        while calls := self._take():
            keys = {key for call in calls for key in call.keys}
            self._keys |= keys
            await self._call(calls)
            self._keys -= keys
        self._under_way -= 1

    def _take(self) -> "list[_Asked[Item, Answer]]":
        """As many as fit in a call, from the front."""
        taken: list[_Asked[Item, Answer]] = []
        load = 0.0
        while self._waiting and self._keys.isdisjoint(self._waiting[0].keys):
            load += self._waiting[0].load
            if taken and load > 1:
                break
            taken.append(self._waiting.popleft())
        return taken

    async def _call(self, calls: "Sequence[_Asked[Item, Answer]]") -> None:
        try:
            found = iter(await self._work([item for call in calls for item in call.items]))
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            for call in calls:
                if not call.answers.done():
                    call.answers.set_exception(error)
        else:
            for call in calls:
                answers = list(islice(found, len(call.items)))
                if not call.answers.done():
                    call.answers.set_result(answers)


class _Asked(Generic[Item, Answer]):
    """Items that came together, and where their answers go."""

    def __init__(
        self,
        items: Sequence[Item],
        load: float,
        keys: AbstractSet[Hashable],
        answers: "asyncio.Future[Sequence[Answer]]",
    ) -> None:
        self.items, self.load, self.keys, self.answers = items, load, keys, answers
