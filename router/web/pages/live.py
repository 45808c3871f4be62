"""What happens as it happens: deliveries and refused requests, the newest first."""

from typing import Any

from litestar import Controller

from router.web.admin.problems import Rejected
from router.web.admin.query import LIMIT
from router.web.admin.request import Given
from router.web.feed import WITHOUT_BODIES, FeedFilter, FeedFull
from router.web.feed_stream import EventStream
from router.web.pages.context import PageContext
from router.web.pages.request import Shown, page

MOST = 50
"""Refused requests that are asked for: strangers may send any number of them."""


class LivePages(Controller):
    """Deliveries and refused requests as they come."""

    @page("/live")
    async def live(self, context: Given[PageContext]) -> Shown:
        """The newest, and then those that come."""
        return context.page("live.html", rows=await _newest(context))

    @page("/live/rows")
    async def rows(self, context: Given[PageContext]) -> Shown:
        """Those alone, for the page's script."""
        return context.page("rows.html", rows=await _newest(context))

    @page("/live/feed")
    async def feed(self, context: Given[PageContext]) -> EventStream:
        """Events for the script when something came."""
        wanted = FeedFilter() if context.bodies else FeedFilter(kinds=WITHOUT_BODIES)
        try:
            request = context.request
            last = request.header(b"last-event-id")
            return EventStream(context.feed, wanted, last, request.still_admitted)
        except FeedFull:
            raise Rejected(503, "too many watch", {"retry-after": "5"}) from None


async def _newest(context: PageContext) -> list[tuple[int, str, Any]]:
    """When each came, whether it is a `delivery` or was `refused`, and what it is."""
    selector = context.query(LIMIT).selector()
    deliveries = (await context.questions.deliveries(selector)).deliveries
    refused = (await context.running.refusals(MOST)).refusals
    rows: list[tuple[int, str, Any]] = [(d.received_at, "delivery", d) for d in deliveries]
    rows += [(r["at"], "refused", r) for r in refused]
    return sorted(rows, key=lambda row: row[0], reverse=True)[: selector.limit]
