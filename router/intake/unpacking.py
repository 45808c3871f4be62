"""Bodies that take long to read, measured before they are; packed ones unpacked, one at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import BytesIO

from router.clock import Clock
from router.model.delivery import InboundRequest
from router.model.odd_body import OddBodyError
from router.model.packed import FED, STEP, TIMES_MAX, UNPACKED_MAX, coding, pieces
from router.structure import MeasuredBody, weigh

PAUSE_S = 0.001
"""
For each MiB of a large body, between its long steps, about as long as one takes: whoever has come
meanwhile is stored and answered.
"""


Give = Callable[[int], None]
"""Gives back so many bytes of the memory for bodies; less than 0 takes them, as they are here."""


def unlimited(size: int) -> None:
    """Nobody counts."""


class Unpacker:
    """Measures bodies. At most one unpacked body is in memory, until it is read and routed."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._turn = clock, asyncio.Lock()

    @asynccontextmanager
    async def measured(
        self, request: InboundRequest, body_max: int, give: Give
    ) -> AsyncIterator[MeasuredBody]:
        """
        The body as it is to be read, while it is held; of one that cannot be unpacked, or not
        within what an endpoint with this `body_max` takes, the body as it came, and why.
        """
        if (how := coding(request)) is None:
            yield weigh(request.body)
            return
        most, gathered = min(TIMES_MAX * body_max, UNPACKED_MAX), BytesIO()
        async with self._turn:
            try:
                yield await self._unpacked(request, how, most, gathered, give)
            finally:
                give(gathered.tell())

    async def _unpacked(
        self, request: InboundRequest, how: bytes, most: int, gathered: BytesIO, give: Give
    ) -> MeasuredBody:
        worked = 0
        try:
            for piece in pieces(request.body, how, most):
                give(-len(piece))
                gathered.write(piece)
                worked += len(piece) + FED
                if worked >= STEP:
                    worked = 0
                    await self._clock.sleep(PAUSE_S)
        except OddBodyError as odd:
            return MeasuredBody(request.body, odd.reason, odd.state)
        return weigh(gathered.getvalue())
