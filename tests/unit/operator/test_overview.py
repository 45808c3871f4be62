"""The overview: what is counted, what waits, what needs a person."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from router.model.activity import MINUTE_S, QUARTER_S, ActivityCount
from router.model.job import Attempt, Settlement
from router.model.settings import Endpoint, SecretRef
from router.operator.overview import ROWS_MAX
from router.operator.overview_answer import Sums
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from tests.builders import NOW, a_ruleset
from tests.clocks import ManualClock
from tests.conformance.model_store import ModelStore
from tests.operators import questions_of
from tests.unit.operator.world import World


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = await open_store(f"{tmp_path}/router.db", clock=ManualClock(NOW))
    yield made
    await made.close()


async def test_what_waits_and_what_died(store: SqliteStore) -> None:
    world = World(store)
    await world.take(1)
    [work] = (await store.lease({"one": 1}, lease="n/1", now=NOW + 1000)).jobs
    job = work.job
    end = Attempt(job.id, 1, NOW, NOW + 1500, "dead", "no", {}, job.generation)
    await store.settle(Settlement(job.id, "n/1", end, "dead", reason="no"))
    clock = ManualClock(NOW + 120_000)
    found = await questions_of(store.reads, world.live, clock).overview()
    assert found.waiting.states["available"] == 1
    assert found.waiting.target == "two"
    assert (found.dead.count, found.dead.newest, found.dead.newest_at) == (1, job.id, NOW + 1500)
    assert [(one.kind, one.command) for one in found.attention] == [
        ("late", "router targets"),
        ("dead", "router dead"),
    ]
    assert [one.name for one in found.endpoints] == ["shop"]
    assert found.endpoints[0].deliveries == Sums()


async def test_trouble_is_found_beyond_the_places_that_are_shown() -> None:
    """A hundred busier endpoints, and the one that refuses more than it accepts."""
    clock = ManualClock(NOW)
    store = ModelStore(clock)
    endpoints = {f"e{n}": Endpoint(f"e{n}", "shopify", (f"/e{n}",)) for n in range(ROWS_MAX + 1)}
    at = NOW - NOW % 900_000
    await store.count_activity(
        [
            ActivityCount(span_s, at, "delivery", name, "routed", 50)
            for name in list(endpoints)[:-1]
            for span_s in (MINUTE_S, QUARTER_S)
        ]
        + [
            ActivityCount(span_s, at, "refusal", f"e{ROWS_MAX}", "bad_signature", 20)
            for span_s in (MINUTE_S, QUARTER_S)
        ]
    )
    live = LiveRef(LiveRuleset(a_ruleset(endpoints=endpoints), SecretValues({}, {})))
    found = await questions_of(store.reads, live, clock).overview()
    assert len(found.endpoints) == ROWS_MAX
    assert f"e{ROWS_MAX}" not in {one.name for one in found.endpoints}
    assert [(one.kind, one.name) for one in found.attention] == [("refused", f"e{ROWS_MAX}")]


@pytest.mark.parametrize(
    ("secrets", "until", "unverifiable"),
    [
        (("new",), NOW + 1, False),
        (("new",), NOW, True),
        (("new", "old"), NOW, True),
        (("new", "old"), NOW + 1, False),
        (("new", "old"), None, False),
        ((), NOW, False),
    ],
)
async def test_an_endpoint_whose_last_secret_ends_while_the_router_runs(
    secrets: tuple[str, ...], until: int | None, unverifiable: bool
) -> None:
    clock = ManualClock(NOW)
    refs = {"old": SecretRef("old", env="O", until=NOW - 1), "new": SecretRef("new", until=until)}
    shop = Endpoint("shop", "shopify", ("/shop",), secrets)
    ruleset = replace(a_ruleset(endpoints={"shop": shop}), secrets=refs)
    live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
    found = await questions_of(ModelStore(clock).reads, live, clock).overview()
    said = [("secret", "shop", "router doctor shop")] if unverifiable else []
    assert [(one.kind, one.name, one.command) for one in found.attention] == said
