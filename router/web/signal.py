"""
The signal: it tells its listeners that something changed, and nothing else.

A listener then asks for what it shows. Changes within PAUSE_S are one signal. For a listener that
does not read, the router keeps one flag.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable
from router.web.fair_share import oldest_of_largest

HEARTBEAT_S = 15.0
PAUSE_S = 0.1
LISTENERS_MAX = 256
AT_ONCE = 2
"""Listeners woken in one turn of the loop: no delivery waits for all of them."""


class SignalFull(StoreUnavailable):
    """As many listen as may."""

    def __init__(self) -> None:
        super().__init__("too many listen to the signal; try again later")


class SignalListener(msgspec.Struct, eq=False):
    """One listener. `changed`: something changed since it was last told."""

    changed: bool = False
    gone: bool = False
    woken: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def leave(self) -> None:
        """Nothing more is sent."""
        self.gone = True
        self.woken.set()


class Signal:
    """Belongs to one event loop. A change costs one call, however many listen."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listeners: dict[SignalListener, str] = {}
        self._fresh = asyncio.Event()
        self._ended = False
        self.heard = asyncio.Event()
        """Set while somebody listens."""

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    def full(self, caller: str) -> bool:
        """Whether this caller cannot listen now: all places are taken, and none has more."""
        taken, shares = len(self._listeners), Counter(self._listeners.values())
        none_has_more = taken > 0 and shares[caller] >= max(shares.values())
        return self._ended or (taken >= LISTENERS_MAX and none_has_more)

    def changed(self) -> None:
        """Something happened that a list or a page may show."""
        if self._listeners:
            self._fresh.set()

    @contextmanager
    def listening(self, caller: str) -> Iterator[SignalListener]:
        """
        A listener, from now on. Where all places are taken, the caller that has the most gives one.

        Raises:
            SignalFull: that is this caller.
        """
        if self.full(caller):
            raise SignalFull
        if len(self._listeners) >= LISTENERS_MAX:
            oldest = oldest_of_largest(self._listeners)
            del self._listeners[oldest]
            oldest.leave()
        listener = SignalListener()
        self._listeners[listener] = caller
        self.heard.set()
        try:
            yield listener
        finally:
            self._listeners.pop(listener, None)
            if not self._listeners:
                self.heard.clear()

    async def run(self) -> None:
        """Tell the listeners of changes, at most every PAUSE_S."""
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            await self._wake(changed=True)
            await self._clock.sleep(PAUSE_S)

    async def beat(self) -> None:
        """Send every listener a heartbeat."""
        while True:
            await self._clock.sleep(HEARTBEAT_S)
            await self._wake(changed=False)

    async def _wake(self, *, changed: bool) -> None:
        for number, listener in enumerate(tuple(self._listeners), 1):
            listener.changed |= changed
            listener.woken.set()
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def end(self) -> None:
        """The router goes down: let every listener go."""
        self._ended = True
        for listener in self._listeners:
            listener.leave()
