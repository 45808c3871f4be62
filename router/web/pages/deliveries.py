"""Pages of deliveries: as they come, as a list, and each by itself."""

from typing import Any
from urllib.parse import urlencode

import msgspec

from router.errors import NotFound, UsageError
from router.model.delivery import Delivery
from router.store.values import DeliveryRecord
from router.web.admin.answers import HIDDEN, Deliveries
from router.web.admin.asking import (
    CURSOR,
    DELIVERY_STATES,
    LIMIT,
    SELECTOR,
    STATE,
    WHERE,
    Query,
    QueryParameter,
)
from router.web.admin.browsers import header
from router.web.admin.call import BYTES, Rejected, RouteAnswer, Stream
from router.web.admin.hiding import hidden_attempt, hidden_job
from router.web.feed import WITHOUT_BODIES, FeedFilter, FeedFull
from router.web.feed_stream import CONTENT_TYPE, opened
from router.web.pages import shown, traces
from router.web.pages.context import SELECTED, Desk, unquoted
from router.web.pages.curl import curl
from router.web.pages.visit import PageView, Visit, see_other

TRACED_BODY_MAX = 1_048_576
TRACED_RULES_MAX = 1_000
"""Beyond these a trace costs so much that it is made only when asked for."""

_LIST = (*SELECTOR, WHERE, STATE, LIMIT, CURSOR)
_ONE = (
    QueryParameter("event", "Trace the event of this index, counted from 0."),
    QueryParameter("body", "`all`: show more of the body."),
    QueryParameter("trace", "`yes`: trace it although that is much work."),
)


class DeliveryPages:
    """Handlers of these pages."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def views(self) -> list[PageView]:
        """Their rows of the table."""
        one = "/deliveries/{delivery}"
        return [
            PageView("GET", "/", "viewer", self._live),
            PageView("GET", "/live/rows", "viewer", self._rows),
            PageView("GET", "/live/feed", "viewer", self._feed),
            PageView("GET", "/deliveries", "viewer", self._list),
            PageView("GET", one, "viewer", self._one),
            PageView("GET", f"{one}/body", "viewer", self._body, payloads=True),
            PageView("POST", f"{one}/replay", "operator", self._replay),
        ]

    # -- as they come ------------------------------------------------------------------------------

    async def _live(self, visit: Visit) -> RouteAnswer:
        return self._desk.page("live.html", visit, found=await self._newest(visit))

    async def _rows(self, visit: Visit) -> RouteAnswer:
        return self._desk.page("rows.html", visit, found=await self._newest(visit))

    async def _newest(self, visit: Visit) -> Deliveries:
        query = self._desk.query(visit, LIMIT)
        return await self._desk.reading.deliveries(query.selector())

    async def _feed(self, visit: Visit) -> Stream:
        last = header(visit.headers, b"last-event-id")
        wanted = FeedFilter() if visit.bodies else FeedFilter(kinds=WITHOUT_BODIES)
        try:
            return Stream(CONTENT_TYPE, opened(self._desk.feed, wanted, last))
        except FeedFull:
            raise Rejected(503, "too many watch", (b"retry-after", b"5")) from None

    # -- as a list ---------------------------------------------------------------------------------

    async def _list(self, visit: Visit) -> RouteAnswer:
        """A wrong selector is told beside the form that has it."""
        error, found, asked = None, Deliveries(()), {}
        try:
            query = self._desk.query(visit, *_LIST)
            asked = {n: t for n in ("id", *SELECTED) if (t := query.text(n)) is not None}
            unquoted(visit, query)
            before = query.cursor("deliveries", str)
            found = await self._desk.reading.deliveries(query.selector(DELIVERY_STATES), before)
        except (UsageError, NotFound) as wrong:
            error = str(wrong)
        more = urlencode({**asked, "cursor": found.next}) if found.next else None
        return self._desk.page(
            "deliveries.html",
            visit,
            400 if error else 200,
            found=found,
            asked={name: asked.get(name, "") for name in ("id", *SELECTED)},
            error=error,
            cut=found.cut,
            states=DELIVERY_STATES,
            names=self._desk.names(),
            more=more,
            plan=urlencode({n: v for n, v in asked.items() if n != "id"}),
        )

    # -- one ---------------------------------------------------------------------------------------

    async def _one(self, visit: Visit) -> RouteAnswer:
        query = self._desk.query(visit, *_ONE)
        record = await self._desk.reading.record(visit.place["delivery"])
        if not visit.bodies:
            record = _hidden(record)
        d = record.delivery
        return self._desk.page(
            "delivery.html",
            visit,
            record=record,
            d=d,
            body=shown.shown_body(d.body, whole=query.text("body") == "all"),
            headers=d.headers[: shown.HEADERS_SHOWN],
            verified=shown.verified(d),
            dedupe=shown.dedupe(record),
            events=record.events[: shown.EVENTS_SHOWN],
            jobs=shown.shown_jobs(record, bodies=visit.bodies),
            curl=curl(d, self._address(d)) if visit.bodies else None,
            name=self._desk.name(),
            **await self._trace(visit, query, record),
        )

    async def _trace(self, visit: Visit, query: Query, record: DeliveryRecord) -> dict[str, Any]:
        """What the rules said of one event of it."""
        number = query.number("event", _first(record), 1_000_000)
        told: dict[str, Any] = {"number": number, "trace": None, "copy": False}
        told |= {"untraced": None, "ask": False}
        d = record.delivery
        rules = len(self._desk.live.current.ruleset.rules)
        if not visit.bodies:
            return {**told, "untraced": "this token may not see payloads, which traces quote"}
        much = len(d.body) > TRACED_BODY_MAX or rules > TRACED_RULES_MAX
        if much and query.text("trace") != "yes":
            return {**told, "ask": True}
        try:
            found = await self._desk.reading.explain(d.id, number)
        except NotFound as error:
            return {**told, "untraced": str(error)}
        if found["reason"] is not None:
            return {**told, "untraced": f"no rule was asked: {found['reason']}"}
        event = found["events"][0]
        return {**told, "trace": traces.arranged(event["rules"]), "copy": event["known_before"]}

    def _address(self, d: Delivery) -> str:
        return self._desk.live.current.ruleset.server.base_url.rstrip("/") + d.path

    async def _body(self, visit: Visit) -> RouteAnswer:
        record = await self._desk.reading.record(visit.place["delivery"])
        name = f'attachment; filename="{record.delivery.id}.body"'
        return RouteAnswer(
            200, BYTES, record.delivery.body, ((b"content-disposition", name.encode()),)
        )

    async def _replay(self, visit: Visit) -> RouteAnswer:
        body = {
            "ids": [visit.place["delivery"]],
            "recorded": visit.form.get("recorded") == "yes",
            **self._desk.replay_of(visit),
        }
        done = await self._desk.operator.replay(body, visit.by)
        return see_other(f"/replays/{done['id']}")


def _first(record: DeliveryRecord) -> int:
    return record.events[0].index if record.events else 0


def _hidden(record: DeliveryRecord) -> DeliveryRecord:
    """Without what came in or was sent."""
    d = record.delivery
    plain = msgspec.structs.replace(
        d,
        body=b"",
        query=HIDDEN if d.query else "",
        headers=tuple((name, HIDDEN) for name, _ in d.headers),
    )
    return msgspec.structs.replace(
        record,
        delivery=plain,
        jobs=tuple(map(hidden_job, record.jobs)),
        attempts=tuple(map(hidden_attempt, record.attempts)),
    )
