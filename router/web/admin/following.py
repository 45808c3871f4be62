"""Routes to follow the router by: the signal, and deliveries in the order of storing."""

import msgspec
from litestar import Controller

from router.errors import UsageError
from router.operator.followed_answers import FollowedDeliveries, FollowedDelivery
from router.rules.live import LiveRef
from router.store.reads import StoreReads
from router.store.values import LIMIT_MAX, FeedQuery, Stored
from router.web.admin.query import Query, QueryParameter
from router.web.admin.request import AdminRequest, Given, question
from router.web.signal import Signal
from router.web.signal_stream import CONTENT_TYPE, SignalStream

LIMIT_DEFAULT = 20
NAMES_MAX = 100

_WANTED = (
    QueryParameter("endpoint", "Only of these endpoints; several with commas."),
    QueryParameter("event", "Only events of these names; several with commas."),
    QueryParameter("cursor", "The `cursor` of a delivery or of the answer before."),
    QueryParameter("since", "Where to begin without one: start, now, or a time."),
    QueryParameter("limit", f"At most so many; default {LIMIT_DEFAULT}, most {LIMIT_MAX}."),
)


class FollowRoutes(Controller):
    """That something changed, and deliveries in the order they were stored."""

    @question(
        "/api/signal",
        "That something changed: server-sent events without contents.",
        media_type=CONTENT_TYPE,
    )
    async def signal(self, request: AdminRequest, signal: Given[Signal]) -> SignalStream:
        """Until the client goes; a heartbeat every 15 s."""
        return SignalStream(signal, request.user.name, request.still_admitted)

    @question(
        "/api/deliveries/after",
        "Whole deliveries in the order in which they were stored, after a place.",
        *_WANTED, payloads=True,
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
    known = msgspec.structs.asdict(one.delivery) | {"cursor": one.at, "events": one.events}
    known |= {"provider": provider, "body_base64": one.delivery.body}
    return msgspec.convert(known, FollowedDelivery, from_attributes=True)


def _names(query: Query, name: str) -> frozenset[str]:
    names = frozenset(filter(None, (query.text(name) or "").split(",")))
    if len(names) > NAMES_MAX:
        raise UsageError(f"{name} takes at most {NAMES_MAX} names")
    return names
