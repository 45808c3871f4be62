"""Our own events on a real store: planned by the rules in force, told once, never lost."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from router import log
from router.config import load, render_text
from router.errors import StoreUnavailable
from router.metrics import Metrics
from router.model.ids import Ids
from router.model.job import Attempt, Job
from router.providers import own
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.own_events import OwnEvents, OwnEventStored, OwnEventWriter
from router.store.sqlite.store import SqliteStore
from router.store.values import Acceptance, Selector
from router.wiring.observers import IntakeObserver, Observers
from tests.clocks import START_MS, ManualClock, settle
from tests.sim.makers import a_job

OURS = Selector(endpoint="router")
HEAD = """
version: 1
secrets: {shop: {env: SHOP_SECRET}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
rules:
  - {id: everything, from: all, actions: {log: x}}
"""
CALL = """
  - id: call
    from: router
    events: [job.dead, reload.failed]
    match: not_null(payload.rule, 'x') != 'boring'
    actions: {log: "{{ event }}"}
"""
PAYLOAD = {"generation": "g", "failures": 1, "diagnostics": "no"}


def a_live(rules: str) -> LiveRuleset:
    loaded = load(HEAD + rules, path="rules.yaml", env={})
    assert loaded.ruleset is not None, render_text(loaded.diagnostics)
    return LiveRuleset(loaded.ruleset, SecretValues({}, {}))


class Failing:
    """A store that fails as often as told, before or after the commit."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.before = self.after = 0

    async def accept(self, acceptance: Acceptance) -> Any:
        if self.before:
            self.before -= 1
            raise StoreUnavailable("before")
        receipt = await self.store.accept(acceptance)
        if self.after:
            self.after -= 1
            raise StoreUnavailable("after")
        return receipt


class World:
    def __init__(self, store: SqliteStore, rules: str = CALL) -> None:
        self.clock, self.metrics = ManualClock(), Metrics()
        self.failing = Failing(store)
        self.store = store
        self.live = LiveRef(a_live(rules))
        self.woken: list[tuple[str, int]] = []
        lines = log.get("test")
        self.seen: list[OwnEventStored] = []
        noted = {OwnEventStored: self.seen.append}
        observe = Observers(IntakeObserver(self.metrics, lines, lines).handlers(), noted)
        self.own = OwnEvents(
            live=self.live,
            hide=lambda text: text.replace("hunter2", "***"),
            ids=Ids(random.Random(1)),
            clock=self.clock,
            observe=observe,
        )
        self.writer = OwnEventWriter(
            self.own,
            store=self.failing,  # type: ignore[arg-type] # it asks for no other verb
            wake=lambda target, due_at: self.woken.append((target, due_at)),
            clock=self.clock,
            observe=observe,
            log=lines,
        )

    async def reported(self) -> list[tuple[str, ...]]:
        return [d.events for d in await self.store.reads.deliveries(OURS)]


def an_attempt(job: Job, **changes: Any) -> Attempt:
    values: dict[str, Any] = {
        "job": job.id,
        "number": job.attempt,
        "started_at": START_MS,
        "ended_at": START_MS + 5,
        "outcome": "dead",
        "reason": "status 410",
        "result": {"status": 410, "text": "gone"},
        "generation": "g",
    }
    return Attempt(**{**values, **changes})


async def test_a_death_becomes_a_delivery_with_the_jobs_of_its_rules(store: SqliteStore) -> None:
    world, job = World(store), a_job(attempt=3)
    event = world.own.died(job, an_attempt(job))
    assert event is not None
    assert (event.delivery.endpoint, event.delivery.provider) == ("router", "router")
    assert event.delivery.state == "routed"
    assert [(j.rule, j.event, j.state) for j in event.jobs] == [("call", "job.dead", "available")]
    payload = msgspec.json.decode(event.delivery.body)
    sample = own().sample("job.dead")
    assert isinstance(sample, dict)
    assert set(payload) == set(sample)
    assert set(payload["last"]) == set(sample["last"])
    assert payload["attempts"] == 3
    assert payload["last"] == {"status": 410, "exit": None, "text": "gone"}
    assert world.metrics.value("router_rule_matches_total", rule="call") == 1


@pytest.mark.parametrize(
    "rules",
    ["", "  - {id: other, from: router, events: target.open, actions: {log: x}}"],
    ids=["no rule", "a rule for another event"],
)
async def test_without_a_rule_that_lets_it_in_there_is_nothing(
    store: SqliteStore, rules: str
) -> None:
    world, job = World(store, rules), a_job()
    assert world.own.died(job, an_attempt(job)) is None
    assert not await world.writer.send("reload.failed", "1", PAYLOAD)
    world.own.soon("reload.failed", "1", PAYLOAD)
    assert await world.writer.flush()
    assert await world.reported() == []


async def test_an_event_that_no_condition_takes_is_stored_as_unmatched(store: SqliteStore) -> None:
    world, job = World(store), a_job(rule="boring")
    event = world.own.died(job, an_attempt(job))
    assert event is not None
    assert (event.delivery.state, event.jobs) == ("unmatched", ())


async def test_a_job_about_our_own_event_tells_nothing(store: SqliteStore) -> None:
    job = a_job(endpoint="router", rule="call")
    assert World(store).own.died(job, an_attempt(job)) is None


async def test_two_deaths_of_one_job_are_two_events(store: SqliteStore) -> None:
    world = World(store)
    for attempt in (1, 1, 2):
        job = a_job(attempt=attempt)
        event = world.own.died(job, an_attempt(job))
        assert event is not None
        await store.accept(event)
    assert len(await world.reported()) == 2


@pytest.mark.parametrize(
    ("result", "last"),
    [
        ({}, {"status": None, "exit": None, "text": None}),
        ({"lost": True}, {"status": None, "exit": None, "text": None}),
        ({"exit": 3, "stderr": "", "stdout": "no"}, {"status": None, "exit": 3, "text": "no"}),
        ({"exit": True, "status": "x"}, {"status": None, "exit": None, "text": None}),
        ({"text": "pw hunter2"}, {"status": None, "exit": None, "text": "pw ***"}),
        ({"text": "\ud800"}, {"status": None, "exit": None, "text": "?"}),
    ],
)
async def test_what_the_last_attempt_said_is_bounded_and_masked(
    store: SqliteStore, result: dict[str, Any], last: dict[str, Any]
) -> None:
    kind = "shell" if "exit" in result else "http"
    world, job = World(store), a_job(kind=kind, target="http://hunter2.example")
    event = world.own.died(job, an_attempt(job, result=result, reason="hunter2 " * 900))
    assert event is not None
    payload = msgspec.json.decode(event.delivery.body)
    assert payload["last"] == last
    assert payload["target"] == "http://***.example"
    assert len(payload["reason"]) == 500
    assert "hunter2" not in event.delivery.body.decode()


async def test_a_long_answer_keeps_its_end_and_no_piece_of_a_secret(store: SqliteStore) -> None:
    world, job = World(store), a_job()
    text = "hunter2" + "x" * 1_020
    event = world.own.died(job, an_attempt(job, result={"text": text}))
    assert event is not None
    shown = msgspec.json.decode(event.delivery.body)["last"]["text"]
    assert len(shown) <= 1_024
    assert "nter2" not in shown


async def test_the_same_identity_is_reported_once(store: SqliteStore) -> None:
    world = World(store)
    assert await world.writer.send("reload.failed", "same", PAYLOAD)
    assert len(world.woken) == 1
    assert await world.writer.send("reload.failed", "same", PAYLOAD)
    assert len(world.woken) == 1
    assert await world.reported() == [("reload.failed",)]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_store_that_fails_is_called_again_and_nothing_is_reported_twice(
    store: SqliteStore, when: str
) -> None:
    world = World(store)
    setattr(world.failing, when, 2)
    for name in ("a", "b"):
        world.own.soon("reload.failed", name, PAYLOAD)
    assert not await world.writer.flush()
    assert not await world.writer.flush()
    assert await world.writer.flush()
    assert len(await world.reported()) == 2


class Watched:
    def __init__(self, *, fails: bool = False) -> None:
        self.steps, self.fails = 0, fails

    async def __call__(self) -> None:
        self.steps += 1
        if self.fails:
            raise StoreUnavailable("not now")


async def test_one_condition_that_cannot_be_seen_hides_no_other(store: SqliteStore) -> None:
    world, watched = World(store), Watched()
    await world.writer.look((Watched(fails=True), watched))
    assert watched.steps == 1


async def test_it_looks_now_and_then_and_when_something_changed(store: SqliteStore) -> None:
    world, watched = World(store), Watched()
    running = asyncio.create_task(world.writer.run((watched,)))
    await settle()
    assert watched.steps == 0
    world.own.look_soon()
    await settle()
    assert watched.steps == 1
    await world.clock.advance(10.5)
    await settle()
    assert watched.steps == 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


# -- who watches -----------------------------------------------------------------------------------


async def test_what_is_stored_is_observed_once(store: SqliteStore) -> None:
    world = World(store)
    assert await world.writer.send("reload.failed", "1", PAYLOAD)
    assert await world.writer.send("reload.failed", "1", PAYLOAD)
    (stored,) = await store.reads.deliveries(OURS)
    ((accepted, receipt),) = [(one.accepted, one.receipt) for one in world.seen]
    assert (accepted.delivery.id, receipt.delivery) == (stored.id, stored.id)
    assert [event.name for event in accepted.events] == ["reload.failed"]


async def test_an_identity_with_characters_that_no_header_has(store: SqliteStore) -> None:
    world = World(store)
    job = a_job(id="job_\ufffd1", delivery="", endpoint="", event="pu\ufffdh", rule="\ufffd")
    reported = world.own.died(job, an_attempt(job, reason="crash_loop", result={}))
    assert reported is not None
    assert await store.accept(reported)
    payload = msgspec.json.decode(reported.delivery.body)
    assert (payload["job"], payload["delivery"], payload["endpoint"]) == ("job_\ufffd1", "", "")
    assert (payload["event"], payload["rule"], payload["reason"]) == (
        "pu\ufffdh",
        "\ufffd",
        "crash_loop",
    )
    other = a_job(id="job_\ufffd2")
    event = world.own.died(other, an_attempt(other))
    assert event is not None
    assert event.events[0].keys != reported.events[0].keys
