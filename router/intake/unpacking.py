"""Bodies that take long to read, measured before they are; packed ones unpacked, one at a time."""

import asyncio
from collections.abc import AsyncIterator, Iterable
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


class Unpacker:
    """Measures bodies. At most one unpacked body is in memory, until it is read and routed."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._turn = clock, asyncio.Lock()

    @asynccontextmanager
    async def measured(self, request: InboundRequest, body_max: int) -> AsyncIterator[MeasuredBody]:
        """
        The body as it is to be read, while it is held; of one that cannot be unpacked, or not
        within what an endpoint with this `body_max` takes, the body as it came, and why.
        """
        if (how := coding(request)) is None:
            yield weigh(request.body)
            return
        async with self._turn:
            parts = pieces(request.body, how, min(TIMES_MAX * body_max, UNPACKED_MAX))
            try:
                unpacked = await self._joined(parts)
            except OddBodyError as odd:
                yield MeasuredBody(request.body, odd.reason, odd.state)
            else:
                yield weigh(unpacked)

    async def _joined(self, parts: Iterable[bytes]) -> bytes:
        gathered, worked = BytesIO(), 0
        for part in parts:
            gathered.write(part)
            worked += len(part) + FED
            if worked >= STEP:
                worked = 0
                await self._clock.sleep(PAUSE_S)
        return gathered.getvalue()
