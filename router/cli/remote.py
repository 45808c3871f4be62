"""The records of a router elsewhere, by its admin API."""

from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from router.cli.admin import AdminClient, MayNotSee
from router.cli.output import note
from router.cli.records import causes_of, with_job_alone
from router.errors import NotFound
from router.model.delivery import Delivery, DeliverySummary
from router.model.job import Job
from router.model.operations import Audit, Cause
from router.operator.replay_request import said
from router.store.values import DeliveryRecord, EventEntry, Generation, Selector
from router.web.admin import answers
from router.web.admin.asking import LIMIT_DEFAULT, LIMIT_MAX

_JOBS_MAX = 10_000
"""Dead jobs that a condition holds for: more are not fetched to be counted."""


class _Page(Protocol):
    @property
    def next(self) -> str | None: ...


P = TypeVar("P", bound=_Page)


class ServerRecords:
    """What the server behind a door tells of its own store."""

    def __init__(self, door: AdminClient) -> None:
        self._door = door

    def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        """With how often each came."""
        pages = self._pages("/api/deliveries", _query(selector), selector.limit, answers.Deliveries)
        _say_cut(any(page.cut for page in pages))
        return tuple(one for page in pages for one in page.deliveries)

    def jobs(self, selector: Selector) -> tuple[Job, ...]:
        """Jobs, each whole."""
        pages = self._pages("/api/jobs", _query(selector), selector.limit, answers.Jobs)
        _say_cut(any(page.cut for page in pages))
        return tuple(job for page in pages for job in page.jobs)

    def causes(self, selector: Selector) -> tuple[Cause, ...]:
        """As the server counts them; with a condition, as we do."""
        if selector.where is not None:
            limit = selector.limit or _JOBS_MAX
            return causes_of(self.jobs(msgspec.structs.replace(selector, limit=limit)))
        query = _query(msgspec.structs.replace(selector, state=None))
        limit = min(selector.limit or LIMIT_MAX, LIMIT_MAX)
        found = self._door.read("/api/dead", {**query, "limit": limit}, answers.Dead).causes
        if len(found) == LIMIT_MAX:
            note(f"a server tells the latest {LIMIT_MAX} causes; --rule, --since … tell of others")
        return found

    def record(self, identity: str) -> DeliveryRecord:
        """Without payloads, where the token may not see them. Raises NotFound."""
        if identity.startswith("job_"):
            return self._of_job(identity)
        if identity.startswith("dlv_"):
            return self._of_delivery(identity)
        try:
            return self._of_delivery(identity)
        except NotFound as error:
            if not _is_absent(error):
                raise
            try:
                return self._of_job(identity)
            except NotFound as other:
                raise (error if _is_absent(other) else other) from None

    def generation(self, identity: str) -> Generation | None:
        """One that was kept."""
        try:
            found = self._door.read(
                f"/api/generations/{quote(identity, safe='')}", {}, answers.GenerationText
            )
        except NotFound:
            return None
        return Generation(found.id, found.text, found.context, found.created_at)

    def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        """Who changed what."""
        query = {n: t for n, t in (("since", since), ("until", until)) if t is not None}
        pages = self._pages("/api/audit", query, limit, answers.AuditLines)
        return tuple(line for page in pages for line in page.audit)

    def rules(self) -> tuple[answers.ToldRule, ...]:
        """Those in force there."""
        return self._door.read("/api/rules", {}, answers.RuleList).rules

    def _pages(self, path: str, query: dict[str, Any], limit: int | None, kind: type[P]) -> list[P]:
        left = LIMIT_DEFAULT if limit is None else limit
        pages: list[P] = []
        cursor: dict[str, str] = {}
        while True:
            at_once = {"limit": min(left, LIMIT_MAX)}
            page = self._door.read(path, query | at_once | cursor, kind)
            pages.append(page)
            left -= LIMIT_MAX
            if page.next is None or left <= 0:
                return pages
            cursor = {"cursor": page.next}

    def _of_delivery(self, identity: str) -> DeliveryRecord:
        found = self._door.read(
            f"/api/deliveries/{quote(identity, safe='')}", {}, answers.OneDelivery
        )
        try:
            body = self._door.body(found.id)
        except MayNotSee as error:
            note(str(error))
            body = answers.HIDDEN.encode()
        return _as_record(found, body)

    def _of_job(self, identity: str) -> DeliveryRecord:
        job = self._door.read(f"/api/jobs/{quote(identity, safe='')}", {}, answers.OneJob).job
        return with_job_alone(self._of_delivery(job.delivery), job)


def _is_absent(error: NotFound) -> bool:
    """Whether the server has nothing of that id; else it fits several things, or is too short."""
    return str(error).startswith("no ")


def _query(selector: Selector) -> dict[str, Any]:
    """The selector as query parameters."""
    query = said(selector)
    query.pop("limit", None)
    if selector.ids:
        query["id"] = ",".join(query.pop("ids"))
    return query


def _as_record(found: answers.OneDelivery, body: bytes) -> DeliveryRecord:
    told = msgspec.structs.asdict(found)
    kept = {name: told[name] for name in Delivery.__struct_fields__ if name in told}
    return DeliveryRecord(
        delivery=Delivery(**kept, body=body),
        events=tuple(EventEntry(e.index, e.id, e.name, action=e.action) for e in found.events),
        duplicates=found.duplicates,
        last_seen_at=found.last_seen_at,
        jobs=found.jobs,
        attempts=found.attempts,
    )


def _say_cut(cut: bool) -> None:
    if cut:
        note("the server looked at the newest deliveries only; --until goes further back")
