"""What the running server tells of itself, and its reload."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.ids import Ids
from router.operator.answers import JobOutput, ReloadState
from router.operator.audit import AuditTrail
from router.refusals import Refusals
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.running import LiveParts, RunningServer
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import NodeCard
from tests.builders import a_request, a_rule, a_ruleset
from tests.clocks import ManualClock, settle
from tests.store_values import Maker


class World:
    """A server over a real store; `full`, `written` and the `reloader` are the test's to set."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self.refusals = Refusals()
        for reason in ("bad_signature", "late"):
            self.refusals.add({"reason": reason})
        self.full = False
        self.reloader = SimpleNamespace(state=ReloadState(), reload=self.reload)
        self.written: dict[str, Any] | None = None
        self.server = self.with_store(store)

    def with_store(self, store: Any) -> RunningServer:
        live = LiveRef(LiveRuleset(a_ruleset(a_rule("paid")), SecretValues({}, {})))
        return RunningServer(
            store=store,
            live=live,
            clock=self.clock,
            audit=AuditTrail(store, self.clock, Ids(random.Random(1))),
            reloader=self.reloader,  # type: ignore[arg-type]
            parts=LiveParts(
                self.refusals,
                lambda: self.full,
                lambda _job, _after: self.written,
                lambda: {"silent": {"shop": {"since": 7}}},
            ),
        )

    async def reload(self) -> bool:
        return True


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A store with one delivery and one waiting job."""
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await store.accept(Maker().acceptance())
    yield World(store, clock)
    await store.close()


async def test_ready_means_that_a_delivery_could_be_committed_now(world: World) -> None:
    """Not while draining, not when full, not when the store is gone."""
    assert await world.server.unready() is None
    world.full = True
    assert await world.server.unready() == "the store is nearly full"
    began = world.clock.now()
    said = world.server.described(NodeCard("n", "1", "g"), -7)
    assert (said.unready, said.skew_ms, said.started_at) == ("the store is nearly full", -7, began)
    world.full = False
    other = world.with_store(world.store)
    other.drain()
    assert await other.unready() == "it is stopping"
    assert await world.server.unready() is None
    await world.store.close()
    with pytest.raises(StoreUnavailable):
        await world.store.ready()
    assert await world.server.unready() == "the store takes no write"


async def test_a_store_that_hangs_is_not_ready_and_is_asked_once(world: World) -> None:
    """Whoever asks hears so in two seconds; when the disk is back, it is ready."""
    hanging: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    beats: list[int] = []

    async def beat() -> None:
        beats.append(1)
        await asyncio.shield(hanging)

    server = world.with_store(SimpleNamespace(ready=beat))
    asked = [asyncio.create_task(server.unready()) for _ in range(3)]
    await world.clock.advance(2.0)
    assert [await one for one in asked] == ["the store takes no write"] * 3
    assert beats == [1]
    hanging.set_result(None)
    await settle()
    assert await server.unready() is None


async def test_status_tells_what_runs(world: World) -> None:
    """Counted by state, over all rules."""
    status = await world.server.status()
    assert status.jobs == {"available": 1}
    assert status.endpoints == ["shop"]
    assert status.store.bytes > 0
    assert status.silent == {"shop": {"since": 7}}


async def test_the_newest_refusals_come_first(world: World) -> None:
    for limit, newest in ((5, ["late", "bad_signature"]), (1, ["late"])):
        found = await world.server.refusals(limit)
        assert [one["reason"] for one in found.refusals] == newest


async def test_output_of_what_does_not_run_here_is_none(world: World) -> None:
    assert await world.server.output("job_1", "") == JobOutput(running=False)
    world.written = {"attempt": 2, "stdout": "hi", "stderr": "", "next": "2.2.0"}
    assert await world.server.output("job_1", "") == JobOutput(True, 2, "hi", "", "2.2.0")


async def test_a_failed_reload_is_answered_with_its_diagnostics(world: World) -> None:
    """The old rules stay in force."""
    assert (await world.server.reload()).changed
    world.reloader.state.ok, world.reloader.state.error = False, "rules.yaml:3:1: error"
    with pytest.raises(UsageError, match=r"rules\.yaml:3:1"):
        await world.server.reload()


async def test_so_is_one_that_could_not_read_the_file_now(world: World) -> None:
    world.reloader.state.unread = "Too many open files"
    with pytest.raises(UsageError, match="cannot be read now: Too many open files"):
        await world.server.reload()
    assert (await world.server.status()).reload.ok


async def test_a_refused_request_is_given_whole(world: World) -> None:
    request = a_request(body=b"\xff", headers=((b"x-a", b"\xe9"),))
    name = world.refusals.keep("shop", "bad_signature", 7, request)
    found = await world.server.refusal("last", None)
    assert msgspec.json.decode(msgspec.json.encode(found)) == {
        "id": name,
        "at": 7,
        "endpoint": "shop",
        "reason": "bad_signature",
        "method": "POST",
        "path": "/wh_x",
        "query": "",
        "headers": [["x-a", "\xe9"]],
        "body_base64": "/w==",
        "body_bytes": 1,
        "cut": False,
    }
    with pytest.raises(NotFound):
        await world.server.refusal("ref_9", None)
