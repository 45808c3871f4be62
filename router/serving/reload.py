"""Reload: the rules file is read aside and swapped as one reference, or nothing changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from router.clock import Clock
from router.errors import ConfigError, RouterError, StoreUnavailable
from router.log import Log
from router.metrics import Metrics
from router.model.settings import Server
from router.rules.live import Live, LiveRef
from router.serving.verbs import ReloadState

POLL_S = 1.0
_NEEDS_RESTART = ("listen", "admin", "store")


class Steps(NamedTuple):
    """
    What a reload is made of.

    `fingerprint` tells cheaply whether files changed; `build` reads, checks and resolves the file
    (it may take seconds and runs in a thread); `keep` makes the new generation durable before it
    is in force; `after` applies to stored jobs what it says of them; `render` shows diagnostics.
    """

    fingerprint: Callable[[], str]
    build: Callable[[], Live]
    keep: Callable[[Live], Awaitable[None]]
    after: Callable[[], Awaitable[object]]
    render: Callable[[ConfigError], str]


class Reloader:
    """Swaps the live ruleset."""

    def __init__(
        self, steps: Steps, *, live: LiveRef, clock: Clock, log: Log, metrics: Metrics
    ) -> None:
        self._steps = steps
        self._live = live
        self._clock = clock
        self._log = log
        self._metrics = metrics
        self._turn = asyncio.Lock()
        self._seen = steps.fingerprint()
        self.state = ReloadState(at=clock.now())

    async def watch(self) -> None:
        """Poll the files every second, by content; reload when they differ."""
        while True:
            await self._clock.sleep(POLL_S)
            if await asyncio.to_thread(self._steps.fingerprint) != self._seen:
                await self.reload()

    async def reload(self) -> bool:
        """Read the file again; True when another generation is in force now. Never raises."""
        async with self._turn:
            self._seen = await asyncio.to_thread(self._steps.fingerprint)
            try:
                new = await asyncio.to_thread(self._steps.build)
                await self._steps.keep(new)
            except RouterError as error:
                self._failed(error)
                return False
            changed = self._swapped(new)
            try:
                await self._steps.after()
            except StoreUnavailable as error:  # upkeep does it again in a moment
                self._log.error("jobs of paused rules not yet held", error=str(error))
            return changed

    def _failed(self, error: RouterError) -> None:
        text = self._steps.render(error) if isinstance(error, ConfigError) else str(error)
        self.state.ok, self.state.at, self.state.error = False, self._clock.now(), text
        self._metrics.reload_failed()
        self._log.error(
            "reload failed, the old rules stay in force",
            generation=self._live.current.ruleset.generation,
            diagnostics=text,
        )

    def _swapped(self, new: Live) -> bool:
        old = self._live.current
        changed = old.ruleset.generation != new.ruleset.generation
        self._live.swap(new)
        self.state.ok, self.state.at, self.state.error = True, self._clock.now(), None
        self._metrics.reloaded(new.ruleset.generation)
        self._log.info(
            "reloaded",
            generation=new.ruleset.generation,
            changed=changed,
            added=sorted({r.id for r in new.ruleset.rules} - {r.id for r in old.ruleset.rules}),
            removed=sorted({r.id for r in old.ruleset.rules} - {r.id for r in new.ruleset.rules}),
            needs_restart=_restart_keys(old.ruleset.server, new.ruleset.server),
        )
        return changed


def _restart_keys(old: Server, new: Server) -> list[str]:
    """Settings that differ but only a restart applies."""
    return [key for key in _NEEDS_RESTART if getattr(old, key) != getattr(new, key)]
