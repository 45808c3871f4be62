"""Conditions become events: once when they begin, again after they were over, restarts or not."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from router.metrics import Metrics
from router.model.settings import (
    DAY_MS,
    OWN_ENDPOINT,
    Endpoint,
    Retention,
    SecretRef,
    ServerSettings,
)
from router.model.target import TargetNow
from router.providers import own
from router.refusals import PROBE
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.conditions import (
    Alerts,
    RefusalAlerts,
    ThisNode,
    look_at_endpoints,
    look_at_secrets,
    look_at_storage,
    look_at_targets,
    watches,
)
from router.serving.own_events import ConditionWatch
from router.store.sqlite.store import SqliteStore
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock

SHOP = Endpoint("shop", "shopify", ("/wh_x",), ("shop",), expect_every=3_600_000)
GIB = 1024**3


class World:
    """One process's watches; another one on the same store is a restart."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store, self.clock, self.metrics = store, clock, Metrics()
        self.live = LiveRef(LiveRuleset(a_ruleset(endpoints={"shop": SHOP}), SecretValues({}, {})))
        self.sent: list[tuple[str, str, Mapping[str, Any]]] = []
        self.wanted = True
        self.alerts = Alerts(store, self.send)

    async def send(self, event: str, identity: str, payload: Mapping[str, Any]) -> bool:
        if self.wanted:
            self.sent.append((event, identity, payload))
        return self.wanted

    def say(self, **changes: Any) -> None:
        ruleset = msgspec.structs.replace(self.live.current.ruleset, **changes)
        self.live.swap(LiveRuleset(ruleset, SecretValues({}, {})))

    @property
    def payloads(self) -> list[Mapping[str, Any]]:
        return [payload for _, _, payload in self.sent]

    def refuse(self, times: int, reason: str = "bad_signature") -> None:
        for _ in range(times):
            self.metrics.refused("shop", reason)

    async def later(self, watch: ConditionWatch, seconds: float) -> None:
        await self.clock.advance(seconds)
        await watch()


@pytest.fixture
def world(store: SqliteStore) -> World:
    return World(store, ManualClock())


def shaped(event: str, payload: Mapping[str, Any]) -> None:
    """The payload has the fields that the definition shows, no more and no less."""
    sample = own().sample(event)
    assert isinstance(sample, dict)
    assert set(payload) == set(sample)


# Refusing


def refusing(world: World) -> ConditionWatch:
    return RefusalAlerts(
        live=world.live,
        metrics=world.metrics,
        clock=world.clock,
        alerts=world.alerts,
    ).step


async def test_refusals_are_told_once_from_the_twentieth_on(world: World) -> None:
    watch = refusing(world)
    world.refuse(19)
    await world.later(watch, 10)
    assert world.sent == []
    world.refuse(1, "stale_timestamp")
    await world.later(watch, 10)
    ((event, _, payload),) = world.sent
    shaped(event, payload)
    assert payload == {
        "endpoint": "shop",
        "refused": 20,
        "accepted": 0,
        "minutes": 5,
        "reasons": {"bad_signature": 19, "stale_timestamp": 1},
        "main_reason": "bad_signature",
    }
    world.refuse(500)
    await world.later(watch, 10)
    assert len(world.sent) == 1


async def test_refusals_fewer_than_what_is_accepted_are_no_news(world: World) -> None:
    watch = refusing(world)
    world.refuse(30)
    for _ in range(30):
        world.metrics.delivered("shop", "routed")
    await world.later(watch, 10)
    assert world.sent == []
    world.refuse(1)
    await world.later(watch, 10)
    assert len(world.sent) == 1


async def test_what_doctor_asks_is_no_refusal(world: World) -> None:
    watch = refusing(world)
    world.refuse(500, PROBE)
    world.refuse(19)
    await world.later(watch, 10)
    assert world.sent == []


async def test_old_refusals_do_not_count(world: World) -> None:
    watch = refusing(world)
    for _ in range(20):
        world.refuse(1)
        await world.later(watch, 20)
    assert world.sent == []


async def test_after_five_good_minutes_it_may_begin_anew(world: World) -> None:
    watch = refusing(world)
    for _ in range(2):
        world.refuse(20)
        await world.later(watch, 10)
        for _ in range(62):
            await world.later(watch, 10)
    assert len(world.sent) == 2
    assert world.sent[0][1] != world.sent[1][1]


async def test_a_restart_in_the_midst_does_not_tell_it_again(world: World) -> None:
    world.refuse(20)
    await world.later(refusing(world), 10)
    again = World(world.store, world.clock)
    again.refuse(20)
    await again.later(refusing(again), 10)
    assert (len(world.sent), again.sent) == (1, [])


async def test_what_nobody_wants_is_told_when_somebody_does(world: World) -> None:
    watch = refusing(world)
    world.wanted = False
    world.refuse(20)
    await world.later(watch, 10)
    assert await world.store.recall("own/") == {}
    world.wanted = True
    await world.later(watch, 10)
    assert len(world.sent) == 1


# Silence


async def test_each_silence_is_told_once(world: World) -> None:
    silent: dict[str, Any] = {"shop": {"last": None, "since": START_MS}}

    def silences(one: World) -> ConditionWatch:
        return partial(look_at_endpoints, live=one.live, silent=lambda: silent, alerts=one.alerts)

    watch = silences(world)
    for _ in range(2):
        await watch()
    ((event, _, payload),) = world.sent
    shaped(event, payload)
    assert (payload["last"], payload["expect_every_s"]) == (None, 3600)
    again = World(world.store, world.clock)
    await silences(again)()
    assert again.sent == []
    silent.clear()
    await watch()
    silent["shop"] = {"last": START_MS + 5000, "since": START_MS}
    await watch()
    assert world.payloads[1]["last"].endswith("Z")
    assert len(world.sent) == 2


