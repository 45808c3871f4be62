"""Own events beyond the rules that wanted them; a reload's faults, told once each."""

import random

from router import log
from router.config import load
from router.dispatch.rules_port import rereader
from router.model.ids import Ids
from router.model.observed import unobserved
from router.operator.answers import ReloadState
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.own_events import planned
from router.serving.own_events import OwnEvents, OwnEventWriter
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock

CALL = "version: 1\nrules:\n  - {id: call, from: router, actions: {log: x}}\n"


def calling() -> LiveRef:
    loaded = load(CALL, path="rules.yaml", env={})
    assert loaded.ruleset is not None
    return LiveRef(LiveRuleset(loaded.ruleset, SecretValues({}, {})))


TEXT = "target erp is failing: x (router targets)"


def test_its_events_can_be_read_again_when_no_rule_wants_any_more() -> None:
    live, ids = calling(), Ids(random.Random(1))
    payload = {"target": "erp", "reason": "x"}
    found = planned(live.current, ids, "target.failing", "id", payload, START_MS, START_MS)
    assert found is not None
    live.swap(LiveRuleset(a_ruleset(), SecretValues({}, {})))
    event = rereader(live)(found[0], 0, None)
    assert (event.name, event.payload) == ("target.failing", payload | {"text": TEXT})


async def test_a_failed_reload_is_reported_once_for_each_fault(store: SqliteStore) -> None:
    live = calling()
    own = OwnEvents(
        live=live, hide=str, ids=Ids(random.Random(1)), clock=ManualClock(), observe=unobserved
    )
    writer = OwnEventWriter(
        own,
        store=store,
        wake=lambda _target, _due_at: None,
        clock=ManualClock(),
        observe=unobserved,
        log=log.get("test"),
    )
    state = ReloadState(at=START_MS, succeeded_at=START_MS)
    for text in ("line 3", "line 3", "line 4" * 2000):
        state.ok, state.error = False, text
        state.failures += 1
        own.reload_failed(state)
        assert await writer.flush()
    reported = await store.reads.deliveries(Selector(endpoint="router"))
    assert [d.events for d in reported] == [("reload.failed",)] * 2
    assert max(d.body_bytes for d in reported) < 5_300
