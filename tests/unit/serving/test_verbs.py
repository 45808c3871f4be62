"""The operator's verbs over JSON."""

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
from router.operator import Operator
from router.provider_calls.subscriptions import Record, fact_name
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.verbs import ReloadState, Verbs
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import a_request, a_rule, a_ruleset
from tests.clocks import ManualClock, settle
from tests.store_values import Maker


class World:
    """Verbs over a real store; `full`, `reloads` and `state` are the test's to set."""

    def __init__(self, store: SqliteStore, clock: ManualClock) -> None:
        self.store = store
        self.full = False
        self.state = ReloadState()
        live = LiveRef(LiveRuleset(a_ruleset(a_rule("paid")), SecretValues({}, {})))
        operator = Operator(
            store=store,
            live=live,
            clock=clock,
            ids=Ids(random.Random(1)),
            wake=lambda target, due_at: None,
        )
        self.verbs = Verbs(
            operator=operator,
            store=store,
            live=live,
            clock=clock,
            refusals=lambda limit: [{"reason": "bad_signature"}][:limit],
            reload=self.reload,
            reload_state=self.state,
            full=lambda: self.full,
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
    assert await world.verbs.ready()
    world.full = True
    assert not await world.verbs.ready()
    world.full, world.verbs.draining = False, True
    assert not await world.verbs.ready()
    world.verbs.draining = False
    await world.store.close()
    with pytest.raises(StoreUnavailable):
        await world.store.ready()
    assert not await world.verbs.ready()


async def test_a_store_that_hangs_is_not_ready_and_is_asked_once(world: World) -> None:
    """Whoever asks hears so in two seconds; when the disk is back, it is ready."""
    hanging: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    beats: list[int] = []

    async def beat() -> None:
        beats.append(1)
        await asyncio.shield(hanging)

    world.verbs._store = SimpleNamespace(ready=beat)  # type: ignore[assignment]
    asked = [asyncio.create_task(world.verbs.ready()) for _ in range(3)]
    await world.verbs._clock.advance(2.0)  # type: ignore[attr-defined]
    assert [await one for one in asked] == [False] * 3
    assert beats == [1]
    hanging.set_result(None)
    await settle()
    assert await world.verbs.ready()


async def test_status_tells_what_runs(world: World) -> None:
    """Counted by state, over all rules."""
    status = await world.verbs.status()
    assert status["jobs"] == {"available": 1}
    assert status["endpoints"] == ["shop"]
    assert status["store"]["bytes"] > 0


async def test_cancel_and_replay_take_ids_or_a_selector(world: World) -> None:
    """And answer how many."""
    selector = {"rule": "paid", "limit": None}
    plan = await world.verbs.replay({"selector": selector, "dry_run": True})
    assert (plan["deliveries"], plan["jobs"], plan["dry_run"]) == (1, 1, True)
    assert list(plan["parts"]) == [{"rule": "paid", "action": "erp", "target": "erp", "jobs": 1}]
    assert await world.verbs.cancel({"selector": selector}) == {"cancelled": 1}
    revived = await world.verbs.revive({"selector": selector})
    assert revived == {"revived": 0, "passed": 0, "earlier": None, "newer": {}}
    assert [job.state for job in await world.store.reads.jobs(Selector())] == ["cancelled"]


@pytest.mark.parametrize(
    "body",
    [
        {"id": "x"},
        {"ids": "dlv_x"},
        {"ids": [1]},
        {"selector": {"rules": "x"}},
        {"selector": {"since": "yesterday"}},
        {},
    ],
)
async def test_a_body_that_is_not_understood_changes_nothing(world: World, body: Any) -> None:
    """It is answered as a mistake."""
    with pytest.raises(UsageError):
        await world.verbs.cancel(body)
    assert [job.state for job in await world.store.reads.jobs(Selector())] == ["available"]


async def test_a_failed_reload_is_answered_with_its_diagnostics(world: World) -> None:
    """The old rules stay in force."""
    assert (await world.verbs.reload())["changed"] is True
    world.state.ok, world.state.error = False, "rules.yaml:3:1: error"
    with pytest.raises(UsageError, match=r"rules\.yaml:3:1"):
        await world.verbs.reload()


async def test_so_is_one_that_could_not_read_the_file_now(world: World) -> None:
    world.state.unread = "Too many open files"
    with pytest.raises(UsageError, match="cannot be read now: Too many open files"):
        await world.verbs.reload()
    assert (await world.verbs.status())["reload"]["ok"] is True


async def test_only_subscriptions_are_remembered_for_the_command_line(world: World) -> None:
    address, base = "https://hooks.example.com/wh_x", "https://example-shop.test"
    name = fact_name(base, "orders/paid", address)
    record = Record("shop", "orders/paid", address, base, "made", 1, "7")
    body = {"facts": {name: msgspec.to_builtins(record)}}
    assert await world.verbs.remember(body) == {"remembered": 1}
    assert await world.store.recall("") == body["facts"]
    for facts in (
        None,
        [],
        {"ranges/x": {}},
        {name: {}},
        {"subscription/other": body["facts"][name]},
    ):
        with pytest.raises(UsageError):
            await world.verbs.remember({"facts": facts})
    await world.verbs.remember({"facts": {name: None}})
    assert await world.store.recall("") == {}


async def test_a_refused_request_is_given_whole(world: World) -> None:
    request = a_request(body=b"\xff", headers=((b"x-a", b"\xe9"),))
    name = world.verbs.kept.keep("shop", "bad_signature", 7, request)
    found = world.verbs.refusal("last", None)
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
        world.verbs.refusal("ref_9", None)


async def test_nothing_is_removed_while_ages_cannot_be_trusted(world: World) -> None:
    """Not even when somebody asks for it: by a clock that is years on everything is old."""
    world.verbs.holds = lambda: True
    with pytest.raises(UsageError, match="clock was set"):
        await world.verbs.prune({})
