"""Subscriptions against a server that follows the interface, its limits and its odd days."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from router.model.subscription import (
    Subscription,
    SubscriptionState,
    fact_name,
    is_subscription,
    subscriptions,
)
from router.provider_calls.client import ProviderClient
from router.provider_calls.rate_limit import Pace
from router.provider_calls.subscriptions import (
    WAIT_S,
    Subscriber,
    SubscriptionApi,
    SubscriptionResult,
    send_test,
)
from router.providers.management import Access
from tests.api_server import TOKEN, Answer, ApiServer
from tests.clocks import START_MS, JumpingClock
from tests.unit.provider_calls.conftest import client_of, shop

ADDRESS = "https://hooks.example.com/wh_x"


class Ledger:
    """The facts, and what they were at each write."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.states: list[str | None] = []

    async def keep(self, facts: Mapping[str, Any]) -> None:
        for name, value in facts.items():
            self.states.append(None if value is None else value["state"])
            self.facts[name] = value
            assert is_subscription((name, value))
            if value is None:
                del self.facts[name]

    @property
    def records(self) -> list[Subscription]:
        return list(subscriptions(self.facts).values())


class World:
    """One run's parts."""

    def __init__(
        self,
        api: ApiServer,
        client: ProviderClient,
        *,
        way: SubscriptionApi | None = None,
        known: Mapping[str, Subscription] | None = None,
        **access: Any,
    ) -> None:
        self.clock, self.ledger = JumpingClock(), Ledger()
        self.ledger.facts = {n: msgspec.to_builtins(record) for n, record in (known or {}).items()}
        self.subscriber = Subscriber(
            client,
            shop(api, **access),
            way=way or SubscriptionApi(),
            clock=self.clock,
            keep=self.ledger.keep,
            pace=Pace(self.clock, 4),
            known=known or {},
        )

    async def run(self, *topics: str) -> list[SubscriptionResult]:
        return await self.subscriber.run("shop", [(topic, ADDRESS) for topic in topics])


async def test_rest_as_the_interface_shows_it(api: ApiServer, client: ProviderClient) -> None:
    world = World(api, client)
    results = await world.run("orders/create")
    assert results == [SubscriptionResult("orders/create", ADDRESS, "made", "1000")]
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("POST", "/admin/api/2024-01/webhooks.json")
    assert asked.headers["x-shopify-access-token"] == TOKEN
    assert asked.headers["content-type"] == "application/json"
    webhook = {"topic": "orders/create", "address": ADDRESS, "format": "json"}
    assert asked.body == {"webhook": webhook}
    assert world.ledger.states == ["asked", "made"]
    assert world.ledger.records == [
        Subscription("shop", "orders/create", ADDRESS, api.url, "made", START_MS, "1000")
    ]


async def test_the_neutral_spelling_of_the_token_s_header(
    api: ApiServer, client: ProviderClient
) -> None:
    await World(api, client, spelling="commerce").run("orders/create")
    assert api.asked[0].headers["x-commerce-access-token"] == TOKEN
    assert "x-shopify-access-token" not in api.asked[0].headers


async def test_graphql_as_the_interface_shows_it(api: ApiServer, client: ProviderClient) -> None:
    world = World(api, client, way=SubscriptionApi(graphql=True))
    (result,) = await world.run("customers/data_request")
    assert (result.outcome, result.id) == ("made", "gid://commerce/WebhookSubscription/1000")
    (asked,) = api.asked
    assert asked.path == "/admin/api/2024-01/graphql.json"
    assert asked.body["variables"] == {
        "topic": "CUSTOMERS_DATA_REQUEST",
        "webhookSubscription": {"callbackUrl": ADDRESS, "format": "JSON"},
    }


async def test_graphql_at_a_path_of_one_s_own(api: ApiServer, client: ProviderClient) -> None:
    world = World(api, client, way=SubscriptionApi(graphql=True, path="/gql/{api_version}"))
    (result,) = await world.run("orders/create")
    assert api.asked[0].path == "/gql/2024-01"
    assert (result.outcome, result.words) == ("refused", "HTTP 404: Not Found")


