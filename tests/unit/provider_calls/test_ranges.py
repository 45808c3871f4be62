"""Published ranges: fetched, believed only whole, kept across restarts, refreshed."""

import json
import random
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any

import pytest

from router import log
from router.errors import StoreUnavailable
from router.model.fetched import Fetched
from router.provider_calls.client import ProviderClient
from router.provider_calls.fetches import Fetches
from router.provider_calls.keys import REFRESH_S, PublishedRanges
from router.provider_calls.published import LOAD_S
from router.providers.published_ranges import RangesSource
from router.providers.ranges_rule import RangesRule
from router.store.values import Claimed, alone
from tests.api_server import HOOKS, TOKEN, Answer, ApiServer
from tests.clocks import JumpingClock
from tests.unit.provider_calls.conftest import client_of, host

HOUR = 3600.0


class Facts:
    """A store's facts."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.broken = False

    async def remember(self, facts: Mapping[str, Any]) -> None:
        if self.broken:
            raise StoreUnavailable("disk full")
        self.kept |= facts

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return {k: v for k, v in self.kept.items() if k.startswith(prefix)}


class World:
    """One router's ranges."""

    def __init__(
        self, api: ApiServer, facts: Facts | None = None, claimed: Claimed = alone
    ) -> None:
        self.api, self.facts, self.clock = api, facts or Facts(), JumpingClock()
        self.needed = [RangesSource.of_api(host(api, token=TOKEN))]
        self.fetches = Fetches()
        self.ranges = PublishedRanges(
            sources=lambda: self.needed,
            open_client=self.client,
            facts=self.facts,
            clock=self.clock,
            rng=random.Random(1),
            log=log.get("test"),
            fetches=self.fetches,
            claimed=claimed,
        )

    def client(self, base: str) -> AbstractAsyncContextManager[ProviderClient]:
        return client_of(self.api)

    @property
    def known(self) -> tuple[str, ...] | None:
        return self.ranges.of(self.api.url)

    async def later(self, seconds: float) -> None:
        self.clock.elapsed += seconds
        await self.ranges.step()


async def test_nothing_is_known_until_it_is_fetched(api: ApiServer) -> None:
    world = World(api)
    await world.ranges.load()
    assert world.known is None
    assert world.ranges.known_at() == {api.url: None}
    await world.ranges.step()
    assert world.known == tuple(HOOKS)
    assert world.fetches.states() == {api.url: Fetched("address ranges", world.clock.now())}
    assert world.ranges.known_at() == {api.url: world.clock.now()}


async def test_it_is_fetched_again_every_few_hours_and_not_before(api: ApiServer) -> None:
    world = World(api)
    await world.ranges.step()
    await world.later(REFRESH_S * 0.85)
    assert len(api.asked) == 1
    api.hooks = ["198.51.100.0/24"]
    await world.later(REFRESH_S * 0.3)
    assert len(api.asked) == 2
    assert world.known == ("198.51.100.0/24",)


