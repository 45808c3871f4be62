"""A large body keeps the loop for long steps: whoever comes meanwhile goes between them."""

import asyncio

import pytest

from router.intake.intake import LARGE_BODY, PAUSE_S
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.builders import a_rule, a_ruleset
from tests.clocks import settle
from tests.unit.intake.test_intake import World, answer


def large(*, more: int = 1) -> bytes:
    """JSON a little over what is taken in one go."""
    return b'{"id": 1, "text": "%b"}' % (b"x" * (LARGE_BODY - 21 + more))


STEP_S = 1.1 * PAUSE_S
"""A little more than the pause of a body that is a little more than a MiB."""


@pytest.mark.parametrize("pauses", [0, 1, 2])
async def test_a_small_delivery_is_stored_and_answered_between_the_steps_of_a_large_one(
    store: SqliteStore, pauses: int
) -> None:
    """Before its structure is counted, before it is decoded, and before it is stored."""
    world = World(store, a_ruleset(a_rule("r")))
    waiting = asyncio.create_task(world.send(large(), "large"))
    await settle()
    for _ in range(pauses):
        await world.clock.advance(STEP_S)
    small = await world.send(number="small")
    assert not waiting.done()
    assert [d.id for d in await store.reads.deliveries(Selector())] == [answer(small)["delivery"]]
    await world.clock.advance(STEP_S * (3 - pauses))
    reply = await waiting
    record = await store.reads.delivery(answer(reply)["delivery"])
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


@pytest.mark.long
@pytest.mark.parametrize("size", [2, 25])
async def test_the_pauses_grow_with_the_body(store: SqliteStore, size: int) -> None:
    """A step takes as much longer, and as many more have come."""
    world = World(store, a_ruleset())
    waiting = asyncio.create_task(world.send(b'"%b"' % (b"x" * (size * LARGE_BODY - 2))))
    await settle()
    await world.clock.advance(2.9 * size * PAUSE_S)
    assert not waiting.done()
    await world.clock.advance(0.2 * size * PAUSE_S)
    assert (await waiting).status == 200


async def test_a_job_that_begins_at_once_has_what_the_large_body_says(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")), slots=1)
    waiting = asyncio.create_task(world.send(large()))
    await settle()
    await world.clock.advance(3 * STEP_S)
    await waiting
    (work,) = world.dispatch.works
    assert work.event.payload["id"] == 1


async def test_a_store_that_fills_up_meanwhile_refuses_it(store: SqliteStore) -> None:
    world = World(store, a_ruleset())
    waiting = asyncio.create_task(world.send(large()))
    await settle()
    world.full = True
    await world.clock.advance(3 * STEP_S)
    assert (await waiting).status == 503
    assert await store.reads.deliveries(Selector()) == ()


async def test_too_much_structure_is_seen_in_a_large_body_too(store: SqliteStore) -> None:
    world = World(store, a_ruleset(a_rule("r")))
    waiting = asyncio.create_task(world.send(b"[" + b"0," * LARGE_BODY + b"0]"))
    await settle()
    await world.clock.advance(9 * STEP_S)
    record = await store.reads.delivery(answer(await waiting)["delivery"])
    assert record is not None
    assert record.delivery.state == "too_complex"