async def test_user_errors_are_shown_field_by_field(api: ApiServer, client: ProviderClient) -> None:
    api.topics = {"ORDERS_PAID"}
    world = World(api, client, way=SubscriptionApi(graphql=True))
    first, second = await world.run("orders/create", "orders/paid")
    assert first.outcome == "refused"
    assert first.words == (
        "topic: is not one you may subscribe to; "
        "webhookSubscription.callbackUrl: is not allowed; Try again"
    )
    assert second.outcome == "made"
    assert [r.topic for r in world.ledger.records] == ["orders/paid"]


async def test_top_level_graphql_errors_are_problems_too(
    api: ApiServer, client: ProviderClient
) -> None:
    api.script.append(Answer(200, {"errors": [{"message": "Query cost is 1002"}]}))
    (result,) = await World(api, client, way=SubscriptionApi(graphql=True)).run("orders/create")
    assert (result.outcome, result.words) == ("refused", "Query cost is 1002")


def throttled(there: Any, rate: Any = 50) -> Answer:
    """As the sender answers a query that costs more than there is."""
    status = {"maximumAvailable": 1000, "currentlyAvailable": there, "restoreRate": rate}
    return Answer(
        200,
        {
            "errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}],
            "extensions": {"cost": {"requestedQueryCost": 566, "throttleStatus": status}},
        },
    )


@pytest.mark.long
async def test_a_throttled_query_is_sent_again_when_there_is_enough_for_it(
    api: ApiServer, client: ProviderClient
) -> None:
    short = Answer(200, {"errors": [{"message": "Throttled"}]})
    api.script += [throttled(66), throttled(560), throttled(None), throttled(66, 0), short]
    world = World(api, client, way=SubscriptionApi(graphql=True))
    (result,) = await world.run("orders/create")
    assert result.outcome == "made"
    waits = [slept for slept in world.clock.slept if slept >= WAIT_S]
    assert waits == [10.0, 2.0, 2.0, 2.0, 2.0]


@pytest.mark.long
async def test_what_is_throttled_for_ever_is_refused(
    api: ApiServer, client: ProviderClient
) -> None:
    api.script += [throttled(0)] * 4 + [throttled(-(10**400)), throttled(0, 1e-320)]
    world = World(api, client, way=SubscriptionApi(graphql=True))
    (result,) = await world.run("orders/create")
    assert (result.outcome, result.words) == ("refused", "Throttled")


@pytest.mark.long
async def test_four_a_second_and_no_more(api: ApiServer, client: ProviderClient) -> None:
    """The server counts by the same clock, and would answer 429 to a fifth."""
    world = World(api, client)
    times: deque[float] = deque(maxlen=4)

    def too_many() -> bool:
        now = world.clock.monotonic()
        full = len(times) == 4 and now - times[0] < 1.0
        times.append(now)
        return full

    api.limit = too_many
    results = await world.run(*[f"topic/t{n}" for n in range(22)])
    assert [r.outcome for r in results] == ["made"] * 22
    assert len(api.asked) == 22
    assert 5.0 < world.clock.elapsed < 6.0


async def test_a_rate_limit_is_waited_out_as_long_as_it_asks(
    api: ApiServer, client: ProviderClient
) -> None:
    api.script += [
        Answer(429, "", {"Retry-After": "7"}),
        Answer(429),
        Answer(429, "", {"Retry-After": "9999"}),
    ]
    world = World(api, client)
    (result,) = await world.run("orders/create")
    assert result.outcome == "made"
    assert world.clock.slept == [7.0, 2.0, 60.0]