BAD: list[Any] = [
    Answer(500, "oops"),
    Answer(403, {"message": "rate limited"}),
    Answer(302, "", {"Location": "/elsewhere"}),
    Answer(500, {"hooks": ["198.51.100.0/24"]}),
    Answer(200, "no json"),
    Answer(200, {"hooks": ["198.51.100.0/24"]}, {"Content-Type": "text/html"}),
    Answer(203, {"hooks": ["198.51.100.0/24"]}),
    Answer(200, {}),
    Answer(200, []),
    Answer(200, {"hooks": []}),
    Answer(200, {"hooks": "192.0.2.0/24"}),
    Answer(200, {"hooks": ["192.0.2.0/24", "everybody"]}),
    Answer(200, {"hooks": ["192.0.2.0/24", 5]}),
    Answer(200, {"hooks": ["192.0.2.1/24"]}),
    Answer(200, {"hooks": ["192.0.2.0/24", "0.0.0.0/0"]}),
    Answer(200, {"hooks": ["192.0.2.0/24", "::/0"]}),
    Answer(200, {"hooks": ["::ffff:0.0.0.0/96"]}),
    Answer(200, {"hooks": [f"10.0.{n // 256}.{n % 256}/32" for n in range(1001)]}),
    "hang",
    "close",
    "garbage",
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_a_bad_answer_opens_nothing_and_forgets_nothing(api: ApiServer, bad: Any) -> None:
    world = World(api)
    api.script.append(bad)
    await world.ranges.step()
    assert world.known is None
    await world.later(6)
    assert world.known == tuple(HOOKS)
    api.script.append(bad)
    await world.later(REFRESH_S * 1.2)
    assert len(api.asked) == 3
    assert world.known == tuple(HOOKS)


async def test_failures_are_tried_again_ever_later(api: ApiServer) -> None:
    world = World(api)
    api.script += [Answer(500)] * 8
    times = []
    for _ in range(40_000):
        before = len(api.asked)
        await world.later(1)
        if len(api.asked) > before:
            times.append(world.clock.elapsed)
        if len(times) == 7:
            break
    pauses = [round(b - a) for a, b in pairwise(times)]
    for pause, expected in zip(pauses, [5, 30, 120, 600, 3600, 3600], strict=True):
        assert abs(pause - expected) <= expected * 0.1 + 1


async def test_a_retry_after_is_kept_to(api: ApiServer) -> None:
    world = World(api)
    api.script.append(Answer(429, "", {"Retry-After": "300"}))
    await world.ranges.step()
    await world.later(299)
    assert len(api.asked) == 1
    await world.later(2)
    assert len(api.asked) == 2


async def test_a_restart_knows_what_was_known(api: ApiServer) -> None:
    first = World(api)
    await first.ranges.step()
    api.script += [Answer(500)] * 100
    second = World(api, first.facts)
    await second.ranges.load()
    assert second.known == tuple(HOOKS)
    await second.ranges.step()
    assert len(api.asked) == 1  # it was fetched a moment ago
    await second.later(REFRESH_S + 1)
    assert len(api.asked) == 2
    assert second.known == tuple(HOOKS)


async def test_what_is_no_list_in_the_store_is_not_believed(api: ApiServer) -> None:
    facts = Facts()
    facts.kept = {f"ranges/{api.url}": {"ranges": "all"}}
    world = World(api, facts)
    await world.ranges.load()
    assert world.known is None


async def test_a_store_that_fails_stops_nothing(api: ApiServer) -> None:
    world = World(api)
    world.facts.broken = True
    await world.ranges.step()
    assert world.known == tuple(HOOKS)


async def test_a_source_that_a_reload_brings_is_asked_next(api: ApiServer) -> None:
    world = World(api)
    needed, world.needed = world.needed, []
    await world.ranges.step()
    assert api.asked == []
    world.needed = needed
    await world.later(5)
    assert world.known == tuple(HOOKS)


async def test_one_address_is_asked_once_for_many_endpoints(api: ApiServer) -> None:
    world = World(api)
    world.needed *= 3
    await world.ranges.step()
    assert len(api.asked) == 1


async def test_v4_in_v6_is_the_v4_range_it_is(api: ApiServer) -> None:
    api.hooks = ["::ffff:192.0.2.0/120", "192.0.2.0/24"]
    world = World(api)
    await world.ranges.step()
    assert world.known == ("192.0.2.0/24",)


async def test_one_node_asks_and_the_others_take_over_the_answer(api: ApiServer) -> None:
    facts, holder = Facts(), [True]

    async def claimed(_name: str, _ttl_ms: int) -> bool:
        return not holder[0]

    asks, other = World(api, facts), World(api, facts, claimed)
    await other.ranges.step()
    assert (api.asked, other.known) == ([], None)
    await asks.ranges.step()
    await other.later(LOAD_S)
    assert other.known == asks.known == tuple(HOOKS)
    await other.later(REFRESH_S * 0.85)
    holder[0] = False
    await other.later(REFRESH_S * 0.3)
    assert len(api.asked) == 2, "the one that asked is gone"


ITEMS = [
    {"cidr": "192.0.2.0/25", "product": ["bitbucket", "jira"], "direction": ["egress"]},
    {"cidr": "198.51.100.7", "product": ["bitbucket"], "direction": ["ingress"]},
    {"cidr": "2001:db8::/48", "product": ["trello"], "direction": "egress"},
]


@pytest.mark.parametrize(
    ("path", "where", "published", "known"),
    [
        ("", {}, ["192.0.2.1", "192.0.2.2"], ("192.0.2.1/32", "192.0.2.2/32")),
        ("WEBHOOKS", {}, {"WEBHOOKS": ["192.0.2.1"]}, ("192.0.2.1/32",)),
        (
            "items.cidr",
            {"product": "bitbucket", "direction": "egress"},
            {"items": ITEMS},
            ("192.0.2.0/25",),
        ),
        ("items.cidr", {"direction": "egress"}, {"items": ITEMS[2:]}, ("2001:db8::/48",)),
        ("items.cidr", {"product": "other"}, {"items": ITEMS}, None),
        ("items.cidr", {}, {"items": [*ITEMS, {"network": "192.0.2.0"}]}, None),
        ("items.cidr", {}, {"items": "192.0.2.0"}, None),
        ("", {}, {"WEBHOOKS": ["192.0.2.1"]}, None),
    ],
)
async def test_a_list_at_an_address_of_its_own(
    api: ApiServer, path: str, where: dict[str, str], published: Any, known: Any
) -> None:
    world = World(api)
    world.needed = [RangesSource.of_url(RangesRule(f"{api.url}/ips.json", path, where))]
    api.script.append(Answer(200, json.dumps(published)))  # as a web page: it proves itself
    await world.ranges.step()
    assert world.ranges.of(f"{api.url}/ips.json") == known
    assert api.asked[0].path == "/ips.json"
    assert "authorization" not in api.asked[0].headers
