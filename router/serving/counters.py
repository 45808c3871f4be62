"""What was counted in memory, written into the store: now and then, and at the end."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from operator import sub
from typing import Generic, TypeVar

from router.clock import Clock
from router.errors import StoreUnavailable
from router.log import Log
from router.metrics import ActivityKey, ActivityTotals, RuleTotals
from router.model.activity import EVER, MINUTE_S, QUARTER_S, ActivityCount
from router.refusals import PROBE
from router.store.protocol import OperatorStore
from router.store.values import RuleCount

INTERVAL_S = 10.0
LOOK_S = 1.0
NAMES_MAX = 200
"""Endpoints, and targets, of which activity is counted in a quarter of an hour, each by itself."""
OTHERS = "(others)"
"""The name of all those beyond."""

_NO_RULE = RuleTotals(0, 0, 0, 0)
_NOTHING = ActivityTotals(0)


STEP = 250
"""Totals to a transaction, so that accepting need not wait for ten thousand."""

K = TypeVar("K")
T = TypeVar("T")
R = TypeVar("R")


class Differences(Generic[K, T, R]):
    """
    Writes what changed since it was written. `records` makes of a key, its total as it was written
    last (None: never) and as it is now what `write` gives to the store.

    A crash loses what came since; a store that could not say whether it wrote may count that twice.
    Neither is worth a sync of its own.
    """

    def __init__(
        self,
        records: Callable[[K, T | None, T], Iterable[R]],
        write: Callable[[Sequence[R]], Awaitable[None]],
    ) -> None:
        self._records, self._store = records, write
        self._written: dict[K, T] = {}

    async def write(self, totals: Mapping[K, T]) -> None:
        """Write, a step at a time. Raises StoreUnavailable: what is left goes with the next."""
        news = [(key, total) for key, total in totals.items() if total != self._written.get(key)]
        for start in range(0, len(news), STEP):
            step = dict(news[start : start + STEP])
            before = {key: self._written.get(key) for key in step}
            records = [r for key, now in step.items() for r in self._records(key, before[key], now)]
            # Before the wait: the store writes them even if this task ends.
            self._written |= step
            try:
                if records:
                    await self._store(records)
            except StoreUnavailable:
                for key, old in before.items():
                    if old is None:
                        del self._written[key]
                    else:
                        self._written[key] = old
                raise


class CounterWriter:
    """
    Writes what rules did and what happened by spans of time. Of a new rule it writes that it is
    counted now; of the store, once in a quarter of an hour, its `size` (None: not known yet).
    """

    def __init__(
        self,
        rule_totals: Callable[[], Mapping[str, RuleTotals]],
        rules: Callable[[], Iterable[str]],
        activity: Callable[[], Mapping[ActivityKey, ActivityTotals]],
        *,
        size: Callable[[], int | None],
        store: OperatorStore,
        clock: Clock,
        log: Log,
    ) -> None:
        self._rule_totals, self._rules, self._activity = rule_totals, rules, activity
        self._size, self._store, self._clock, self._log = size, store, clock, log
        self._known: frozenset[str] | None = None
        self._of_rules = Differences(self._rule_count, store.count_rules)
        self._of_activity = Differences(self._activity_counts, store.count_activity)
        self._names = _Names(clock)
        self._sized_at = 0
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
                    self._known = frozenset(await self._store.reads.rule_counts())
                new = dict.fromkeys(set(self._rules()) - self._known, _NO_RULE)
                await self._of_rules.write({**new, **self._rule_totals()})
                await self._of_activity.write(self._activity())
                await self._write_size()
            except StoreUnavailable as error:
                self._log.error("counts could not be written", error=str(error))

    async def flush_soon(self) -> None:
        """The same for whoever is about to look; a store that hangs does not keep them long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self.flush()

    def _rule_count(
        self, rule: str, before: RuleTotals | None, total: RuleTotals
    ) -> Iterator[RuleCount]:
        evaluated, matched, erred, shadowed = map(sub, total[:4], (before or _NO_RULE)[:4])
        now, last = self._clock.now(), total.last_matched_at
        yield RuleCount(rule, evaluated, matched, erred, shadowed, now, last)

    def _activity_counts(
        self, key: ActivityKey, before: ActivityTotals | None, total: ActivityTotals
    ) -> Iterator[ActivityCount]:
        kind, name, detail = key
        count, took = map(sub, total[:2], (before or _NOTHING)[:2])
        if not count or detail == PROBE:
            return
        name, now = self._names.counted(kind, name), self._clock.now()
        for span_s in (MINUTE_S, QUARTER_S):
            at = _begun(span_s, now)
            yield ActivityCount(span_s, at, kind, name, detail, count, took, total.longest_ms)
        if kind == "delivery":
            yield ActivityCount(EVER, 0, kind, name, "", count, most=now)

    async def _write_size(self) -> None:
        at, size = _begun(QUARTER_S, self._clock.now()), self._size()
        if size is not None and at != self._sized_at:
            await self._store.count_activity(
                [ActivityCount(QUARTER_S, at, "store", "", "", 1, most=size)]
            )
            self._sized_at = at


class _Names:
    """Those of each kind that are counted by themselves in this quarter of an hour."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._quarter = clock, 0
        self._seen = defaultdict[str, set[str]](set)

    def counted(self, kind: str, name: str) -> str:
        """The name, or that of all others."""
        quarter = _begun(QUARTER_S, self._clock.now())
        if quarter != self._quarter:
            self._quarter = quarter
            self._seen.clear()
        seen = self._seen[kind]
        if name not in seen and len(seen) >= NAMES_MAX:
            return OTHERS
        seen.add(name)
        return name


def _begun(span_s: int, now: int) -> int:
    return now - now % (span_s * 1000)