# Targets


def a_target(state: Any, since: int = START_MS, by: str = "router") -> TargetNow:
    known: dict[str, Any] = {
        "target": "erp",
        "state": state,
        "since": since,
        "reason": "7 of 10 calls failed",
        "by": by,
        "next_probe": START_MS + 60_000 if state == "failing" else None,
    }
    return TargetNow(**(dict.fromkeys(TargetNow.__struct_fields__) | known))


async def test_a_target_is_failing_until_it_is_reached_again(world: World) -> None:
    now = [a_target("healthy")]
    watch = partial(look_at_targets, now=lambda: now, alerts=world.alerts)
    for since, state in enumerate(
        ("healthy", "failing", "recovering", "failing", "healthy", "failing")
    ):
        now[:] = [a_target(state, START_MS + since)]
        await watch()
    assert [event for event, _, _ in world.sent] == ["target.failing"] * 2
    shaped(*world.sent[0][::2])


async def test_a_target_paused_by_hand_names_who(world: World) -> None:
    now = [a_target("failing")]
    watch = partial(look_at_targets, now=lambda: now, alerts=world.alerts)
    await watch()
    now[:] = [a_target("paused", START_MS + 1, by="ada")]
    for _ in range(2):
        await watch()
    assert [event for event, _, _ in world.sent] == ["target.failing", "target.paused"]
    shaped(*world.sent[1][::2])
    assert world.payloads[1]["by"] == "ada"


# Secrets


def expiring(world: World) -> ConditionWatch:
    return partial(look_at_secrets, live=world.live, clock=world.clock, alerts=world.alerts)


async def test_a_secret_s_end_is_told_a_week_and_a_day_before(world: World) -> None:
    until = START_MS + 10 * DAY_MS
    world.say(secrets={"old": SecretRef("old", env="OLD", until=until), "x": SecretRef("x", "X")})
    watch = expiring(world)
    for _ in range(11 * 24):
        await world.later(watch, 3600)
    assert [p["days_left"] for p in world.payloads] == [7, 1]
    shaped(*world.sent[0][::2])
    assert world.sent[0][1] != world.sent[1][1]


async def test_a_restart_tells_no_end_again_and_skips_what_is_past(world: World) -> None:
    secrets = {"old": SecretRef("old", env="OLD", until=START_MS + DAY_MS // 2)}
    world.say(secrets=secrets)
    await expiring(world)()
    again = World(world.store, world.clock)
    again.say(secrets=secrets)
    await expiring(again)()
    assert ([p["days_left"] for p in world.payloads], again.sent) == ([1], [])


async def test_another_end_is_another_event(world: World) -> None:
    for days in (5, 6):
        secrets = {"old": SecretRef("old", env="OLD", until=START_MS + days * DAY_MS)}
        world.say(secrets=secrets)
        await expiring(world)()
    assert [p["days_left"] for p in world.payloads] == [5, 6]
    world.say(secrets={})
    await expiring(world)()
    assert await world.store.recall("own/") == {}


# The store


async def test_a_filling_disk_is_told_once_until_there_is_room(world: World) -> None:
    used = [0.5]
    watch = partial(
        look_at_storage,
        live=world.live,
        store=world.store,
        disk=lambda: (int(used[0] * 100 * GIB), 100 * GIB),
        clock=world.clock,
        alerts=world.alerts,
    )
    for used[0] in (0.94, 0.95, 0.96, 0.94, 0.95, 0.91, 0.95):
        await watch()
    assert [p["percent"] for p in world.payloads] == [95, 95]
    shaped(*world.sent[0][::2])


async def test_a_store_near_its_cap_is_told(world: World) -> None:
    watch = partial(
        look_at_storage,
        live=world.live,
        store=world.store,
        disk=lambda: (0, GIB),
        clock=world.clock,
        alerts=world.alerts,
    )
    size = await world.store.reads.size()
    for cap in (size * 2, size * 10 // 8, size * 10 // 8):
        world.say(server=ServerSettings(retention=Retention(max_size=cap)))
        await watch()
    assert [p["cause"] for p in world.payloads] == ["max_size"]
    assert OWN_ENDPOINT.addresses == ()


# Several nodes


async def test_what_is_the_same_to_all_nodes_is_told_by_one(world: World) -> None:
    """Each tells of what it alone sees; none takes another's word for its own."""
    world.store.shared = True  # type: ignore[misc]
    here, there, quiet = [True], [True], dict[str, Any]()

    def node(name: str, claims: list[bool], metrics: Metrics) -> tuple[ConditionWatch, ...]:
        async def claimed(_name: str, _ttl_ms: int) -> bool:
            return claims[0]

        return watches(
            SimpleNamespace(send=world.send),  # type: ignore[arg-type]
            world.live,
            world.store,
            silent=lambda: quiet,
            targets=tuple,
            clock=world.clock,
            metrics=metrics,
            here=ThisNode(name, claimed),
        )

    async def look() -> list[str]:
        world.sent.clear()
        for watch in [*one, *other]:
            await watch()
        return [event for event, _, _ in world.sent]

    one, other = node("one", here, Metrics()), node("other", there, world.metrics)
    assert await look() == []
    there[0], quiet["shop"] = False, {"last": None, "since": START_MS}
    assert await look() == ["endpoint.silent"]
    here[0], there[0] = False, True
    assert await look() == [], "it is known in the store"
    here[0] = True
    world.refuse(20)
    assert await look() == ["endpoint.refusing"]
    for _ in range(6):
        await world.clock.advance(60)
        world.refuse(20)
        assert await look() == [], "it goes on, though the other node sees none of it"
