"""What verbs take as JSON, and the verbs that are not about jobs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.errors import UsageError
from router.model.operations import ActionJobs
from router.model.selector import ABOUT, Criteria
from router.model.subscription import Subscription, fact_name
from router.operator.requests import (
    BackupNote,
    ChangeRequest,
    PruneRequest,
    RememberRequest,
    ReplayRequest,
)
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from router.web.admin.changes import ReplayBody
from tests.builders import a_rule, a_ruleset
from tests.clocks import ManualClock
from tests.operators import verbs_of
from tests.store_values import Maker

LIVE = LiveRef(LiveRuleset(a_ruleset(a_rule("paid")), SecretValues({}, {})))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """With one delivery and one job that waits."""
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    await store.accept(Maker().acceptance())
    yield store
    await store.close()


async def test_verbs_take_what_was_decoded_and_say_how_many(store: SqliteStore) -> None:
    verbs = verbs_of(store, LIVE, ManualClock())
    text = b'{"selector": {"rule": "paid", "limit": null}}'
    plan = await verbs.plan_replay(msgspec.json.decode(text, type=ReplayRequest))
    assert (plan.deliveries, plan.jobs, plan.dry_run) == (1, 1, True)
    assert plan.parts == (ActionJobs("paid", "erp", "erp", 1),)
    chosen = msgspec.json.decode(text, type=ChangeRequest)
    assert (await verbs.cancel(chosen)).cancelled == 1
    revived = await verbs.revive(chosen)
    assert (revived.revived, revived.passed, revived.earlier, revived.newer) == (0, 0, None, {})
    assert [job.state for job in await store.reads.jobs(Selector())] == ["cancelled"]


@pytest.mark.parametrize(
    "body",
    [
        {"id": "x"},
        {"ids": "dlv_x"},
        {"ids": [1]},
        {"selector": {"rules": "x"}},
        {"selector": {"since": "yesterday"}},
        {"selector": {"ids": ["job_x"]}},
        {"selector": {"before": "job_x"}},
    ],
)
def test_what_is_not_understood_is_refused(body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, ChangeRequest)


@pytest.mark.parametrize("field", ABOUT)
def test_every_field_of_the_selector_comes_back_from_the_store(field: str) -> None:
    """It is listed once, so none can be left out on the way."""
    value = 7 if field in ("since", "until", "limit") else {"x": 7} if field == "var" else "x"
    asked = ReplayRequest((), Criteria(**{field: value}), rate=None, again=True)
    kept = msgspec.json.decode(msgspec.json.encode(asked.as_json()))
    assert ReplayRequest.from_json(kept) == asked
    assert Selector.of(asked.selector).as_json() == {field: value}


def test_what_the_api_decoded_is_the_same_as_what_is_stored() -> None:
    """So that a replay of a known name goes on, however it was asked for."""
    text = b'{"selector": {"endpoint": "shop", "since": 5}, "name": "big", "rate": null}'
    decoded = msgspec.json.decode(text, type=ReplayBody)
    kept = ReplayRequest.from_json(decoded.as_json())
    assert decoded.is_same(kept)
    assert not decoded.is_same(msgspec.structs.replace(kept, again=True))
    later = msgspec.structs.replace(kept, selector=Criteria(endpoint="shop", since=9), rate=1.0)
    assert kept.is_same(later)


async def test_only_subscriptions_are_remembered_for_the_command_line(store: SqliteStore) -> None:
    verbs = verbs_of(store, LIVE, ManualClock())
    address, base = "https://hooks.example.com/wh_x", "https://example-shop.test"
    name = fact_name(base, "orders/paid", address)
    record = Subscription("shop", "orders/paid", address, base, "made", 1, "7")
    assert (await verbs.remember(RememberRequest({name: record}))).remembered == 1
    assert await store.recall("") == {name: msgspec.to_builtins(record)}
    for facts in ({"ranges/x": None}, {"subscription/other": record}):
        with pytest.raises(UsageError):
            await verbs.remember(RememberRequest(facts))
    for wrong in (None, [], {"ranges/x": {}}, {name: {}}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"facts": wrong}, RememberRequest)
    await verbs.remember(RememberRequest({name: None}))
    assert await store.recall("") == {}


async def test_a_backup_beside_the_server_is_in_the_audit(store: SqliteStore) -> None:
    await verbs_of(store, LIVE, ManualClock()).backed_up(BackupNote("/x" * 4_000, 7))
    [line] = await store.reads.audited(None, None, 9)
    assert (line.verb, line.asked) == ("backup", {"path": ("/x" * 4_000)[:4_096], "bytes": 7})


async def test_an_age_is_not_negative(store: SqliteStore) -> None:
    with pytest.raises(UsageError, match="older_than"):
        await verbs_of(store, LIVE, ManualClock()).prune(PruneRequest(-1))
