"""The overview: what is counted, what waits, what needs a person."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.model.job import Attempt, Settlement
from router.operator.overview_answer import Sums
from router.store.sqlite.store import SqliteStore, open_store
from tests.builders import NOW
from tests.clocks import ManualClock
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
