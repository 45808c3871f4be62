"""Routes to follow the router by: its live feed, and deliveries in the order of storing."""

from litestar import Controller

from router.errors import UsageError
from router.operator.answers import EventRow
from router.operator.followed_answers import FollowedDeliveries, FollowedDelivery
from router.rules.live import LiveRef
from router.store.reads import StoreReads
from router.store.values import LIMIT_MAX, FeedQuery, Stored
from router.web.admin.problems import Rejected
from router.web.admin.query import Query, QueryParameter
from router.web.admin.request import AdminRequest, Given, question
from router.web.feed import KINDS, WITHOUT_BODIES, Feed, FeedFilter
from router.web.feed_stream import CONTENT_TYPE, EventStream

LIMIT_DEFAULT = 20
NAMES_MAX = 100

_FILTERS = (
    QueryParameter("endpoint", "Only of these endpoints; several with commas."),
    QueryParameter("event", "Only events of these names; several with commas."),
)
_KINDS = QueryParameter("kinds", f"Only of these kinds, with commas: {', '.join(KINDS)}.")
_PLACE = (
    QueryParameter("cursor", "The `cursor` of a delivery or of the answer before."),
    QueryParameter("since", "Where to begin without one: start, now, or a time."),
    QueryParameter("limit", f"At most so many; default {LIMIT_DEFAULT}, most {LIMIT_MAX}."),
)


class LiveRoutes(Controller):
    """What happens, and deliveries in the order they were stored."""

    @question(
        "/api/feed",
        "What happens, as it happens: server-sent events; resumes by Last-Event-ID.",
        *_FILTERS, _KINDS, media_type=CONTENT_TYPE,
    )  # fmt: skip
    async def feed_of(self, request: AdminRequest, feed: Given[Feed]) -> EventStream:
        """Attempts only to those who may see payloads: a reason may quote an answer."""
        query = request.query
        kinds = _kinds(query)
        if not request.user.bodies:
            kinds = (kinds or WITHOUT_BODIES) & WITHOUT_BODIES
            if not kinds:
                raise Rejected(403, f"the token {request.user.name} may not see attempts here")
        wanted = FeedFilter(_names(query, "endpoint"), _names(query, "event"), kinds)
        return EventStream(feed, wanted, request.header(b"last-event-id"), request.still_admitted)

    @question(
        "/api/deliveries/after",
        "Whole deliveries in the order in which they were stored, after a place.",
        *_FILTERS, *_PLACE, payloads=True,
    )  # fmt: skip
    async def after(
        self, request: AdminRequest, store: Given[StoreReads], live: Given[LiveRef]
    ) -> FollowedDeliveries:
        """For those who must miss none."""
        query, ruleset = request.query, live.current.ruleset
        since = query.text("since") or "start"
        wanted = FeedQuery(
            cursor=query.text("cursor"),
            since=since if since in ("start", "now") else str(query.time("since")),
            endpoints=_names(query, "endpoint"),
            events=_names(query, "event"),
            limit=max(1, query.number("limit", LIMIT_DEFAULT, LIMIT_MAX)),
        )
        found = await store.following(wanted)
        deliveries = tuple(
            _delivery(one, ruleset.provider_name(one.delivery.endpoint, one.delivery.provider))
            for one in found.deliveries
        )
        return FollowedDeliveries(deliveries, found.cursor, found.more, found.removed, found.other)


def _delivery(one: Stored, provider: str) -> FollowedDelivery:
    d = one.delivery
    return FollowedDelivery(
        cursor=one.at,
        id=d.id,
        endpoint=d.endpoint,
        provider=provider,
        received_at=d.received_at,
        state=d.state,
        method=d.method,
        path=d.path,
        query=d.query,
        headers=d.headers,
        body=d.body,
        verified_by=d.verified_by,
        event_count=d.event_count,
        events=tuple(EventRow(e.index, e.id, e.name, e.action) for e in one.events),
        flags=d.flags,
        replay_of=d.replay_of,
    )


def _kinds(query: Query) -> frozenset[str]:
    kinds = _names(query, "kinds")
    if unknown := kinds - set(KINDS):
        raise UsageError(f"no kind {sorted(unknown)[0][:60]!r}; known are: {', '.join(KINDS)}")
    return kinds


def _names(query: Query, name: str) -> frozenset[str]:
    names = frozenset(filter(None, (query.text(name) or "").split(",")))
    if len(names) > NAMES_MAX:
        raise UsageError(f"{name} takes at most {NAMES_MAX} names")
    return names
