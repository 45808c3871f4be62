"""What totals in memory have grown by, for whoever keeps them elsewhere."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from router.errors import StoreUnavailable

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
