"""Looking for stored deliveries and jobs: a page at a time, each held against a condition."""

from collections.abc import AsyncIterator

import msgspec

from router.operator.conditions import Evaluator, FoundPage, PageAsked, Pages, Stop, fitting
from router.operator.originals import meant
from router.operator.requests import By
from router.operator.where import condition_of
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.store.values import Selector, Stored


class Search:
    """
    One selection, its `--where` included, which an `evaluator` evaluates if there is one.
    `originals`: with histories, and of jobs those that `meant` leaves.

    Raises: as `condition_of`; each page as `Pages`.
    """

    def __init__(
        self,
        store: StoreReads,
        selector: Selector,
        ruleset: Ruleset,
        by: By,
        *,
        jobs: bool,
        originals: bool = False,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._originals = originals
        self._limit = selector.limit
        self._asked = msgspec.structs.replace(selector, limit=None)
        self.selector = msgspec.structs.replace(self._asked, where=None, var=None)
        self.where = where = condition_of(selector, ruleset, by)
        self._pages = Pages(evaluator, where, ruleset, by) if evaluator and where else None

    async def newest(self) -> AsyncIterator[Stored]:
        """
        What fits, newest first, up to the limit; of jobs one at a time. From an evaluator it comes
        without bodies and histories.
        """
        left = self._limit
        after: str | None = None
        while left != 0:
            page = await self._page(after, left, newest=True)
            for stored in page.found:
                yield stored
            left = None if left is None else left - len(page.found)
            if (after := page.reached) is None:
                return

    async def after(self, reached: str | None, most: int) -> FoundPage[Stored]:
        """What fits in the next page, oldest first: so many at most."""
        return await self._page(reached, most, newest=False)

    async def _page(
        self, after: str | None, most: int | None, *, newest: bool
    ) -> FoundPage[Stored]:
        if self._pages is None:
            return await self.here(after, most, newest=newest)
        ways = {"jobs": self._jobs, "originals": self._originals, "newest": newest}
        asked = PageAsked(self._asked, after, most=most, **ways)
        return await self._pages.page(asked, FoundPage[Stored])

    async def here(
        self, after: str | None, most: int | None, *, newest: bool, stop: Stop | None = None
    ) -> FoundPage[Stored]:
        """A page, evaluated in this process."""
        page = await self._store.page(
            self.selector, jobs=self._jobs, newest=newest, after=after, whole=self._originals
        )
        return await fitting(page, self._held, stop, most)

    async def _held(self, stored: Stored) -> Stored | None:
        """What is meant of it."""
        left = meant(stored, self.selector) if self._jobs and self._originals else stored
        if left is None or self.where is None:
            return left
        return self.where.holds(left)
