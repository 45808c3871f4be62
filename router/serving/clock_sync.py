"""When somebody sets the machine's clock: wall time follows it, ledger time goes on as it was."""

from collections.abc import Callable

import msgspec

from router.clock import LONG_MS, Doubt, SteadyClock
from router.errors import StoreUnavailable
from router.log import Log
from router.operator.attention import of_clock
from router.store.protocol import Store
from router.store.values import CLOCK_DOUBT, CLOCK_SEEN

INTERVAL_S = 1.0
SLEWED_MS = 2_000
"""Further off than this the clock was set; less is drift, or a time server at work."""
NOISE_MS = 5
"""Nothing to run after: the clock must not go to and fro."""
NOTE_S = 60.0
"""How often the time is noted, for the next start."""
DOUBT_MS = 3_600_000
"""So long after the start a clock is believed that is far ahead of the time last noted."""


class ClockSync:
    """
    Lets the steady clock follow the machine's; that of a shared store goes by the store. Small
    differences it takes over in passing. After a step only wall time moves, and the store keeps by
    how much: nobody waits longer or shorter.

    `stepped` is called at each step.
    """

    def __init__(
        self,
        *,
        clock: SteadyClock,
        store: Store,
        log: Log,
        stepped: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._store = store
        self._log = log
        self._stepped = stepped
        self._note_at = clock.monotonic()

    async def begin(self) -> None:
        """
        Before anything is due: did the clock go back while the router was down, or far on?

        Raises:
            StoreUnavailable: nothing is known.
        """
        await self._doubt()
        ms = await self._note()
        if ms < -SLEWED_MS:
            self._say("the clock went back while the router was down", ms)

    async def run(self) -> None:
        """Look for ever; what the store cannot take now is tried again at the next turn."""
        while True:
            await self._clock.sleep(NOTE_S if self._store.shared else INTERVAL_S)
            try:
                await self.step()
            except StoreUnavailable as error:
                self._log.error("the clock could not be followed", error=str(error))

    async def step(self) -> None:
        """
        Look once.

        Raises:
            StoreUnavailable: the clock has followed; the store learns of it at the next turn.
        """
        ms = 0 if self._store.shared else self._clock.drift()
        if abs(ms) > SLEWED_MS:
            self._clock.step(ms)
            self._note_at = self._clock.monotonic()
            self._say("the clock was set", ms)
        elif abs(ms) > NOISE_MS:
            self._clock.slew(ms)
        if self._clock.monotonic() >= self._note_at:
            await self._note()

    async def close(self) -> None:
        """Note the time, for the next start."""
        try:
            await self._note()
        except StoreUnavailable as error:
            self._log.error("the time could not be noted", error=str(error))

    async def _doubt(self) -> None:
        """Nobody can tell a clock that was set on from a router that was down: give people time."""
        kept, now = await self._store.recall("clock/"), self._clock.ledger()
        doubt, seen = msgspec.convert(kept.get(CLOCK_DOUBT), Doubt | None), kept.get(CLOCK_SEEN)
        if seen is not None and now - seen > LONG_MS:
            doubt = Doubt(seen + self._clock.offset, now + DOUBT_MS)
            await self._store.remember({CLOCK_DOUBT: doubt})
        self._clock.doubt = doubt
        for one in of_clock(self._clock):
            self._log.warning(one.text)

    def _say(self, what: str, ms: int) -> None:
        self._stepped()
        self._log.warning(what, seconds=round(ms / 1000, 1))

    async def _note(self) -> int:
        ms = await self._store.keep_clock()
        self._note_at = self._clock.monotonic() + NOTE_S
        return ms