@pytest.mark.long
async def test_a_rate_limit_without_end_ends_the_run(
    api: ApiServer, client: ProviderClient
) -> None:
    api.limit = lambda: True
    world = World(api, client)
    results = await world.run("orders/create", "orders/paid")
    assert [r.outcome for r in results] == ["refused", "not asked"]
    assert results[0].words == "HTTP 429: Exceeded 4 calls per second"
    assert len(api.asked) == 6
    assert world.ledger.records == []


async def test_what_one_topic_does_wrong_ends_there(api: ApiServer, client: ProviderClient) -> None:
    world = World(api, client)
    results = await world.run("orders/create", "orders/create", "orders/paid")
    assert [r.outcome for r in results] == ["made", "refused", "made"]
    assert results[1].words == "HTTP 422: address: for this topic has already been taken"


@pytest.mark.parametrize("status", [401, 403, 404, 302])
async def test_what_no_call_can_survive_ends_the_run(
    api: ApiServer, client: ProviderClient, status: int
) -> None:
    api.script.append(Answer(status, {"errors": "no"}))
    world = World(api, client)
    results = await world.run("orders/create", "orders/paid")
    assert [r.outcome for r in results] == ["refused", "not asked"]
    assert results[0].words == f"HTTP {status}: no"
    assert world.ledger.records == []
    assert len(api.asked) == 1


@pytest.mark.long
@pytest.mark.parametrize("odd", ["hang", "drip", "close", "garbage", Answer(502, "<html>bad")])
async def test_without_an_answer_it_is_unsure_and_remembered_so(api: ApiServer, odd: Any) -> None:
    api.script.append(odd)
    async with client_of(api) as client:
        world = World(api, client)
        results = await world.run("orders/create", "orders/paid")
    assert [r.outcome for r in results] == ["unsure", "not asked"]
    assert [(r.topic, r.state) for r in world.ledger.records] == [("orders/create", "asked")]
    assert TOKEN not in repr(results)


async def test_a_server_that_is_not_there_was_asked_nothing(api: ApiServer) -> None:
    async with ProviderClient(["127.0.0.1"], timeout_s=60) as client:
        world = World(api, client)
        access = shop(api)
        world.subscriber._access = Access(access.rule, "http://127.0.0.1:1", TOKEN)
        results = await world.run("orders/create", "orders/paid")
    assert [r.outcome for r in results] == ["refused", "not asked"]
    assert [r.words for r in results] == ["no connection", "no connection"]
    assert world.ledger.records == []


LOGIN = Answer(200, "<html><title>Please log in</title>")
RIGHT = {"webhook": {"id": 7}}
RIGHT_GRAPHQL = {
    "data": {"webhookSubscriptionCreate": {"webhookSubscription": {"id": "x"}, "userErrors": []}}
}


@pytest.mark.parametrize(
    "answer",
    [
        LOGIN,
        Answer(201, "<html>Welcome"),
        Answer(201),
        Answer(204),
        Answer(202, RIGHT),
        Answer(201, RIGHT, {"Content-Type": "text/html"}),
        Answer(201, RIGHT, {"Content-Type": "text/plain; profile=application/json"}),
        Answer(201, b"nonsense"),
        Answer(201, []),
        Answer(201, {"webhook": []}),
        Answer(201, {"webhook": {"id": {}}}),
        Answer(201, {"status": "ok"}),
        Answer(201, None),
    ],
    ids=str,
)
async def test_a_2xx_that_is_not_the_promised_answer_is_no_subscription(
    api: ApiServer, client: ProviderClient, answer: Answer
) -> None:
    api.script.append(answer)
    world = World(api, client)
    (result,) = await world.run("orders/create")
    assert (result.outcome, result.id) == ("unsure", None)
    assert world.ledger.records[0].state == "asked"


