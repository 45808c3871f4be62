"""Upkeep: retention in small steps, the size cap, jobs of paused rules, silent endpoints."""

from collections.abc import Callable

from router.clock import Clock
from router.dispatch import Dispatcher
from router.errors import StoreUnavailable
from router.log import Log
from router.model.settings import DAY_MS
from router.operator.retention import retain
from router.rules.live import LiveRef
from router.serving.quiet_endpoints import QuietEndpoints
from router.store.protocol import OperatorStore
from router.store.values import CLAIM_MS, Claimed, alone

INTERVAL_S = 10.0
AUDIT_MS = 400 * DAY_MS
"""How long lines of the audit are kept: a year and a little."""
TRIM_AT = 0.90
JOURNAL_MOST = 128 * 1024 * 1024
"""Bytes from which the journal is longer than the busiest hour makes it."""


class Upkeep:
    """
    Keeps the store within `server.retention`; `full`: it is nearly so, deliveries are refused.
    `size` is how many bytes it has, None: nobody has looked yet. Ages go by ledger time; while the
    clock is doubtful nothing is removed. What is `claimed` here no other node does.
    """

    def __init__(
        self,
        *,
        store: OperatorStore,
        live: LiveRef,
        dispatch: Dispatcher,
        clock: Clock,
        log: Log,
        quiet: QuietEndpoints | None = None,
        journal_bytes: Callable[[], int] = int,
        claimed: Claimed = alone,
    ) -> None:
        self._claimed = claimed
        self._journal_bytes = journal_bytes
        self._journal_long = False
        self.full = False
        self.size: int | None = None
        self._quiet = quiet
        self._dispatch = dispatch
        self._store = store
        self._live = live
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Step for ever; a store that cannot answer now is called again at the next turn."""
        while True:
            await self._clock.sleep(INTERVAL_S)
            try:
                await self.step()
                if self._quiet is not None:
                    await self._quiet.step()
            except StoreUnavailable as error:
                self._log.error("upkeep could not run", error=str(error))

    async def step(self) -> int:
        """One turn: measure, refuse or accept again, remove what is due; returns removals."""
        generation = self._live.current.ruleset.generation
        if await self._claimed(f"hold/{generation}", CLAIM_MS):  # each does nothing but by its own
            await self.hold()
        self._watch_journal()
        self.size = size = await self._store.reads.size()
        full = size >= self._live.current.ruleset.server.retention.refuse_at
        if full != self.full:
            self.full = full
            say = self._log.error if full else self._log.info
            say("store nearly full: refusing" if full else "store has room again", bytes=size)
        if self._clock.doubted() or not await self._claimed("prune", CLAIM_MS):
            return 0
        now, ruleset = self._clock.ledger(), self._live.current.ruleset
        trims = size >= TRIM_AT * ruleset.server.retention.max_size
        early = now - DAY_MS if trims else None
        due = retain(ruleset, now, finished_before=early, audit_before=now - AUDIT_MS)
        removed = await self._store.prune(due, now=now)
        if removed.deliveries:
            self._log.info("pruned", deliveries=removed.deliveries, keys=removed.keys)
        return removed.deliveries

    def _watch_journal(self) -> None:
        """Nobody can empty a journal that somebody reads: say who can end that."""
        size, was_long = self._journal_bytes(), self._journal_long
        self._journal_long = size > JOURNAL_MOST
        if self._journal_long and not was_long:
            why = "some program has been reading the store for long; it fills the disk"
            self._log.warning("the journal grows", bytes=size, why=why)
        elif was_long and not self._journal_long:
            self._log.info("the journal is short again", bytes=size)

    async def apply(self) -> None:
        """What a new generation says of open jobs: its concurrency groups, its paused rules."""
        live, now = self._live.current, self._clock.ledger()
        if await self._store.regroup(live.groups, generation=live.ruleset.generation, now=now):
            await self._wake()
        await self.hold()

    async def hold(self) -> None:
        """
        Make jobs of paused rules and targets wait, also those whose attempt failed since; free the
        rest.
        """
        live, now = self._live.current, self._clock.ledger()
        if await self._store.hold(live.paused, generation=live.ruleset.generation, now=now):
            await self._wake()

    async def _wake(self) -> None:
        for target, due_at in (await self._store.reads.targets()).items():
            self._dispatch.wake(target, due_at)
