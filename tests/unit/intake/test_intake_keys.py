"""The way in for senders that publish their keys, and for those about whom others are asked."""

import asyncio
from typing import Any

import pytest

from router.intake import Reply
from router.intake.awaiting import SLOTS
from router.model.settings import Endpoint
from router.providers import Provider, bearer, builtin, ed25519
from router.store.sqlite.store import SqliteStore
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import World, answer
from tests.unit.providers.makers import a_definition, fixed_bytes, other_bytes

URL = "https://keys.example/jwks"
RULE = {"scheme": "jwt", "audience": "us", "jwks_url": URL}
SENDER = Provider(a_definition(verify=RULE))
KEY = ed25519.invent(fixed_bytes)


def a_world(store: SqliteStore) -> World:
    endpoint = Endpoint("hook", "acme", ("/wh_x",))
    given: Any = {"endpoints": {"hook": endpoint}, "providers": {"acme": SENDER}}
    return World(store, a_ruleset(a_rule("r"), **given))


async def sent(world: World, key: bytes = KEY, audience: str = "us") -> Reply:
    rule = Provider(a_definition(verify=RULE | {"audience": audience})).definition.verify
    token = bearer.token(rule, key, world.clock.now())
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    headers = ((b"authorization", f"Bearer {token}".encode()),)
    return await world.intake.accept(endpoint, a_request(body=b"{}", headers=headers))


async def test_until_a_key_is_known_the_sender_tries_again(store: SqliteStore) -> None:
    world = a_world(store)
    reply = await sent(world)
    assert (reply.status, reply.retry_after is not None) == (503, True)
    assert world.keys.wanted == [URL]
    assert world.refusals.recent(1)[0]["reason"] == "unknown_key"
    world.keys.at[URL] = bearer.key_set_of(KEY)
    assert (await sent(world)).status == 200
    assert (await sent(world, ed25519.invent(other_bytes))).status == 401
    assert world.keys.wanted == [URL]


async def test_a_token_for_others_is_worth_no_fetch(store: SqliteStore) -> None:
    world = a_world(store)
    assert (await sent(world, audience="them")).status == 401
    assert world.keys.wanted == []


# -- others are asked ----------------------------------------------------------------------------

ISSUER = {"url": "https://id.example/introspect", "client_id": "router", "client_secret": "ours"}
ASKING = Provider(a_definition(verify={"scheme": "introspection", "introspect": ISSUER}))


def asking(store: SqliteStore) -> World:
    """`hook` asks about each request; `shop` does not."""
    endpoints = {
        "hook": Endpoint("hook", "acme", ("/wh_y",)),
        "other": Endpoint("other", "acme", ("/wh_z",)),
        "shop": Endpoint("shop", "shopify", ("/wh_x",), ("shop",)),
    }
    shopify = builtin()["shopify"]
    given: Any = {"endpoints": endpoints, "providers": {"acme": ASKING, "shopify": shopify}}
    return World(store, a_ruleset(a_rule("r"), **given))


async def shown(world: World, text: str = "t", path: bytes = b"/wh_y", **given: Any) -> Reply:
    endpoint = world.intake.find(path)
    assert endpoint is not None
    headers = ((b"authorization", f"Bearer {text}".encode()),)
    return await world.intake.accept(endpoint, a_request(headers=headers, **given))


async def test_a_delivery_waits_for_the_answer(store: SqliteStore) -> None:
    world = asking(store)
    world.issuer.answers.clear()
    sending = asyncio.ensure_future(shown(world))
    await asyncio.sleep(0)
    assert (world.issuer.asked, sending.done()) == ([b"t"], False)
    world.issuer.answers.set()
    reply = await sending
    assert reply.status == 200
    stored = await store.reads.delivery(answer(reply)["delivery"])
    assert stored is not None
    assert dict(stored.delivery.headers)["authorization"] == "[removed]"


@pytest.mark.parametrize(
    ("told", "status", "reason"),
    [(b'{"active": false}', 401, "inactive_token"), (None, 503, "not_answered")],
)
async def test_what_does_not_hold_is_refused(
    store: SqliteStore, told: bytes | None, status: int, reason: str
) -> None:
    world = asking(store)
    world.issuer.answer = told
    assert (await shown(world)).status == status
    assert world.refusals.recent(1)[0]["reason"] == reason


async def test_one_sender_s_proof_delays_nobody_else(store: SqliteStore) -> None:
    """Its own further requests are answered 503 at once; another endpoint has slots of its own."""
    world = asking(store)
    world.issuer.answers.clear()
    waiting = [asyncio.ensure_future(shown(world, f"t{n}")) for n in range(SLOTS)]
    await asyncio.sleep(0)
    assert (await shown(world, "late")).status == 503
    assert world.refusals.recent(1)[0]["reason"] == "proof_busy"
    assert len(world.issuer.asked) == SLOTS
    assert (await world.send()).status == 200
    other = asyncio.ensure_future(shown(world, path=b"/wh_z"))
    await asyncio.sleep(0)
    assert len(world.issuer.asked) == SLOTS + 1
    world.issuer.answers.set()
    assert [reply.status for reply in await asyncio.gather(*waiting, other)] == [200] * (SLOTS + 1)
    assert (await shown(world, "again")).status == 200


async def test_a_sender_that_leaves_gives_its_slot_back(store: SqliteStore) -> None:
    world = asking(store)
    world.issuer.answers.clear()
    leaving = [asyncio.ensure_future(shown(world)) for _ in range(SLOTS)]
    await asyncio.sleep(0)
    for one in leaving:
        one.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    world.issuer.answers.set()
    assert (await shown(world)).status == 200
