"""The way in for senders that publish their keys."""

from typing import Any

from router.intake import Reply
from router.model.settings import Endpoint
from router.providers import Provider, bearer, ed25519
from router.store.sqlite.store import SqliteStore
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import World
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
