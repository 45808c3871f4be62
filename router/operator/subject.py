"""What is about one person: of each delivery the events that a condition names, and all of them."""

from collections.abc import Sequence

import msgspec

from router.expressions import NotJson, decode_json
from router.model.delivery import Delivery
from router.model.job import Job
from router.model.settings import OWN
from router.operator.conditions import Evaluator, FoundPage, PageAsked, Pages, Stop, fitting
from router.operator.known_names import check_names
from router.operator.requests import By
from router.operator.where import condition_of, indexes
from router.rules.ruleset import Ruleset
from router.store.reads import StoreReads
from router.store.values import Selector, Stored

_TELLING = "own:"
"""So begins the place of a page of the router's own events that tell of what is selected."""


class SubjectData(msgspec.Struct, frozen=True):
    """
    A delivery with what of it is selected: `events`, by index, of all in its body, also of those
    that an earlier delivery has brought; `jobs`, with others too if they are for a whole batch.
    `whole`: that is all of it. `shared`: it is the router's own word about others' jobs as well.
    """

    stored: Stored
    events: frozenset[int]
    whole: bool
    jobs: tuple[Job, ...]
    shared: bool = False


class SubjectSearch:
    """
    One selection over the whole history, a page at a time, and what the router itself has told of
    it: a `job.dead` quotes what a target said. `where` counts what could not be evaluated; an
    `evaluator` evaluates it if there is one.

    Raises: as `condition_of`; each page as `Pages`.
    """

    def __init__(
        self,
        store: StoreReads,
        selector: Selector,
        ruleset: Ruleset,
        by: By,
        *,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._store = store
        self._ruleset = ruleset
        self._asked = selector
        self.where = where = condition_of(selector, ruleset, by)
        self._pages = Pages(evaluator, where, ruleset, by) if evaluator and where else None
        self._selector = msgspec.structs.replace(selector, where=None, var=None, limit=None)
        self._telling = Selector(endpoint=OWN, since=selector.since)

    async def check(self) -> None:
        """Raises UsageError: the selector names what nobody knows."""
        await check_names(self._asked, self._ruleset, self._store)

    async def after(self, reached: str | None) -> FoundPage[SubjectData]:
        """
        The next page, oldest first. What the router has told comes before all else: by what it
        tells of it is found, while that is there.
        """
        if self._pages is None:
            return await self.here(reached)
        return await self._pages.page(
            PageAsked(self._asked, reached, subject=True), FoundPage[SubjectData]
        )

    async def here(self, reached: str | None, stop: Stop | None = None) -> FoundPage[SubjectData]:
        """The same, evaluated in this process."""
        telling = reached is None or reached.startswith(_TELLING)
        after = (reached or "").removeprefix(_TELLING) or None
        selector = self._telling if telling else self._selector
        page = await self._store.page(selector, jobs=False, after=after, whole=True)
        found = await fitting(page, self._told if telling else self._meant, stop)
        if not telling:
            return found
        following = f"{_TELLING}{found.reached}" if found.reached else ""
        return msgspec.structs.replace(found, reached=following)

    async def _meant(self, stored: Stored) -> SubjectData | None:
        """What of a delivery fits, unless it is told already."""
        data = await self._data(stored)
        return None if data is None or await self._tells(stored) else data

    async def _data(self, stored: Stored) -> SubjectData | None:
        """What of a delivery fits the condition; None: nothing does."""
        fitting, count = set(range(stored.delivery.event_count)), stored.delivery.event_count
        if self.where is not None:
            fitting, count = self.where.fitting(stored.delivery)
        if (name := self._selector.event) is not None:
            fitting &= {entry.index for entry in stored.events if entry.name == name}
        if not fitting or len(fitting) == count:
            return _whole(stored) if fitting else None
        jobs = tuple([job for job in stored.history if fitting & indexes(job)])
        return SubjectData(stored, frozenset(fitting), whole=False, jobs=jobs)

    async def told(self) -> list[SubjectData]:
        """Everything that the router itself has told of it."""
        found: list[SubjectData] = []
        reached = _TELLING
        while reached:
            page = await self.after(reached)
            found += page.found
            reached = page.reached or ""
        return found

    async def _told(self, stored: Stored) -> SubjectData | None:
        """The router's own event, if it tells of what is selected."""
        if not await self._tells(stored):
            return None
        shared = self.where is not None and len(await self._named(stored.delivery)) > 1
        return msgspec.structs.replace(_whole(stored), shared=shared)

    async def _tells(self, stored: Stored) -> bool:
        """Whether it is the router's own event about a delivery that is selected."""
        if stored.delivery.endpoint != OWN:
            return False
        for delivery in await self._named(stored.delivery):
            if self._selector.ids and delivery not in self._selector.ids:
                continue
            one = msgspec.structs.replace(self._selector, ids=(delivery,))
            for parent in (await self._store.page(one, jobs=False)).found:
                if await self._data(parent) is not None:
                    return True
        return False

    async def _named(self, own: Delivery) -> Sequence[str]:
        """The deliveries whose jobs one of the router's own events tells of."""
        try:
            payload = decode_json(own.body)
        except NotJson:
            return ()
        if isinstance(payload.get("delivery"), str):
            return (payload["delivery"],)
        jobs = [await self._store.job(one["job"]) for one in payload.get("by_rule", ())]
        return tuple({job.delivery: None for job in jobs if job is not None})


def _whole(stored: Stored) -> SubjectData:
    events = frozenset(range(stored.delivery.event_count))
    return SubjectData(stored, events, whole=True, jobs=stored.history)
