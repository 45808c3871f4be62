"""
How wrong tokens are slowed, in little memory and work whatever an address does.

Only who has given a wrong token comes here: a right one is never kept waiting, for an address may
be shared with whoever guesses.
"""

import asyncio
import math
from collections import OrderedDict

import msgspec

from router.clock import Clock
from router.model.addresses import neighbourhood

ALLOWED = 10
WINDOW_S = 60.0
PAUSE_S = 1.0
"""How long the answer to a further wrong token is held back."""
HELD_MAX = 100
"""So many answers are held back at one time; past that they go at once."""
KEPT = 1_000


class _Window(msgspec.Struct):
    ends_at: float
    tried: set[str] = set()


class TokenThrottle:
    """
    Wrong tokens of the last minute, by address (of IPv6: by /64).

    The same wrong token again is no further guess: a scraper with an old token slows nobody.
    Past KEPT addresses at once the rest share one window.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._others = _Window(0.0)
        self._held = asyncio.Semaphore(HELD_MAX)

    async def pause(self) -> None:
        """Hold back one answer."""
        if self._held.locked():
            return
        async with self._held:
            await self._clock.sleep(PAUSE_S)

    def wait_s(self, peer: str) -> int:
        """Seconds until this address's wrong tokens are answered at once again; 0: now."""
        window = self._windows.get(neighbourhood(peer)) or self._others
        left = window.ends_at - self._clock.monotonic()
        return math.ceil(left) if left > 0 and len(window.tried) >= ALLOWED else 0

    def wrong(self, peer: str, digest: str) -> bool:
        """This address gave a token that is none; `digest` stands for it. True: a further one."""
        now = self._clock.monotonic()
        while self._windows and next(iter(self._windows.values())).ends_at <= now:
            self._windows.popitem(last=False)
        tried = self._window(neighbourhood(peer), now).tried
        fresh = digest not in tried
        tried.add(digest)
        return fresh

    def _window(self, name: str, now: float) -> _Window:
        if (known := self._windows.get(name)) is not None and known.ends_at > now:
            return known
        if known is None and len(self._windows) >= KEPT:
            if self._others.ends_at <= now:
                self._others = _Window(now + WINDOW_S)
            return self._others
        self._windows.pop(name, None)
        fresh = self._windows[name] = _Window(now + WINDOW_S)
        return fresh
