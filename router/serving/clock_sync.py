"""When somebody sets the machine's clock: the router's follows, and all its work with it."""

from collections.abc import Callable
from typing import Any

from router.clock import SteadyClock
from router.errors import StoreUnavailable
from router.log import Log
from router.model.settings import DAY_MS
from router.store.protocol import Store
from router.store.sqlite.clock_step import FACT

INTERVAL_S = 1.0
SLEWED_MS = 2_000
"""Further off than this the clock was set; less is drift, or a time server at work."""
NOISE_MS = 5
"""Nothing to run after: the clock must not go to and fro."""
NOTE_S = 60.0
"""How often the time is noted, for the next start."""
BACK_MS = 60_000
"""A start so much before the time last seen: the clock went back while nobody looked."""
HOLD_S = 3_600.0
"""How long nothing is removed after the clock was set on by more than a day: it may be wrong."""


class Stepping:
    """
    Lets the steady clock follow the machine's. Small differences it takes over in passing. After a
    step the jobs in the store move first, then at once the clock and all that is remembered of
    due times: `moves` are told by how many milliseconds. So nobody waits longer or shorter for it.

    `stepped` hears of each step. `holds` tells whether nothing may be removed for now.
    """

    def __init__(
        self,
        *,
        clock: SteadyClock,
        store: Store,
        boot: str,
        moves: tuple[Callable[[int], None], ...],
        log: Log,
        stepped: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._store = store
        self._boot = boot
        self._moves = moves
        self._log = log
        self._stepped = stepped
        self._total = 0
        self._note_at = self._hold_until = clock.monotonic()

    def holds(self) -> bool:
        """Whether the clock was set far on a moment ago, so that ages cannot be trusted."""
        return self._clock.monotonic() < self._hold_until

    async def begin(self) -> None:
        """
        Before anything is due: did the clock go back while the router was down?

        Raises:
            StoreUnavailable: nothing is known.
        """
        now, seen = self._clock.now(), _seen((await self._store.recall(FACT)).get(FACT))
        if seen is not None and now < seen - BACK_MS:
            total = now - seen
            moved = await self._store.shift(total, boot=self._boot, now=now)
            self._total = total
            self._tell("the clock went back while the router was down", total, moved)
        else:
            await self._note()

    async def run(self) -> None:
        """Look for ever; what the store cannot take now is tried again at the next turn."""
        while True:
            await self._clock.sleep(INTERVAL_S)
            try:
                await self.step()
            except StoreUnavailable as error:
                self._log.error("the clock could not be followed", error=str(error))

    async def step(self) -> None:
        """
        Look once.

        Raises:
            StoreUnavailable: all is as it was.
        """
        ms = self._clock.offset()
        if abs(ms) > SLEWED_MS:
            await self._follow(ms)
        elif abs(ms) > NOISE_MS:
            self._clock.adopt(ms)
        if self._clock.monotonic() - self._note_at >= NOTE_S:
            await self._note()

    async def close(self) -> None:
        """Note the time, for the next start."""
        try:
            await self._note()
        except StoreUnavailable as error:
            self._log.error("the time could not be noted", error=str(error))

    async def _follow(self, ms: int) -> None:
        if ms > DAY_MS:  # before anybody looks at ages by the new clock
            self._hold_until = self._clock.monotonic() + HOLD_S
        total = self._total + ms
        moved = await self._store.shift(total, boot=self._boot, now=self._clock.now() + ms)
        # No wait from here on: nobody may see one clock and work that goes by the other.
        self._clock.adopt(ms)
        for move in self._moves:
            move(ms)
        self._total, self._note_at = total, self._clock.monotonic()
        self._tell("the clock was set", ms, moved)

    def _tell(self, what: str, ms: int, moved: int) -> None:
        self._stepped()
        self._log.warning(what, seconds=round(ms / 1000, 1), jobs=moved)

    async def _note(self) -> None:
        self._note_at = self._clock.monotonic()
        await self._store.shift(self._total, boot=self._boot, now=self._clock.now())


def _seen(fact: Any) -> int | None:
    """The time last seen."""
    at = fact.get("at") if isinstance(fact, dict) else None
    return at if isinstance(at, int) else None
