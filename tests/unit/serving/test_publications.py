"""Published rules are followed, and in force when every living node has them ready."""

import asyncio
from typing import Any

from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.publications import AGAIN_S, AGREE_MS, PublishedRules
from router.store.values import Generation, NodeCard, NodeSeen, Publication
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock, settle
from tests.unit.serving.test_nodes import Lines


def live(generation: str) -> LiveRuleset:
    return LiveRuleset(a_ruleset(generation=generation), SecretValues({}, {}))


class World:
    """A node with the generation g1, beside others."""

    def __init__(self) -> None:
        self.clock, self.log = ManualClock(), Lines()
        self.live = LiveRef(live("g1"))
        self.newest: Publication | None = None
        self.cards = {"2": ("g1", "", False)}
        self.followed: list[str] = []
        reads: Any = self
        log: Any = self.log
        self.rules = PublishedRules(
            self.live,
            reads,
            follow=lambda kept: self.followed.append(kept.id),
            clock=self.clock,
            log=log,
        )

    async def published(self) -> Publication | None:
        return self.newest

    async def generation(self, id_: str) -> Generation | None:
        return None if id_ == "gone" else Generation(id_, "", {}, START_MS)

    async def nodes(self) -> tuple[NodeSeen, ...]:
        return tuple(
            NodeSeen(number, NodeCard(number, None, "1", has, ready), 1, START_MS, gone=gone)
            for number, (has, ready, gone) in self.cards.items()
        )

    def publish(self, generation: str) -> None:
        seq = self.newest.seq + 1 if self.newest else 1
        self.newest = Publication(seq, generation, "2", self.clock.now())

    async def look(self, *, works: bool = True) -> None:
        async def reload() -> None:
            new = live(self.followed[-1])
            await self.rules.agreed(new)
            if works:
                self.live.swap(new)

        await self.rules.look(reload)

    async def looking(self) -> "asyncio.Task[None]":
        """One that is under way, as far as it gets."""
        task = asyncio.create_task(self.look())
        await settle()
        return task

    @property
    def in_force(self) -> str:
        return self.live.current.ruleset.generation


async def step(world: World, seconds: float) -> None:
    for _ in range(int(seconds * 4)):
        await world.clock.advance(0.25)
        await settle()


async def test_what_is_published_is_in_force_when_all_living_nodes_are_ready() -> None:
    world = World()
    await world.look()
    assert world.followed == [], "nothing is published"
    world.publish("g2")
    world.cards["3"] = ("g1", "", True)
    task = await world.looking()
    await step(world, 5)
    assert (world.rules.ready_for, world.in_force) == ("g2", "g1")
    world.cards["2"] = ("g1", "g2", False)
    await step(world, 0.25)
    assert task.done()
    assert world.in_force == "g2"
    await world.look()
    assert world.followed == ["g2"]


async def test_who_lags_holds_nobody_up_for_more_than_a_minute() -> None:
    world = World()
    world.publish("g2")
    task = await world.looking()
    await step(world, AGREE_MS / 1_000 - 1)
    assert world.in_force == "g1"
    await step(world, 1)
    assert task.done()
    assert world.in_force == "g2"


async def test_who_lags_is_not_ready_once_others_do_not_wait_any_more() -> None:
    world = World()
    world.cards = {}
    world.publish("g2")
    await world.look(works=False)
    await world.clock.advance(AGREE_MS / 1_000 - 1)
    assert world.rules.unready() is None
    await world.clock.advance(1)
    assert "number 1" in (world.rules.unready() or "")
    await world.look()
    assert world.rules.unready() is None


async def test_what_could_not_be_in_force_is_tried_again_later() -> None:
    world = World()
    world.cards = {}
    world.publish("g2")
    for seconds, tries in ((0, 1), (AGAIN_S - 1, 1), (1, 2)):
        await world.clock.advance(seconds)
        await world.look(works=False)
        assert len(world.followed) == tries
    world.publish("g3")
    await world.look()
    assert (world.followed[2:], world.in_force) == (["g3"], "g3")


async def test_a_reload_of_the_same_rules_waits_for_nobody() -> None:
    """A secret was changed, and SIGHUP says so."""
    world = World()
    world.publish("g1")
    await world.rules.agreed(live("g1"))
