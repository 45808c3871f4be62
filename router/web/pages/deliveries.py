"""Pages of deliveries: as a list, and each by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from litestar import Controller, Response
from litestar.params import FromPath

from router.errors import NotFound
from router.model.delivery import Delivery, full_name
from router.model.packed import body_size, plain_body
from router.rules.explain import MATCHED
from router.rules.ruleset import Ruleset
from router.store.values import DeliveryRecord
from router.web.admin.query import DELIVERY_STATES, Query, QueryParameter
from router.web.admin.reads import BYTES
from router.web.admin.request import Given
from router.web.pages import shown
from router.web.pages.context import PageContext
from router.web.pages.curl import curl
from router.web.pages.request import Shown, action, page

NEAR_SHOWN, NEAR_OPEN = 10, 3
OTHERS_SHOWN = 100
HEADERS_SHOWN = 200
EVENTS_SHOWN = 20
JOBS_SHOWN = 100
TRACED_BODY_MAX = 1_048_576
TRACED_RULES_MAX = 1_000
"""Beyond these a trace costs so much that it is made only on request."""

_ONE = (
    QueryParameter("event", "Trace the event of this index, counted from 0."),
    QueryParameter("body", "`all`: show more of the body."),
    QueryParameter("trace", "`yes`: trace it although that is much work."),
)


class DeliveryPages(Controller):
    """Deliveries as a list, and each by itself."""

    @page("/deliveries")
    async def list(self, context: Given[PageContext]) -> Shown:
        """Deliveries by a selector."""
        return await context.listing("deliveries", DELIVERY_STATES, context.questions.deliveries)

    @page("/deliveries/{delivery:str}")
    async def one(self, context: Given[PageContext], delivery: FromPath[str]) -> Shown:
        """Everything that is known of it."""
        query = context.query(*_ONE)
        record = context.request.visible(await context.questions.record(delivery))
        d, ruleset = record.delivery, context.live.current.ruleset
        address = ruleset.server.base_url.rstrip("/") + d.path
        return context.page(
            "delivery.html",
            record=record,
            d=d,
            provider=ruleset.provider_name(d.endpoint, d.provider),
            body=shown.shown_body(plain_body(d, shown.BODY_MAX), whole=query.text("body") == "all"),
            root=shown.root(d, splits=_splits(ruleset, d)),
            headers=d.headers[:HEADERS_SHOWN],
            verified=shown.verified(d),
            dedupe=shown.dedupe(record),
            events=record.events[:EVENTS_SHOWN],
            names={e.id: full_name(e.name, e.action) for e in record.events},
            jobs=record.jobs[:JOBS_SHOWN],
            curl=curl(d, address) if context.bodies else None,
            name=context.name(),
            **await _trace(context, query, record),
        )

    @page("/deliveries/{delivery:str}/body", payloads=True)
    async def body_of(self, context: Given[PageContext], delivery: FromPath[str]) -> Shown:
        """Its bytes, to keep."""
        record = await context.questions.record(delivery)
        headers = {"content-disposition": f'attachment; filename="{record.delivery.id}.body"'}
        return Response(record.delivery.body, media_type=BYTES, headers=headers)

    @action("/deliveries/{delivery:str}/replay")
    async def replay(self, context: Given[PageContext], delivery: FromPath[str]) -> Shown:
        """New jobs from it."""
        return await context.replay((delivery,))


def _splits(ruleset: Ruleset, delivery: Delivery) -> bool:
    """Whether its sender sends several events at once."""
    provider = ruleset.providers.get(delivery.provider)
    return provider is not None and provider.splits


async def _trace(context: PageContext, query: Query, record: DeliveryRecord) -> dict[str, Any]:
    """What the rules found of one event of it."""
    number = query.number("event", record.events[0].index if record.events else 0, 1_000_000)
    values = {"number": number, "trace": None, "copy": False, "untraced": None, "ask": False}
    d = record.delivery
    if not context.bodies:
        return {**values, "untraced": "this token may not see payloads, which traces quote"}
    rules = context.live.current.ruleset.rules
    much = body_size(d) > TRACED_BODY_MAX or len(rules) > TRACED_RULES_MAX
    if much and query.text("trace") != "yes":
        return {**values, "ask": True}
    try:
        reason, event = await context.questions.explain(d.id, number)
    except NotFound as error:
        return {**values, "untraced": str(error)}
    if reason is not None:
        return {**values, "untraced": f"no rule was evaluated: {reason}"}
    return {**values, "trace": arranged(event["rules"]), "copy": event["known_before"]}


def arranged(rules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All rules beside one event: those that matched first, the nearest next; `more` are left."""
    matched = [r for r in rules if r["status"] in MATCHED]
    errors = [r for r in rules if r["status"] in ("error", "redacted")]
    missed = [r for r in rules if r["status"] == "not matched"]
    near = sorted(missed, key=lambda r: (r["missing"], r["failed"]))
    first = [*matched, *errors[:NEAR_SHOWN], *near[:NEAR_SHOWN]]
    seen = {r["rule"] for r in first}
    rest = [r for r in rules if r["rule"] not in seen]
    return {
        "rules": first,
        "opened": {r["rule"] for r in (*matched, *errors, *near[:NEAR_OPEN])},
        "others": rest[:OTHERS_SHOWN],
        "more": max(0, len(rest) - OTHERS_SHOWN),
    }
