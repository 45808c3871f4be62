"""What makes two requests one delivery, on the whole way in."""

import msgspec

from router.intake import Reply
from router.model.settings import Endpoint
from router.providers import builtin
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import KEY, World, answer


async def sent(world: World, path: bytes, headers: list[tuple[str, str]], body: bytes) -> Reply:
    endpoint = world.intake.find(path)
    assert endpoint is not None
    raw = tuple((name.lower().encode(), value.encode()) for name, value in headers)
    now = world.clock.now()
    return await world.intake.accept(
        endpoint, a_request(raw_path=path, headers=raw, body=body, received_at=now)
    )


async def test_a_signature_s_twin_is_the_same_delivery(store: SqliteStore) -> None:
    """Who saw one request can write its signature in another way, and must gain nothing by it."""
    stripe = builtin()["stripe"]
    endpoint = Endpoint("shop", "stripe", ("/wh_x",), ("shop",))
    ruleset = a_ruleset(a_rule("r"), endpoints={"shop": endpoint}, providers={"stripe": stripe})
    world = World(store, ruleset)
    body = b'{"id": "evt_1", "type": "charge.succeeded"}'
    signed = stripe.sign(
        event="charge.succeeded", body=body, key=KEY, delivery_id="evt_1", now_ms=world.clock.now()
    )
    longer = [
        (name, f"{value},v1={'0' * 64}" if name == "Stripe-Signature" else value)
        for name, value in signed
    ]
    first = await sent(world, b"/wh_x", list(signed), body)
    twin = await sent(world, b"/wh_x", longer, body)
    assert [answer(reply)["status"] for reply in (first, twin)] == ["accepted", "duplicate"]
    assert len(await store.reads.deliveries(Selector())) == 1


async def test_the_same_id_at_another_endpoint_is_another_delivery(store: SqliteStore) -> None:
    """One secret at two endpoints: what was sent to one is new to the other."""
    shopify = builtin()["shopify"]
    endpoints = {
        name: Endpoint(name, "shopify", (f"/wh_{name}",), ("shop",)) for name in ("shop", "other")
    }
    ruleset = a_ruleset(
        a_rule("r", sources=("shop", "other")),
        endpoints=endpoints,
        providers={"shopify": shopify},
    )
    world = World(store, ruleset)
    body = msgspec.json.encode({"id": 1})
    signed = shopify.sign(
        event="orders/paid", body=body, key=KEY, delivery_id="w-1", now_ms=world.clock.now()
    )
    replies = [await sent(world, f"/wh_{name}".encode(), list(signed), body) for name in endpoints]
    assert [answer(reply)["status"] for reply in replies] == ["accepted", "accepted"]
