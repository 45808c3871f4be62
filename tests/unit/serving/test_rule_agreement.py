"""Nodes that route by different rules for five minutes: said once, for all of them."""

from collections.abc import Mapping
from typing import Any

from router.errors import StoreUnavailable
from router.serving.rule_agreement import RuleAgreement
from router.store.values import InForce, NodeCard, NodeSeen
from tests.clocks import START_MS, ManualClock
from tests.unit.serving.test_nodes import Lines


class Reads:
    """Three nodes, one of which is gone."""

    def __init__(self) -> None:
        self.of = {"a": "g1", "b": "g1", "c": "g0"}

    async def nodes(self) -> tuple[NodeSeen, ...]:
        return tuple(
            NodeSeen(name, NodeCard(name, "1", of), 1, START_MS, gone=name == "c")
            for name, of in self.of.items()
        )

    async def in_force(self) -> InForce | None:
        return InForce(7, "g1", START_MS)


class World:
    """Of one node."""

    def __init__(self) -> None:
        self.reads, self.clock, self.log = Reads(), ManualClock(), Lines()
        self.sent: list[tuple[str, str, Mapping[str, Any]]] = []
        self.away = False
        reads: Any = self.reads
        log: Any = self.log
        self.agreement = RuleAgreement(reads, self.send, clock=self.clock, log=log)

    async def send(self, event: str, identity: str, payload: Mapping[str, Any]) -> None:
        if self.away:
            raise StoreUnavailable("away")
        self.sent.append((event, identity, payload))

    async def look_after(self, seconds: float) -> int:
        """How often it has been said then, in the log and as an event."""
        await self.clock.advance(seconds)
        await self.agreement.step()
        assert len(self.log.said) == len(self.sent)
        return len(self.sent)


async def test_a_difference_of_five_minutes_is_said_once() -> None:
    world = World()
    assert await world.look_after(400) == 0, "who is gone has no say"
    world.reads.of["b"] = "g2"
    assert await world.look_after(0) == 0
    assert await world.look_after(299) == 0
    assert await world.look_after(1) == 1
    assert await world.look_after(1_000) == 1
    event, identity, payload = world.sent[0]
    assert (event, identity) == ("rules.differ", "rules.differ/7")
    assert payload["generations"] == [
        {"generation": "g1", "nodes": ["a"]},
        {"generation": "g2", "nodes": ["b"]},
    ]
    assert (payload["in_force"], payload["minutes"]) == ("g1", 5)


async def test_a_deployment_that_ends_in_time_is_no_news_and_the_next_one_begins_anew() -> None:
    world = World()
    world.reads.of["b"] = "g2"
    assert await world.look_after(0) == 0
    assert await world.look_after(299) == 0
    world.reads.of["a"] = "g2"
    assert await world.look_after(1) == 0
    world.reads.of["b"] = "g3"
    assert await world.look_after(10) == 0
    assert await world.look_after(299) == 0
    assert await world.look_after(1) == 1


async def test_what_the_store_could_not_take_is_sent_later() -> None:
    world = World()
    world.reads.of["b"] = "g2"
    await world.look_after(0)
    world.away = True
    await world.clock.advance(300)
    for _ in range(2):
        try:
            await world.agreement.step()
        except StoreUnavailable:
            continue
        raise AssertionError("it was sent to nobody")
    world.away = False
    assert await world.look_after(10) == 1
