"""Looking for stored deliveries and jobs: a page at a time, each held against a condition."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from router.operator.originals import meant
from router.operator.requests import By
from router.operator.where import condition_of
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.store.values import Page, Selector, Stored

LOOKED_AT = 100_000
"""Deliveries that a listing holds against a condition before it stops."""


class Search:
    """
    One selection, its `--where` included. `bounded`: the newest LOOKED_AT are enough; `cut` says
    whether that left any out. `originals`: with histories, and of jobs those that `meant` leaves.

    Raises: as `condition_of`.
    """

    def __init__(
        self,
        store: StoreReads,
        selector: Selector,
        ruleset: Ruleset,
        by: By,
        *,
        jobs: bool,
        bounded: bool = False,
        originals: bool = False,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._bounded = bounded
        self._originals = originals
        self._limit = selector.limit
        self.selector = msgspec.structs.replace(selector, where=None, var=None, limit=None)
        self.where = condition_of(selector, ruleset, by)
        self.cut = False

    async def newest(self) -> AsyncIterator[Stored]:
        """What fits, newest first, up to the limit; of jobs one at a time."""
        found = looked = 0
        after: str | None = None
        while found != self._limit:
            page = await self._page(after, newest=True)
            for stored in page.found:
                if (left := await self.held(stored)) is not None:
                    found += 1
                    yield left
                if found == self._limit:
                    return
            looked += len(page.found)
            if (after := page.reached) is None:
                return
            if self._bounded and self.where is not None and looked >= LOOKED_AT:
                self.cut = True
                return

    async def after(self, reached: str | None) -> Page:
        """The next page, oldest first, as it is stored: see `held`."""
        return await self._page(reached, newest=False)

    async def _page(self, after: str | None, *, newest: bool) -> Page:
        return await self._store.page(
            self.selector, jobs=self._jobs, newest=newest, after=after, whole=self._originals
        )

    async def held(self, stored: Stored) -> Stored | None:
        """What is meant of it; others have their turn before it is read for a condition."""
        left = meant(stored, self.selector) if self._jobs and self._originals else stored
        if left is None or self.where is None:
            return left
        await asyncio.sleep(0)
        return self.where.holds(left)