@pytest.mark.parametrize(
    "answer",
    [
        LOGIN,
        Answer(201, RIGHT_GRAPHQL),
        Answer(200, RIGHT_GRAPHQL, {"Content-Type": "text/html"}),
        Answer(200),
        Answer(200, {}),
        Answer(200, []),
        Answer(200, {"data": None}),
        Answer(200, {"data": {"webhookSubscriptionCreate": {}}}),
        Answer(200, {"data": {"webhookSubscriptionCreate": {"webhookSubscription": {}}}}),
    ],
    ids=str,
)
async def test_an_odd_graphql_answer_is_unsure(
    api: ApiServer, client: ProviderClient, answer: Answer
) -> None:
    api.script.append(answer)
    (result,) = await World(api, client, way=SubscriptionApi(graphql=True)).run("orders/create")
    assert result.outcome == "unsure"


@pytest.mark.parametrize(
    ("way", "answer"),
    [
        (
            SubscriptionApi(),
            Answer(201, RIGHT, {"Content-Type": "application/json; charset=utf-8"}),
        ),
        (SubscriptionApi(), Answer(200, RIGHT, {"Content-Type": "Application/vnd.shop+JSON"})),
        (SubscriptionApi(graphql=True), Answer(200, RIGHT_GRAPHQL)),
    ],
)
async def test_the_promised_answers(
    api: ApiServer, client: ProviderClient, way: SubscriptionApi, answer: Answer
) -> None:
    api.script.append(answer)
    assert (await World(api, client, way=way).run("orders/create"))[0].outcome == "made"


# -- asked again ----------------------------------------------------------------------------------

TAKEN = Answer(422, {"errors": {"address": ["for this topic has already been taken"]}})
TAKEN_GRAPHQL = Answer(
    200,
    {
        "data": {
            "webhookSubscriptionCreate": {
                "webhookSubscription": None,
                "userErrors": [
                    {
                        "field": ["webhookSubscription", "callbackUrl"],
                        "message": "Address for this topic has already been taken",
                    }
                ],
            }
        }
    },
)
WAYS = [(SubscriptionApi(), TAKEN), (SubscriptionApi(graphql=True), TAKEN_GRAPHQL)]


def earlier(
    api: ApiServer, state: SubscriptionState, identity: str | None = None
) -> dict[str, Subscription]:
    """What a run before this one has left."""
    record = Subscription("shop", "orders/create", ADDRESS, api.url, state, START_MS - 9, identity)
    return {fact_name(api.url, "orders/create", ADDRESS): record}


@pytest.mark.parametrize(("way", "taken"), WAYS)
async def test_already_taken_after_an_unsure_one_means_that_it_was_made(
    api: ApiServer, client: ProviderClient, way: SubscriptionApi, taken: Answer
) -> None:
    api.script.append(taken)
    world = World(api, client, way=way, known=earlier(api, "asked"))
    (result,) = await world.run("orders/create")
    assert (result.outcome, result.words) == ("made", None)
    assert [r.state for r in world.ledger.records] == ["made"]


@pytest.mark.parametrize(("way", "taken"), WAYS)
async def test_already_taken_is_a_refusal_where_nothing_is_known(
    api: ApiServer, client: ProviderClient, way: SubscriptionApi, taken: Answer
) -> None:
    api.script.append(taken)
    world = World(api, client, way=way)
    assert [r.outcome for r in await world.run("orders/create")] == ["refused"]
    assert world.ledger.records == []


@pytest.mark.parametrize("state", ["made", "asked"])
@pytest.mark.parametrize(
    "answer", [TAKEN, Answer(401, {}), Answer(404, {}), Answer(422, {"errors": "no"})], ids=str
)
async def test_a_refusal_takes_nothing_of_what_was_known(
    api: ApiServer, client: ProviderClient, state: SubscriptionState, answer: Answer
) -> None:
    api.script.append(answer)
    known = earlier(api, state, "7")
    world = World(api, client, known=known)
    await world.run("orders/create")
    (record,) = world.ledger.records
    became = "made" if answer is TAKEN else state
    assert (record.state, record.id) == (became, "7")


