"""Silence on a real SQLite file: noticed, told once, over, and the same after a restart."""

from typing import Any

import pytest

from router.metrics import Metrics
from router.model.settings import Endpoint
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.quiet_endpoints import QuietEndpoints
from router.store.sqlite.store import SqliteStore
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock, SetClock
from tests.store_values import Maker

HOUR = 3600.0
SIX_H = 6 * 3_600_000
SILENT = "endpoint silent"


class World:
    """One process's watch; another one on the same store is a restart."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store, self.clock, self.metrics = store, clock, Metrics()
        self.live = LiveRef(LiveRuleset(a_ruleset(), SecretValues({}, {})))
        self.expect(SIX_H)
        self.quiet = QuietEndpoints(
            store=store,
            live=self.live,
            metrics=self.metrics,
            clock=clock,
            log=self,  # type: ignore[arg-type] # its lines are kept
        )
        self.lines: list[tuple[str, str, int | None, float]] = []

    def at(self, _level: str, event: str, fields: dict[str, Any]) -> None:
        """A log line: an endpoint has fallen quiet, or delivers again."""
        said = (event, fields["endpoint"], fields["last"], fields["expect_every_s"])
        self.lines.append(said)

    def expect(self, expect_every: int | None, name: str = "shop") -> None:
        endpoint = Endpoint(name, "shopify", ("/wh_x",), ("shop",), expect_every=expect_every)
        self.live.swap(LiveRuleset(a_ruleset(endpoints={name: endpoint}), SecretValues({}, {})))

    async def later(self, hours: float) -> None:
        await self.clock.advance(hours * HOUR)
        await self.quiet.step()

    def gauge(self) -> float:
        return self.metrics.value("router_endpoint_silent", endpoint="shop")


async def test_an_endpoint_that_never_received_anything_is_silent_in_time(
    store: SqliteStore,
) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(5.9)
    assert (world.lines, world.gauge(), world.quiet.silent()) == ([], 0, {})
    await world.later(0.2)
    assert world.lines == [(SILENT, "shop", None, SIX_H / 1000)]
    assert world.gauge() == 1
    assert world.quiet.silent() == {"shop": {"last": None, "since": START_MS}}
    await world.later(5)
    assert len(world.lines) == 1


async def test_any_delivery_is_a_sign_of_life_a_duplicate_too(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    for result in ("routed", "duplicate", "unparsed"):
        await world.clock.advance(5 * HOUR)
        world.metrics.delivered("shop", result)
        world.metrics.delivered("another", result)
        await world.later(0)
    assert world.lines == []
    await world.later(6.1)
    heard_at = START_MS + 15 * 3_600_000
    assert world.lines == [(SILENT, "shop", heard_at, SIX_H / 1000)]
    world.metrics.delivered("shop", "routed")
    await world.later(0.1)
    assert world.lines[-1][0] == "endpoint heard again"
    assert (len(world.lines), world.gauge(), world.quiet.silent()) == (2, 0, {})


async def test_refusals_are_no_sign_of_life(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    world.metrics.refused("shop", "bad_signature")
    await world.later(6.1)
    assert len(world.lines) == 1


async def test_a_restart_goes_on_waiting(store: SqliteStore) -> None:
    """What came last is in the store; that it has been told, too."""
    clock = ManualClock()
    await store.accept(Maker().acceptance(endpoint="shop", received_at=clock.now()))
    for _ in range(3):
        world = World(store, clock)
        await world.later(1.9)
        assert world.lines == []
    world = World(store, clock)
    await world.later(0.5)
    assert [(event, last) for event, _, last, _ in world.lines] == [(SILENT, START_MS)]
    again = World(store, clock)
    await again.later(1)
    assert again.lines == []
    assert again.gauge() == 1
    again.metrics.delivered("shop", "routed")
    await again.later(1)
    assert [event for event, *_ in again.lines] == ["endpoint heard again"]


async def test_a_restart_without_any_delivery_goes_on_waiting_too(store: SqliteStore) -> None:
    clock = ManualClock()
    for _ in range(4):
        world = World(store, clock)
        await world.later(1.4)
        assert world.lines == []
    world = World(store, clock)
    await world.later(1.9)
    assert len(world.lines) == 1


async def test_what_nobody_watches_any_more_is_forgotten(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(7)
    world.expect(None)
    await world.later(0)
    assert (world.gauge(), world.quiet.silent()) == (0, {})
    assert await store.recall("silence/") == {}
    world.expect(SIX_H)
    await world.later(0)
    await world.later(5)
    assert len(world.lines) == 1


async def test_another_length_counts_from_the_next_look(store: SqliteStore) -> None:
    world = World(store, ManualClock())
    await world.later(0)
    await world.later(5)
    world.expect(SIX_H // 2)
    await world.later(0)
    assert [every for *_, every in world.lines] == [SIX_H / 2000]


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
    assert world.lines == []
    await world.later(0.2)
    assert len(world.lines) == 1


async def test_what_another_node_heard_is_a_sign_of_life(store: SqliteStore) -> None:
    """It is in the store, and in nobody's counts here."""
    world = World(store, ManualClock())
    await world.later(0)
    heard_at = START_MS + 5 * 3_600_000
    await store.accept(Maker().acceptance(received_at=heard_at))
    await world.later(10)
    assert world.lines == []
    await world.later(1.1)
    assert world.lines == [(SILENT, "shop", heard_at, SIX_H / 1000)]
