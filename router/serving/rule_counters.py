"""What the rules did, from memory into the store: now and then, and at the end."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from operator import sub

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.metrics import RuleTotals
from router.store.protocol import OperatorStore
from router.store.values import RuleCount

INTERVAL_S = 10.0
LOOK_S = 1.0
STEP = 250
"""Rules to a transaction, so that accepting need not wait for ten thousand."""

_NONE = RuleTotals(0, 0, 0, 0)


class RuleCounterWriter:
    """
    Writes what has been counted since the last time, and of a new rule that it is counted now.

    A crash loses the last few seconds; a store that could not say whether it wrote may count them
    twice. Neither is worth a sync of its own.
    """

    def __init__(
        self,
        totals: Callable[[], Mapping[str, RuleTotals]],
        rules: Callable[[], Iterable[str]],
        *,
        store: OperatorStore,
        clock: Clock,
        log: Log,
    ) -> None:
        self._totals = totals
        self._rules = rules
        self._store = store
        self._clock = clock
        self._log = log
        self._known: set[str] | None = None
        self._written: dict[str, RuleTotals] = {}
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Write for ever; what a store cannot take now goes with the next."""
        while True:
            await self.flush()
            await self._clock.sleep(INTERVAL_S)

    async def flush(self) -> None:
        """Write what is new."""
        async with self._one_at_a_time:
            try:
                if self._known is None:
                    self._known = set(await self._store.reads.rule_counts())
                await self._write(self._news(self._known))
            except StoreUnavailable as error:
                self._log.error("rule counts could not be written", error=str(error))

    async def flush_soon(self) -> None:
        """The same for whoever is about to look; a store that hangs does not keep them long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self.flush()

    def _news(self, known: set[str]) -> list[tuple[RuleCount, RuleTotals]]:
        """What each rule did since it was written, and the totals that are then."""
        now, totals = self._clock.now(), self._totals()
        rules = dict.fromkeys((*totals, *(rule for rule in self._rules() if rule not in known)))
        news = []
        for rule in rules:
            total, before = totals.get(rule, _NONE), self._written.get(rule, _NONE)
            if total != before or rule not in known:
                evaluated, matched, erred, shadowed = map(sub, total[:4], before[:4])
                last = total.last_matched_at
                count = RuleCount(rule, evaluated, matched, erred, shadowed, now, last)
                news.append((count, total))
        return news

    async def _write(self, news: list[tuple[RuleCount, RuleTotals]]) -> None:
        for start in range(0, len(news), STEP):
            step = news[start : start + STEP]
            before = {count.rule: self._written.get(count.rule, _NONE) for count, _ in step}
            # Before the wait: the store writes them even if this task ends.
            self._written |= {count.rule: total for count, total in step}
            try:
                await self._store.count_rules([count for count, _ in step])
            except StoreUnavailable:
                self._written |= before
                raise
            if self._known is not None:
                self._known.update(before)
