"""Refused requests kept for a diagnosis: only where wanted, and never with a credential."""

import msgspec
import pytest

from router.errors import NotFound
from router.model.delivery import REMOVED
from router.providers import builtin
from router.refusals import AGENT, PROBE
from router.store.sqlite.store import SqliteStore
from tests.builders import a_request, a_rule, a_ruleset
from tests.unit.intake.test_intake import World
from tests.unit.intake.test_intake_senders import receiving, sent
from tests.unit.providers.makers import a_provider

FORGED = {"key": b"another-secret-of-some-length"}


def wanting(world: World) -> World:
    world.refusals.wanted = lambda: True
    return world


async def test_nothing_is_kept_unless_somebody_wants_it(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    await world.send(**FORGED)
    assert world.refusals.recent(1)[0]["kept"] is None
    with pytest.raises(NotFound):
        world.refusals.get("last")


async def test_a_forgery_is_kept_byte_for_byte(store: SqliteStore) -> None:
    world = wanting(World(store, a_ruleset(a_rule("r"))))
    await world.send(b'{"id":\xff}', **FORGED)
    kept = world.refusals.get(world.refusals.recent(1)[0]["kept"])
    assert (kept.endpoint, kept.reason, kept.at) == ("shop", "bad_signature", world.clock.now())
    assert kept.request.body == b'{"id":\xff}'
    assert b"x-shopify-hmac-sha256" in dict(kept.request.headers)


async def test_credentials_are_removed_before_anything_is_kept(store: SqliteStore) -> None:
    world = wanting(World(store, receiving(a_provider("token"))))
    headers = (
        (b"authorization", b"Bearer nearly right"),
        (b"cookie", b"session=1"),
        (b"proxy-authorization", b"Basic abc"),
        (b"x-plain", b"stays"),
    )
    await sent(world, a_provider("token"), headers=headers)
    kept = world.refusals.get("last")
    assert dict(kept.request.headers) == {
        b"authorization": REMOVED.encode(),
        b"cookie": REMOVED.encode(),
        b"proxy-authorization": REMOVED.encode(),
        b"x-plain": b"stays",
    }


async def test_a_token_in_a_header_of_its_own_is_removed_too(store: SqliteStore) -> None:
    provider = a_provider("gitlab")
    world = wanting(World(store, receiving(provider)))
    await sent(world, provider, headers=((b"x-gitlab-token", b"nearly"),))
    assert b"nearly" not in msgspec.json.encode(world.refusals.get("last"))


async def test_strangers_by_address_are_not_kept(store: SqliteStore) -> None:
    ruleset = receiving(builtin()["shopify"], allow_from=("10.0.0.0/8",))
    world = wanting(World(store, ruleset))
    await world.send(peer="192.0.2.1")
    assert world.refusals.recent(1)[0]["reason"] == "address_not_allowed"
    assert world.refusals.recent(1)[0]["kept"] is None


PROBING = ((b"user-agent", AGENT),)


async def test_what_doctor_asks_is_counted_and_is_no_refusal(store: SqliteStore) -> None:
    world = wanting(World(store, a_ruleset(a_rule("r"))))
    await world.send(**FORGED)
    endpoint = world.intake.find(b"/wh_x")
    assert endpoint is not None
    reply = await world.intake.accept(endpoint, a_request(headers=PROBING))
    assert reply.status == 401
    world.intake.refuse(endpoint, "method_not_allowed", 405, "192.0.2.1", PROBING)
    assert [one["reason"] for one in world.refusals.recent(9)] == ["bad_signature"]
    assert world.refusals.get("last").reason == "bad_signature"
    assert world.metrics.refusals("shop") == {"bad_signature": 1, PROBE: 2}


async def test_a_forgery_cannot_pass_for_what_doctor_asks(store: SqliteStore) -> None:
    provider = a_provider("gitlab")
    world = wanting(World(store, receiving(provider)))
    await sent(world, provider, headers=((b"x-gitlab-token", b"a guess"), *PROBING))
    assert world.refusals.recent(1)[0]["kept"] is not None
