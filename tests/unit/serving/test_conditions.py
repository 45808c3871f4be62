"""Conditions become events: once when they begin, again after they were over, restarts or not."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from router.config import load
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
from router.serving.alerts import Alerts
from router.serving.conditions import (
    RefusalAlerts,
    RuleAlerts,
    ThisNode,
    WatchedParts,
    look_at_endpoints,
    look_at_ends,
    look_at_storage,
    look_at_targets,
    watches,
)
from router.serving.own_events import ConditionWatch
from router.store.sqlite.store import SqliteStore
from router.store.values import RuleCount
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
    """The payload has the fields that the definition shows, but for the text that it gets."""
    sample = own().sample(event)
    assert isinstance(sample, dict)
    assert {*payload, "text"} == {*sample}


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


# Rules that err


async def test_a_rule_that_errs_is_told_once_an_hour_at_most(world: World) -> None:
    text = "version: 1\nrules: [{id: a, from: router, events: rule.failing, actions: {log: x}}]\n"
    ruleset = load(text, path="rules.yaml", env={}).ruleset
    assert ruleset is not None
    world.live.swap(LiveRuleset(ruleset, SecretValues({}, {})))
    store = world.store

    async def count(rule: str, errored: int, matched: int) -> None:
        await store.count_rules([RuleCount(rule, errored, matched, errored, 0, START_MS)])

    def alerts() -> ConditionWatch:
        return RuleAlerts(
            live=world.live, reads=store.reads, clock=world.clock, alerts=world.alerts
        ).step

    await count("paid", 900, 0)
    watch = alerts()
    await watch()
    await count("paid", 4, 0)
    await count("new", 5, 5)
    await world.later(watch, 60)
    assert world.sent == [], "too few; not more than matched; what was before does not count"
    await count("paid", 1, 2)
    await count("new", 1, 0)
    await world.later(watch, 30)
    assert world.sent == [], "it is not yet time to look"
    await world.later(watch, 30)
    assert [p["rule"] for p in world.payloads] == ["new", "paid"]
    assert world.payloads[1] == {"rule": "paid", "erred": 5, "matched": 2, "minutes": 60}
    shaped(*world.sent[0][::2])
    again = alerts()
    for _ in range(59):
        await world.later(again, 60)
    await count("paid", 5, 0)
    await world.later(again, 60)
    assert len(world.sent) == 2, "a restart tells nothing again, and it goes on"
    await count("new", 6, 0)
    await world.later(again, 60)
    assert [p["rule"] for p in world.payloads[2:]] == ["new"], "an hour later it is another time"


async def test_rules_are_not_read_where_nobody_asks(world: World) -> None:
    async def asked() -> None:
        raise AssertionError("rules were read")

    alerts = RuleAlerts(
        live=world.live,
        reads=SimpleNamespace(rule_counts=asked),  # type: ignore[arg-type]
        clock=world.clock,
        alerts=world.alerts,
    )
    await alerts.step()


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


# Secrets and certificates


ENDS = pytest.mark.parametrize("thing", ["secret", "certificate"])


def expiring(world: World, thing: str, *, at: int | None) -> ConditionWatch:
    ends = {} if at is None else {"old": at}
    return partial(look_at_ends, thing, lambda: ends, clock=world.clock, alerts=world.alerts)


@pytest.mark.parametrize(
    ("thing", "told"), [("secret", [7, 1]), ("certificate", [21, 7, 1])], ids=str
)
async def test_an_end_is_told_some_days_before(world: World, thing: str, told: list[int]) -> None:
    watch = expiring(world, thing, at=START_MS + 23 * DAY_MS)
    for _ in range(24 * 6):
        await world.later(watch, 4 * 3600)
    assert [p["days_left"] for p in world.payloads] == told
    shaped(*world.sent[0][::2])
    assert len({identity for _, identity, _ in world.sent}) == len(told)


@ENDS
async def test_a_restart_tells_no_end_again_and_skips_what_is_past(
    world: World, thing: str
) -> None:
    at = START_MS + DAY_MS // 2
    await expiring(world, thing, at=at)()
    again = World(world.store, world.clock)
    await expiring(again, thing, at=at)()
    assert ([p["days_left"] for p in world.payloads], again.sent) == ([1], [])


@ENDS
async def test_another_end_is_another_event(world: World, thing: str) -> None:
    for days in (5, 6):
        await expiring(world, thing, at=START_MS + days * DAY_MS)()
    assert [p["days_left"] for p in world.payloads] == [5, 6]
    await expiring(world, thing, at=None)()
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
    here, there, quiet, ends = [True], [True], dict[str, Any](), dict[str, int]()

    def node(name: str, claims: list[bool], metrics: Metrics) -> tuple[ConditionWatch, ...]:
        async def claimed(_name: str, _ttl_ms: int) -> bool:
            return claims[0]

        return watches(
            SimpleNamespace(send=world.send),  # type: ignore[arg-type]
            world.live,
            world.store,
            parts=WatchedParts(lambda: quiet, tuple, lambda: ends, metrics),
            hide=str,
            clock=world.clock,
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
    ends["server.tls"] = START_MS + DAY_MS
    world.say(secrets={"old": SecretRef("old", env="OLD", until=START_MS + DAY_MS)})
    assert sorted(await look()) == ["certificate.expiring"] * 2 + ["secret.expiring"]
    told = {identity for event, identity, _ in world.sent if event == "certificate.expiring"}
    assert len(told) == 1, "of the same certificate all nodes say the same, which is stored once"
