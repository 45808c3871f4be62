"""How many bytes of bodies may be in memory at once, over all requests."""

import asyncio
from collections import deque


class Budget:
    """
    Bytes that bodies in flight may hold. Belongs to one event loop.

    An eighth is kept for bodies that arrive whole with their head, so that a few senders of large
    or slow bodies cannot shut everybody out. A large body that fits no budget is let in alone.
    """

    def __init__(self, limit: int, wait_s: float) -> None:
        self._whole_limit = limit
        self._limit = limit - limit // 8
        self._wait_s = wait_s
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.used = 0

    def take_whole(self, size: int) -> bool:
        """Account for a body that is already here; False: no memory left, nothing taken."""
        if self.used + size > self._whole_limit and self.used:
            return False
        self.used += size
        return True

    def take_now(self, size: int) -> bool:
        """Memory for a body to come, unless others wait or there is none; False: nothing taken."""
        if self._waiting or not self._fits(size):
            return False
        self.used += size
        return True

    async def take(self, size: int) -> bool:
        """Wait for memory, first come, first served, for `wait_s`; False: nothing taken."""
        if self.take_now(size):
            return True
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (size, turn)
        self._waiting.append(waiter)
        taken = False
        try:
            taken = bool((await asyncio.wait((turn,), timeout=self._wait_s))[0])
        finally:
            if not taken:
                self._withdraw(waiter)
        return taken

    def give(self, size: int) -> None:
        """Give back what was taken."""
        self.used -= size
        if self._waiting:
            self._admit()

    def _withdraw(self, waiter: tuple[int, asyncio.Future[None]]) -> None:
        """Stop waiting; what came in the same moment is given back."""
        size, turn = waiter
        if turn.done():
            self.give(size)
        else:
            self._waiting.remove(waiter)
            self._admit()

    def _fits(self, size: int) -> bool:
        return self.used + size <= self._limit or not self.used

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            self.used += size
            turn.set_result(None)
