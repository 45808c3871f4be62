"""
The signal: it tells its listeners that something changed, and nothing else.

A listener then asks for what it shows. Changes within PAUSE_S are one signal. For a listener that
does not read, the router keeps one flag.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable

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
        self._listeners: set[SignalListener] = set()
        self._fresh = asyncio.Event()
        self._ended = False
        self.heard = asyncio.Event()
        """Set while somebody listens."""

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    @property
    def full(self) -> bool:
        """Whether nobody more can listen now."""
        return len(self._listeners) >= LISTENERS_MAX or self._ended

    def changed(self) -> None:
        """Something happened that a list or a page may show."""
        if self._listeners:
            self._fresh.set()

    @contextmanager
    def listening(self) -> Iterator[SignalListener]:
        """
        A listener, from now on.

        Raises:
            SignalFull: too many listen.
        """
        if self.full:
            raise SignalFull
        listener = SignalListener()
        self._listeners.add(listener)
        self.heard.set()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
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
