"""What is about one person: of each delivery what a condition names, found and handed over."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from router.expressions import NotJson, decode_json, is_json
from router.model.delivery import Delivery
from router.model.job import Attempt, Job
from router.model.packed import plain_body
from router.model.settings import OWN
from router.operator.conditions import Evaluator, FoundPage, PageAsked, Pages, Stop, fitting
from router.operator.known_names import check_names
from router.operator.requests import By
from router.operator.times import dates
from router.operator.where import condition_of, indexes
from router.rules.ruleset import Ruleset
from router.rules.scope import shown_path
from router.store.reads import StoreReads
from router.store.values import DeliveryRecord, Selector, Stored

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


_JOB = (
    "id", "event_index", "covers", "rule", "action", "kind", "target", "state", "created_at",
    "ended_at", "reason", "replay_of",
)  # fmt: skip
_DELIVERY = ("id", "endpoint", "received_at", "state", "method")


def exported(data: SubjectData, record: DeliveryRecord, ruleset: Ruleset) -> dict[str, Any]:
    """
    What of a delivery is meant. The body stands there where its events do not say the same; of a
    job that is for other events too, what came of it is left out: it is of others as well.
    """
    d = record.delivery
    events = _events(data, record, ruleset)
    found = {name: getattr(d, name) for name in _DELIVERY} | {
        "provider": ruleset.provider_name(d.endpoint, d.provider),
        "path": shown_path(d.path),
        "query": d.query,
        "headers": d.headers,
        "peer": d.peer,
        "copies": record.duplicates,
        "last_seen_at": record.last_seen_at,
        "flags": d.flags,
        "whole": data.whole,
        "event_count": d.event_count,
        "events": events,
        "jobs": [_job(job, record, data) for job in record.jobs if indexes(job) & data.events],
    }
    if d.redacted is not None:
        found["redacted"] = dates(msgspec.to_builtins(d.redacted))
    body = plain_body(d)
    if data.whole and not (events and is_json(body)):
        found |= body_json(body)
    return dates(found)


def body_json(body: bytes) -> dict[str, str]:
    """The body as text, or in base64 if it is none."""
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def _events(data: SubjectData, record: DeliveryRecord, ruleset: Ruleset) -> list[dict[str, Any]]:
    """Those that are meant, read again; none where that cannot be done."""
    provider = ruleset.providers.get(record.delivery.provider)
    if provider is None:
        return []
    ids = {entry.index: entry.id for entry in record.events}
    read = provider.read_stored(record.delivery).events
    return [
        {"index": e.index, "id": ids.get(e.index), "name": e.name, "action": e.action,
         "payload": e.payload}
        for one in read
        if one.index in data.events
        for e in [one.event()]
    ]  # fmt: skip


def _job(job: Job, record: DeliveryRecord, data: SubjectData) -> dict[str, Any]:
    found = dates({name: getattr(job, name) for name in _JOB})
    if not data.whole and not indexes(job) <= data.events:
        return found | {"reason": None, "attempts": None}
    attempts = [_attempt(attempt) for attempt in record.attempts if attempt.job == job.id]
    return found | {"attempts": attempts}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    found = msgspec.structs.asdict(attempt)
    result = {n: v for n, v in found.pop("result").items() if n != "json"}  # `text` says the same
    return dates({n: v for n, v in found.items() if n != "job"} | {"result": result})
