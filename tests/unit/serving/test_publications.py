"""Published rules are followed, and in force when every living node has them ready."""

import asyncio
from typing import Any

from router.errors import ConfigError, StoreUnavailable
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.publications import AGAIN_S, POLL_S, PublishedRules
from router.store.common.publications import AGREE_MS
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
        self.away = False
        self.cards = {"2": ("g1", "", False)}
        self.followed: list[str] = []
        self.compiled: list[str] = []
        self.broken: set[str] = set()
        reads: Any = self
        log: Any = self.log
        self.rules = PublishedRules(
            self.live,
            reads,
            compile_=self.compile,
            follow=lambda kept: self.followed.append(kept.id),
            clock=self.clock,
            log=log,
        )

    async def published(self) -> Publication | None:
        if self.away:
            raise StoreUnavailable("away")
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

    async def compile(self, kept: Generation) -> None:
        self.compiled.append(kept.id)
        if kept.id in self.broken:
            raise ConfigError(())

    async def look(self) -> None:
        async def reload() -> None:
            if self.followed[-1] not in self.broken:
                self.live.swap(live(self.followed[-1]))

        await self.rules.look(reload)

    @property
    def in_force(self) -> str:
        return self.live.current.ruleset.generation


async def test_what_is_published_is_in_force_when_all_living_nodes_are_ready() -> None:
    world = World()
    await world.look()
    assert world.compiled == [], "nothing is published"
    world.publish("g2")
    world.cards["3"] = ("g1", "", True)
    for _ in range(5):
        await world.look()
        assert (world.rules.ready_for, world.in_force, world.followed) == ("g2", "g1", [])
    world.cards["2"] = ("g1", "g2", False)
    await world.look()
    await world.look()
    assert (world.in_force, world.followed, world.compiled) == ("g2", ["g2"], ["g2"])


async def test_who_lags_holds_nobody_up_for_more_than_a_minute() -> None:
    world = World()
    world.publish("g2")
    await world.look()
    await world.clock.advance(AGREE_MS / 1_000 - 1)
    await world.look()
    assert world.in_force == "g1"
    await world.clock.advance(1)
    await world.look()
    assert world.in_force == "g2"


async def test_what_is_withdrawn_while_all_wait_for_one_is_never_in_force() -> None:
    """Nor does what comes instead wait for it."""
    world = World()
    world.publish("g2")
    await world.look()
    world.publish("g1")
    await world.clock.advance(AGREE_MS / 1_000)
    await world.look()
    world.publish("g3")
    await world.look()
    assert (world.rules.ready_for, world.in_force, world.followed) == ("g3", "g1", [])
    world.cards = {}
    await world.look()
    assert (world.in_force, world.followed) == ("g3", ["g3"])


async def test_who_lags_is_not_ready_once_others_do_not_wait_any_more() -> None:
    world = World()
    world.cards, world.broken = {}, {"g2"}
    world.publish("g2")
    await world.look()
    await world.clock.advance(AGREE_MS / 1_000 - 1)
    assert world.rules.unready() is None
    await world.clock.advance(1)
    assert "number 1" in (world.rules.unready() or "")
    world.broken = set()
    await world.look()
    assert world.rules.unready() is None


async def test_what_could_not_be_in_force_is_tried_again_later() -> None:
    """And until then a reload builds what is in force."""
    world = World()
    world.cards, world.broken = {}, {"g2"}
    world.publish("g2")
    for seconds, tries in ((0, 1), (AGAIN_S - 1, 1), (1, 2)):
        await world.clock.advance(seconds)
        await world.look()
        assert world.followed == ["g2", "g1"] * tries
    assert world.rules.ready_for == ""
    world.publish("g3")
    await world.look()
    assert (world.followed[4:], world.in_force) == (["g3"], "g3")


async def test_what_could_not_be_followed_is_forgotten_when_the_former_is_published_again() -> None:
    world = World()
    world.cards, world.broken = {}, {"g2"}
    world.publish("g2")
    await world.look()
    world.publish("g1")
    await world.look()
    await world.clock.advance(AGREE_MS / 1_000)
    assert world.rules.unready() is None


async def test_what_is_not_in_the_store_is_asked_for_again_later() -> None:
    world = World()
    world.publish("gone")
    for seconds, times in ((0, 1), (AGAIN_S - 1, 1), (1, 2)):
        await world.clock.advance(seconds)
        await world.look()
        assert world.log.said == ["a published generation is not in the store"] * times


async def test_that_the_store_is_away_is_said_once_each_time() -> None:
    world = World()
    following = asyncio.ensure_future(world.rules.run(world.look))
    for world.away in (True, True, True, False, True, True):
        await settle()
        await world.clock.advance(POLL_S)
    await settle()
    following.cancel()
    assert world.log.said == ["what is published cannot be asked"] * 2