@pytest.mark.long
@pytest.mark.parametrize("odd", ["hang", "close", Answer(502, "<html>bad"), LOGIN])
async def test_no_answer_takes_nothing_of_what_was_known(api: ApiServer, odd: Any) -> None:
    api.script.append(odd)
    async with client_of(api) as client:
        world = World(api, client, known=earlier(api, "made", "7"))
        assert [r.outcome for r in await world.run("orders/create")] == ["unsure"]
    assert set(world.ledger.states) == {"made"}, "not even while it is asked"
    assert world.ledger.records[0].id == "7"


async def test_nobody_there_takes_nothing_of_what_was_known(api: ApiServer) -> None:
    async with ProviderClient(["127.0.0.1"], timeout_s=60) as client:
        world = World(api, client)
        gone = Access(shop(api).rule, "http://127.0.0.1:1", TOKEN)
        name = fact_name(gone.base, "orders/create", ADDRESS)
        before = Subscription(
            "shop", "orders/create", ADDRESS, gone.base, "made", START_MS - 9, "7"
        )
        world.subscriber._access, world.subscriber._known = gone, {name: before}
        assert [r.outcome for r in await world.run("orders/create")] == ["refused"]
    assert world.ledger.records == [before]


async def test_what_is_made_anew_has_the_new_id(api: ApiServer, client: ProviderClient) -> None:
    world = World(api, client, known=earlier(api, "made", "7"))
    await world.run("orders/create")
    assert [r.id for r in world.ledger.records] == ["1000"]


async def test_a_wrong_token_is_not_shown(api: ApiServer, client: ProviderClient) -> None:
    api.script.append(Answer(401, {"errors": "bad token wrong-token-0123456789"}))
    (result,) = await World(api, client, token="wrong-token-0123456789").run("orders/create")
    assert result.words == "HTTP 401: bad token ***"


async def test_a_test_notification(api: ApiServer, client: ProviderClient) -> None:
    clock = JumpingClock()
    await World(api, client).run("orders/create")
    for number in ("1000", "gid://commerce/WebhookSubscription/1000"):
        pace = Pace(clock, 4)
        assert await send_test(client, shop(api), number, clock=clock, pace=pace) is None
        asked = api.asked[-1]
        assert asked.path == "/admin/api/2024-01/webhooks/1000/notifications.json"
        assert asked.body is None
    against = await send_test(client, shop(api), "7", clock=clock, pace=Pace(clock, 4))
    assert against == "HTTP 404: Not Found"


@pytest.mark.parametrize(
    ("answer", "against"),
    [
        (Answer(204), None),
        (Answer(202, {"ok": True}), None),
        (LOGIN, "HTTP 200 with text/html, where success is 200 or 201 or 202 or 204 with json"),
        (Answer(206, {}), "HTTP 206 with application/json, where success is"),
    ],
    ids=str,
)
async def test_only_the_promised_answer_means_a_test_notification(
    api: ApiServer, client: ProviderClient, answer: Answer, against: str | None
) -> None:
    api.script.append(answer)
    clock = JumpingClock()
    said = await send_test(client, shop(api), "7", clock=clock, pace=Pace(clock, 4))
    assert said is None if against is None else against in (said or "")


async def test_an_id_cannot_lead_to_another_path(api: ApiServer, client: ProviderClient) -> None:
    clock = JumpingClock()
    await send_test(client, shop(api), "a?b#c%", clock=clock, pace=Pace(clock, 4))
    assert api.asked[0].path == "/admin/api/2024-01/webhooks/a%3Fb%23c%25/notifications.json"


def test_records_that_are_none_are_left_out() -> None:
    record = {"endpoint": "e", "topic": "a/b", "address": "x", "base": "y", "state": "made"}
    name = fact_name("y", "a/b", "x")
    good = {**record, "asked_at": 1, "id": None}
    assert list(subscriptions({"subscription/1": record, "subscription/2": 5, name: good})) == [
        name
    ]
    assert is_subscription((name, good))
    assert is_subscription((name, None))
    assert not is_subscription(("ranges/x", None))
    assert not is_subscription(("subscription/2", good))
    assert not is_subscription((name, record))
