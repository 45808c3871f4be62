"""What a node does with its beats about shares: on the model of a shared store, by hand."""

import asyncio
from typing import Any

from router.model.share import ShareRow, Shares, TargetShare, TargetUse
from tests.clocks import settle
from tests.conformance.model_nodes import ModelNodes
from tests.unit.serving.test_nodes import World, world

__all__ = ["world"]

GIVEN = Shares(1, {"erp": TargetShare(4, None)})
DIVIDES_S = 5


def _gives(row: ShareRow) -> Any:
    return lambda _rows: [row]


async def test_it_says_with_its_beat_what_it_makes_of_its_shares(world: World) -> None:
    shares = world.dispatch.shares
    shares.uses = {"erp": TargetUse(1, 3)}
    await world.clock.advance(2)
    assert [row.report.uses for row in shares.rows[-1]] == [shares.uses, {}]
    shares.gives = {"1": GIVEN, "2": GIVEN}
    await world.clock.advance(1)
    assert shares.given == [GIVEN], "at once: it has divided itself"
    await world.clock.advance(2)
    assert [row.report.version for row in shares.rows[-1]] == [1, 0]


async def test_it_goes_by_what_another_one_gives_it_from_its_next_beat_on(world: World) -> None:
    world.dispatch.shares.gives = {"2": GIVEN}
    await world.clock.advance(1)
    assert world.dispatch.shares.given == []
    await world.store.claim("shares", "1", 0)
    row = ShareRow("1", GIVEN)
    await ModelNodes.divide(world.store, "2", _gives(row), generation="g", ttl_ms=10_000)
    assert world.dispatch.shares.given == []
    await world.clock.advance(1)
    assert world.dispatch.shares.given == [GIVEN]


async def test_it_divides_once_a_second_while_no_other_one_does(world: World) -> None:
    rows = world.dispatch.shares.rows
    assert len(rows) == 1
    await world.clock.advance(5)
    assert len(rows) == 6
    await world.store.claim("shares", "1", 0)
    assert await world.store.claim("shares", "2", 5_000)
    await world.clock.advance(4)
    assert len(rows) == 6
    await world.clock.advance(2)
    assert len(rows) == 8


async def test_others_may_divide_soon_after_it_is_silent(world: World) -> None:
    await world.clock.advance(2)
    world.store.away = {"divide"}
    await world.clock.advance(DIVIDES_S - 1)
    assert not await world.store.claim("shares", "2", 0)
    await world.clock.advance(1)
    assert await world.store.claim("shares", "2", 0)


async def test_a_division_that_lasts_keeps_no_beat_waiting(world: World) -> None:
    ends = world.store.division_ends = asyncio.Event()
    await world.clock.advance(60)
    assert world.beats("1") == 61
    assert len(world.dispatch.shares.rows) == 1
    ends.set()
    await settle()
    assert len(world.dispatch.shares.rows) == 2, "one at a time"


async def test_its_end_ends_a_division(world: World) -> None:
    world.store.division_ends = asyncio.Event()
    await world.clock.advance(1)
    task = world.nodes._dividing
    assert task is not None
    world.tasks[0].cancel()
    await settle()
    assert task.cancelled()


async def test_that_it_cannot_be_divided_is_said_once(world: World) -> None:
    said = "targets' limits are not divided anew"
    for _ in range(2):
        world.store.away = {"divide"}
        await world.clock.advance(5)
        world.store.away = set()
        await world.clock.advance(2)
    assert world.log.said.count(said) == 2


async def test_what_its_former_number_is_given_is_not_its_own(world: World) -> None:
    """The answer to a division comes when it is another node."""
    await world.clock.advance(1)
    world.dispatch.shares.gives = {"1": GIVEN}
    answered = world.store.division_answered = asyncio.Event()
    await world.clock.advance(1)
    await world.store.declare_gone("1", world.beats("1"))
    await world.clock.advance(1)
    assert world.nodes.node == "3"
    answered.set()
    await settle()
    assert GIVEN not in world.dispatch.shares.given


async def test_a_node_that_ends_says_so(world: World) -> None:
    await world.clock.advance(2)
    world.tasks[0].cancel()
    await world.nodes.leave()
    assert world.gone() == ["1"]
    assert await world.store.claim("shares", "2", 0)


async def test_if_it_cannot_it_ends_all_the_same(world: World) -> None:
    world.tasks[0].cancel()
    world.store.away = {"declare_gone"}
    await world.nodes.leave()
    assert world.gone() == []
    assert world.log.said == ["the store does not know that this node ends"]
