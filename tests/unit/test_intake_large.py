"""A large body keeps the loop for long steps: whoever comes meanwhile goes between them."""

import asyncio

import pytest

from router.intake import LARGE_BODY, PAUSE_S
from router.store.protocol import Selector
from router.store.sqlite import SqliteStore
from tests.builders import a_rule, a_ruleset
from tests.clocks import settle
from tests.unit.test_intake import World, answer, store

__all__ = ["store"]


def large(*, more: int = 1) -> bytes:
    """JSON a little over what is taken in one go."""
    return b'{"id": 1, "text": "%b"}' % (b"x" * (LARGE_BODY - 21 + more))


@pytest.mark.parametrize("pauses", [0, 1])
async def test_a_small_delivery_is_stored_and_answered_between_the_steps_of_a_large_one(
    store: SqliteStore, pauses: int
) -> None:
    """Before its structure is counted, and again before it is decoded."""
    world = World(store, a_ruleset(a_rule("r")))
    waiting = asyncio.create_task(world.send(large(), "large"))
    await settle()
    for _ in range(pauses):
        await world.clock.advance(PAUSE_S)
    small = await world.send(number="small")
    assert not waiting.done()
    assert [d.id for d in await store.deliveries(Selector())] == [answer(small)["delivery"]]
    await world.clock.advance(PAUSE_S * (2 - pauses))
    reply = await waiting
    record = await store.delivery(answer(reply)["delivery"])
    assert record is not None
    assert record.delivery.body == large()
    assert [j.rule for j in record.jobs] == ["r"]


async def test_a_body_that_is_not_large_waits_for_nobody(store: SqliteStore) -> None:
    world = World(store, a_ruleset())
    assert len(large(more=0)) == LARGE_BODY
    assert (await world.send(large(more=0))).status == 200


async def test_a_large_forgery_is_refused_at_once(store: SqliteStore) -> None:
    """Nothing in it is counted before it is proved."""
    world = World(store, a_ruleset())
    assert (await world.send(large(), key=b"another-secret-entirely")).status == 401


async def test_a_store_that_fills_up_meanwhile_refuses_it(store: SqliteStore) -> None:
    world = World(store, a_ruleset())
    waiting = asyncio.create_task(world.send(large()))
    await settle()
    world.intake.full = True
    await world.clock.advance(2 * PAUSE_S)
    assert (await waiting).status == 503
    assert await store.deliveries(Selector()) == ()


async def test_too_much_structure_is_seen_in_a_large_body_too(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    waiting = asyncio.create_task(world.send(b"[" + b"0," * LARGE_BODY + b"0]"))
    await settle()
    await world.clock.advance(2 * PAUSE_S)
    record = await store.delivery(answer(await waiting)["delivery"])
    assert record is not None
    assert record.delivery.state == "too_complex"
