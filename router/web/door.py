"""The door of a listener: takes its requests, and keeps the memory for their bodies."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from router import log
from router.web.answers import IngestRefusal, refusal
from router.web.budget import Budget
from router.web.load_shedding import LoadShedder
from router.web.wire_request import WireRequest


class Door:
    """
    Takes the requests of one listener. Belongs to one event loop.

    A connection calls `admit` when a head is whole, then `hold` while the body comes, then `offer`
    or `refuse`. A request that `offer` has taken is never cancelled by its connection.
    """

    def __init__(self, budget: Budget, patience: LoadShedder) -> None:
        self.tasks = set[asyncio.Task[None]]()
        """Work under way; a listener that stops waits for it."""
        self.patience = patience
        """How long a request waits for its turn."""
        self._budget = budget
        self._log = log.get("web.ingest")

    def admit(self, request: WireRequest) -> None:
        """Set `body_max`, and `refused` if the head alone is reason enough."""
        raise NotImplementedError

    def offer(self, request: WireRequest) -> None:
        """Take a whole request, and answer it later."""
        raise NotImplementedError

    def refuse(self, request: WireRequest, refused: IngestRefusal) -> None:
        """Answer a request with a refusal."""
        self.release(request)
        request.answer(refusal(refused))

    def count_refusal(self, raw_path: bytes, word: str, status: int, peer: str) -> None:
        """Count a refusal that a connection made; raw_path b"": no request had begun."""

    def hopeless(self, _request: WireRequest, _now: float) -> bool:
        """Whether a whole request would wait too long for its turn."""
        return False

    def hold(self, request: WireRequest, size: int) -> bool:
        """
        Reserve `size` bytes of memory for its body.

        False: there is none now. The request waits; then `go_on_reading` follows, or `refused`.
        """
        if request.waiting is None:
            if self._budget.take_now(size - request.held):
                request.held = size
                return True
            request.waiting = self.spawn(self._wait(request, size))
        return False

    async def take(self, request: WireRequest, size: int) -> None:
        """Wait for `size` bytes of memory for its body; set `refused` if none comes in time."""
        more = size - request.held
        if request.refused is None and more > 0:
            if await self._budget.take(more):
                request.held = size
            else:
                request.refused = IngestRefusal(503, "busy")

    def release(self, request: WireRequest) -> None:
        """Give back the memory of a request; end its wait for memory."""
        if request.waiting is not None:
            request.waiting.cancel()
            request.waiting = None
        if request.held:
            self._budget.give(request.held)
            request.held = 0

    async def _wait(self, request: WireRequest, size: int) -> None:
        await self.take(request, size)
        request.waiting = None
        request.connection.go_on_reading(request)

    def fail(self, requests: Iterable[WireRequest], error: Exception) -> None:
        """Log a fault of ours; answer those with 503 that have no answer yet."""
        word = "busy" if isinstance(error, MemoryError) else "unavailable"
        if word == "busy":
            self._log.error("no memory for a request")
        else:
            self._log.error("request failed", error=repr(error), exc_info=error)
        for request in requests:
            self.release(request)
            if not request.answered:
                request.answer(refusal(IngestRefusal(503, word)))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run this in a task that `tasks` holds."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task
