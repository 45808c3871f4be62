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
from tests.clocks import settle
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
    await settle()
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


def waiting(world: World, *tokens: tuple[str, str], path: bytes = b"/wh_y") -> list[Any]:
    """Deliveries that wait: the token of each, and the address it came from."""
    return [asyncio.ensure_future(shown(world, t, path, peer=peer)) for t, peer in tokens]


async def test_one_sender_s_proof_delays_nobody_else(store: SqliteStore) -> None:
    """Its own further requests are answered 503 at once; another endpoint has slots of its own."""
    world = asking(store)
    world.issuer.answers.clear()
    several = waiting(world, *((f"t{n}", f"10.0.0.{n // 2}") for n in range(SLOTS)))
    await settle()
    assert (await shown(world, "late", peer="10.0.0.9")).status == 503
    assert world.refusals.recent(1)[0]["reason"] == "proof_busy"
    assert len(world.issuer.asked) == SLOTS
    assert (await world.send()).status == 200
    other = waiting(world, ("t", "10.0.0.0"), path=b"/wh_z")
    await settle()
    assert len(world.issuer.asked) == SLOTS + 1
    world.issuer.answers.set()
    replies = await asyncio.gather(*several, *other)
    assert [reply.status for reply in replies] == [200] * (SLOTS + 1)
    assert (await shown(world, "again")).status == 200


@pytest.mark.parametrize(
    "addresses",
    [
        ["203.0.113.7"],
        ["203.0.113.7", "::ffff:203.0.113.7"],
        [f"2001:db8:0:7::{n:x}" for n in range(30)],
    ],
    ids=["IPv4", "mapped", "IPv6"],
)
async def test_of_the_slots_one_address_has_two(store: SqliteStore, addresses: list[str]) -> None:
    """A stranger with many connections delays no genuine delivery; of IPv6 a /64 is one address."""
    world = asking(store)
    world.issuer.answers.clear()
    forged = waiting(world, *((f"x{n}", addresses[n % len(addresses)]) for n in range(30)))
    await settle()
    assert [one.result().status for one in forged if one.done()] == [503] * 28
    genuine = waiting(world, *((f"t{n}", f"2001:db8:0:{n}::7") for n in range(SLOTS - 2)))
    await settle()
    assert len(world.issuer.asked) == SLOTS
    world.issuer.answers.set()
    assert {reply.status for reply in await asyncio.gather(*genuine)} == {200}


async def test_a_token_that_is_being_asked_about_is_not_asked_about_again(
    store: SqliteStore,
) -> None:
    """A sender's burst needs one slot; and what was answered a moment ago needs none."""
    world = asking(store)
    world.issuer.answers.clear()
    burst = waiting(world, *[("t", "10.0.0.1")] * 20)
    await settle()
    assert world.issuer.asked == [b"t"]
    waiting(world, *((f"x{n}", f"10.0.1.{n}") for n in range(SLOTS)))
    await settle()
    world.issuer.known[b"known"] = b'{"active": true}'
    assert (await shown(world, "known")).status == 200
    assert (await shown(world, "unknown")).status == 503
    world.issuer.answers.set()
    assert {reply.status for reply in await asyncio.gather(*burst)} == {200}
    assert len(world.issuer.asked) == SLOTS


async def test_who_comes_and_goes_asks_no_more_than_who_stays(store: SqliteStore) -> None:
    world = asking(store)
    world.issuer.answers.clear()
    leaving = waiting(world, ("t1", "10.0.0.1"), ("t2", "10.0.0.1"))
    await settle()
    for one in leaving:
        one.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    assert (await shown(world, "t3", peer="10.0.0.1")).status == 503
    world.issuer.answers.set()
    await settle()
    assert (await shown(world, "t3", peer="10.0.0.1")).status == 200
    assert world.issuer.asked == [b"t1", b"t2", b"t3"]
