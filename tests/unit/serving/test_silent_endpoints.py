"""Silence on a real SQLite file: noticed, told once, over, and the same after a restart."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router import log
from router.metrics import Metrics
from router.model.settings import Endpoint
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.silent_endpoints import Silence, SilentEndpoint
from router.store.sqlite.store import SqliteStore, open_store
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock, SetClock
from tests.store_values import Maker

HOUR = 3600.0
SIX_H = 6 * 3_600_000


class World:
    """One process's watch; another one on the same store is a restart."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store, self.clock, self.metrics = store, clock, Metrics()
        self.live = LiveRef(LiveRuleset(a_ruleset(), SecretValues({}, {})))
        self.expect(SIX_H)
        self.silence = Silence(
            store=store, live=self.live, metrics=self.metrics, clock=clock, log=log.get("test")
        )
        self.told: list[SilentEndpoint] = []
        self.silence.on_change.append(self.told.append)

    def expect(self, expect_every: int | None, name: str = "shop") -> None:
        endpoint = Endpoint(name, "shopify", ("/wh_x",), ("shop",), expect_every=expect_every)
        self.live.swap(LiveRuleset(a_ruleset(endpoints={name: endpoint}), SecretValues({}, {})))

    async def later(self, hours: float) -> None:
        await self.clock.advance(hours * HOUR)
        await self.silence.step()

    def gauge(self) -> float:
        return self.metrics.value("router_endpoint_silent", endpoint="shop")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    yield opened
    await opened.close()


async def test_an_endpoint_that_never_heard_anything_is_silent_in_time(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(5.9)
    assert (world.told, world.gauge(), world.silence.silent()) == ([], 0, {})
    await world.later(0.2)
    assert world.told == [SilentEndpoint("shop", None, START_MS, SIX_H)]
    assert world.gauge() == 1
    assert world.silence.silent() == {"shop": {"last": None, "since": START_MS}}
    await world.later(5)
    assert len(world.told) == 1


async def test_any_delivery_is_a_sign_of_life_a_duplicate_too(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    for result in ("routed", "duplicate", "unparsed"):
        await world.clock.advance(5 * HOUR)
        world.metrics.delivered("shop", result)
        world.metrics.delivered("another", result)
        await world.later(0)
    assert world.told == []
    await world.later(6.1)
    heard_at = START_MS + 15 * 3_600_000
    assert world.told == [SilentEndpoint("shop", heard_at, START_MS, SIX_H)]
    world.metrics.delivered("shop", "routed")
    await world.later(0.1)
    assert world.told[-1].over
    assert (len(world.told), world.gauge(), world.silence.silent()) == (2, 0, {})


async def test_refusals_are_no_sign_of_life(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    world.metrics.refused("shop", "bad_signature")
    await world.later(6.1)
    assert len(world.told) == 1


async def test_a_restart_goes_on_waiting(store: SqliteStore) -> None:
    """What came last is in the store; that it has been told, too."""
    clock = ManualClock()
    await store.accept(Maker().acceptance(endpoint="shop", received_at=clock.now()))
    for _ in range(3):
        world = World(store, clock)
        await world.later(1.9)
        assert world.told == []
    world = World(store, clock)
    await world.later(0.5)
    assert [(s.last, s.over) for s in world.told] == [(START_MS, False)]
    again = World(store, clock)
    await again.later(1)
    assert again.told == []
    assert again.gauge() == 1
    again.metrics.delivered("shop", "routed")
    await again.later(1)
    assert [s.over for s in again.told] == [True]


async def test_a_restart_without_any_delivery_goes_on_waiting_too(store: SqliteStore) -> None:
    clock = ManualClock()
    for _ in range(4):
        world = World(store, clock)
        await world.later(1.4)
        assert world.told == []
    world = World(store, clock)
    await world.later(1.9)
    assert len(world.told) == 1


async def test_what_nobody_watches_any_more_is_forgotten(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(7)
    world.expect(None)
    await world.later(0)
    assert (world.gauge(), world.silence.silent()) == (0, {})
    assert await store.recall("silence/") == {}
    world.expect(SIX_H)
    await world.later(0)
    await world.later(5)
    assert len(world.told) == 1


async def test_another_length_counts_from_the_next_look(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(5)
    world.expect(SIX_H // 2)
    await world.later(0)
    assert [s.expect_every for s in world.told] == [SIX_H // 2]


@pytest.mark.parametrize("days", [1, -1])
async def test_nobody_falls_silent_because_the_clock_was_set(days: int, store: SqliteStore) -> None:
    clock = SetClock()
    world = World(store, clock)
    await world.later(0)
    world.metrics.delivered("shop", "routed")
    await world.later(1)
    clock.set(days * 24 * 3_600_000)
    clock.resume(days * 24 * 3_600_000)
    await world.later(5.9)
    assert world.told == []
    await world.later(0.2)
    assert len(world.told) == 1
