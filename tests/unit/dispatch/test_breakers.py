"""All gates together: whose failures count, who is out of order, what is remembered."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from router.dispatch.breaker import REFUSALS
from router.dispatch.breakers import Breakers, facts, target_statuses
from router.kinds import KINDS
from router.model.job import ActionKind, Done, FailOutcome, Outcome, RetryOutcome, Skip
from router.model.observed import unobserved
from router.model.settings import TargetLimits
from router.model.target import FACT, PAUSED, TargetChange, TargetMemory
from router.rules.live import LiveRuleset, SecretValues
from router.rules.target_rows import target_rows
from router.store.protocol import TargetStore
from tests.builders import a_ruleset
from tests.clocks import START_MS, ManualClock, SetClock
from tests.sim.ledger import Ledger
from tests.sim.makers import a_job

GUARDED, FREE = TargetLimits(4, None, True), TargetLimits(4, None, False)


def gates(
    limits: TargetLimits = GUARDED, changed: Callable[[TargetChange], None] = unobserved
) -> Breakers:
    return Breakers(lambda _target, _kind: limits, ManualClock(), random.Random(1), changed)


@pytest.mark.parametrize(
    ("outcome", "tells"),
    [
        (RetryOutcome("network", "no"), "fault"),
        (RetryOutcome("timeout", "no"), "fault"),
        (RetryOutcome("throttled", "no"), "fault"),
        (RetryOutcome("server", "no"), "fault"),
        (RetryOutcome("client", "no"), "answer"),
        (RetryOutcome("temporary", "no"), "nothing"),
        (RetryOutcome("error", "no"), "nothing"),
        (Done(), "answer"),
        (FailOutcome("gone", {"status": 410}), "answer"),
        (FailOutcome("forbidden"), "nothing"),
        (Skip("no"), "nothing"),
        (None, "nothing"),
    ],
)
@pytest.mark.parametrize("limits", [GUARDED, FREE], ids=["guarded", "free"])
def test_what_an_attempt_tells_of_its_target(
    outcome: Outcome | Skip | None, tells: str, limits: TargetLimits
) -> None:
    one = gates(limits)
    assert one.ended(a_job(), outcome) is None
    expected = {"fault": (0, 1), "answer": (1, 0), "nothing": (0, 0)}[tells]
    assert one.of("erp").health.window(START_MS) == expected


@pytest.mark.parametrize("kind", ["shell", "python"])
def test_runs_of_a_command_or_a_plugin_are_counted_and_never_open_it(kind: ActionKind) -> None:
    one = gates(KINDS[kind].limits)
    job = msgspec.structs.replace(a_job(), kind=kind)
    for outcome in (
        Done(),
        *[RetryOutcome("error", "exit 1")] * 20,
        FailOutcome("exit 2"),
        Skip("no"),
        None,
    ):
        assert one.ended(job, outcome) is None
    health = one.of("erp").health
    assert health.window(START_MS) == (1, 21)
    assert health.last_error == "exit 2"
    assert not one.unhealthy


@pytest.mark.parametrize("kind", ["network", "server"])
def test_only_failures_to_connect_open_it_after_five(kind: Any) -> None:
    reported = list[TargetChange]()
    one = gates(changed=reported.append)
    changes = [one.ended(a_job(), RetryOutcome(kind, "no")) for _ in range(5)]
    opened = kind == "network"
    assert [c is not None for c in changes] == [False] * 4 + [opened]
    assert reported == [c for c in changes if c]
    assert list(one.unhealthy) == (["erp"] if opened else [])
    assert one.limits("erp", "http").concurrency == (0 if opened else 4)
    assert one.limits("crm", "http") is GUARDED


def test_without_a_breaker_nothing_opens_but_the_failures_are_known() -> None:
    one = gates(FREE)
    for _ in range(50):
        assert one.ended(a_job(), RetryOutcome("network", "no connection")) is None
    assert one.unhealthy == {}
    assert one.of("erp").health.last_error == "no connection"
    assert one.of("erp").health.refused == 0


def _half_open(one: Breakers) -> None:
    for _ in range(5):
        one.ended(a_job(), RetryOutcome("network", "no"))
    gate = one.tick("erp", one.of("erp").next_probe)
    assert gate is not None
    assert gate.state == "recovering"


def test_the_first_job_that_begins_is_the_probe() -> None:
    one = gates()
    one.begun(a_job("job_0"))
    assert one.known() == (), "an ordinary target is not asked"
    _half_open(one)
    one.begun(a_job("job_1"))
    one.begun(a_job("job_2"))
    assert one.of("erp").probe == "job_1"
    one.ended(a_job("job_2"), None)
    assert one.of("erp").probe == "job_1"
    one.ended(a_job("job_1"), None)
    assert one.of("erp").probe is None


def test_an_open_target_has_no_probe() -> None:
    one = gates()
    for _ in range(5):
        one.ended(a_job(), RetryOutcome("network", "no"))
    one.begun(a_job("job_1"))
    assert one.of("erp").probe is None


def test_it_is_ordinary_again_when_nothing_waits() -> None:
    one = gates()
    one.drained("erp")
    assert one.tick("erp", START_MS) is None
    _half_open(one)
    one.begun(a_job("job_1"))
    one.ended(a_job("job_1"), Done())
    assert one.of("erp").ramping
    assert "erp" in one.unhealthy
    one.drained("erp")
    assert one.unhealthy == {}
    assert one.of("erp").healthy


def test_by_hand() -> None:
    reported = list[TargetChange]()
    one = gates(changed=reported.append)
    paused = one.pause("erp", "they move", "ann")
    assert paused is not None
    told_so = (paused.new, paused.reason, paused.by, paused.at)
    assert told_so == ("paused", "they move", "ann", START_MS)
    assert one.pause("erp", "again", "ann") is None
    assert one.paused() == {"erp"}
    one.ended(a_job(target="crm"), Done())
    resumed = one.resume("erp", "moved", "bob")
    assert resumed is not None
    assert (resumed.new, resumed.by) == ("recovering", "bob")
    assert one.paused() == frozenset()
    assert one.resume("crm", "why", "bob") is None
    assert [change.target for change in reported] == ["erp", "erp"]
    assert [gate.target for gate in one.known()] == ["erp", "crm"]


class Facts(Ledger):
    """Counts its writes, and fails if it is to."""

    full, writes = False, 0

    async def remember(self, facts: Mapping[str, Any], audit: Any = None) -> None:
        if self.full:
            raise OSError("the disk is full")
        self.writes += 1
        await super().remember(facts)


async def restarted(store: TargetStore) -> Breakers:
    again = gates()
    await again.restore(store)
    return again


def the_store() -> Any:
    return Facts()


async def test_what_is_news_is_written_once_and_stays_news_until_it_is() -> None:
    one, store = gates(), the_store()
    await one.save(store)
    one.ended(a_job(target="crm"), Done())
    for _ in range(REFUSALS):
        one.ended(a_job(), RetryOutcome("network", "no connection"))
    store.full = True
    with pytest.raises(OSError, match="full"):
        await one.save(store)
    store.full = False
    for _ in range(2):
        await one.save(store)
    assert list(store.facts) == [FACT + "erp"]
    again = await restarted(store)
    assert again.of("erp").state == "failing"
    await again.save(store)
    assert store.writes == 1


async def test_a_pause_is_a_fact_of_its_own_and_written_once() -> None:
    one, store = gates(), the_store()
    one.pause("erp", "nothing but failures", "router")
    store.full = True
    with pytest.raises(OSError, match="full"):
        await one.save(store)
    store.full = False
    for _ in range(2):
        await one.save(store)
    pause = {"reason": "nothing but failures", "by": "router", "at": START_MS}
    assert store.facts[PAUSED + "erp"] == pause
    assert store.facts[FACT + "erp"]["state"] == "recovering", "what it is when it is resumed"
    again = await restarted(store)
    (paused,) = again.known()
    assert (paused.state, paused.reason) == ("paused", "nothing but failures")
    assert (paused.by, paused.since) == ("router", START_MS)
    await again.save(store)
    assert store.writes == 2


async def test_who_was_paused_when_it_is_resumed_without_us_is_called_gently() -> None:
    one, store = gates(), the_store()
    one.pause("erp", "they move", "ann")
    await one.save(store)
    del store.facts[PAUSED + "erp"]
    assert (await restarted(store)).of("erp").ramping


async def test_nodes_of_one_store_agree_on_what_is_paused() -> None:
    store, reported = the_store(), list[TargetChange]()
    one, other = gates(), gates(changed=reported.append)
    await other.agree(store)
    one.pause("erp", "they move", "ann")
    await one.save(store)
    for _ in range(2):
        await other.agree(store)
    assert other.paused() == {"erp"}
    del store.facts[PAUSED + "erp"]
    for _ in range(2):
        await other.agree(store)
    assert other.of("erp").ramping
    assert [(one.new, one.by, one.at) for one in reported] == [
        ("paused", "ann", START_MS),
        ("recovering", "router", START_MS),
    ]


async def test_one_that_is_paused_again_has_another_fact() -> None:
    store = the_store()
    store.facts[PAUSED + "erp"] = {"reason": "they move", "by": "ann", "at": START_MS}
    one = await restarted(store)
    del store.facts[PAUSED + "erp"]
    one.resume("erp", "moved", "ann")
    one.pause("erp", "nothing but failures", "router")
    await one.save(store)
    assert store.facts[PAUSED + "erp"]["by"] == "router"


async def test_a_pause_that_is_not_written_yet_is_not_taken_for_one_that_was_ended() -> None:
    one, store = gates(), the_store()
    one.pause("erp", "nothing but failures", "router")
    await one.agree(store)
    assert one.paused() == {"erp"}
    await one.save(store)
    await one.agree(store)
    assert one.paused() == {"erp"}


async def test_whoever_agrees_waits_for_a_verb_that_is_under_way() -> None:
    """Its store has done what its breaker has not yet."""
    one, store = gates(), the_store()
    one.pause("erp", "they move", "ann")
    await one.save(store)
    async with one.turn:
        del store.facts[PAUSED + "erp"]
        agreeing = asyncio.ensure_future(one.agree(store))
        for _ in range(9):
            await asyncio.sleep(0)
        assert one.resume("erp", "moved", "bob") is not None, "it was nobody else"
    await agreeing
    assert one.of("erp").by == "bob"


def test_what_is_ordinary_need_not_be_remembered() -> None:
    news = TargetMemory(state="failing", reason="x")
    reported = facts({"erp": TargetMemory(), "crm": news})
    assert reported[FACT + "erp"] is None
    assert reported[FACT + "crm"]["state"] == "failing"


async def test_what_a_disk_has_spoilt_is_not_remembered() -> None:
    """But that a target is paused."""
    store = the_store()
    store.facts = {
        FACT + "erp": {"state": 7},
        FACT + "chat": [],
        FACT + "crm": {"state": "recovering"},
        PAUSED + "crm": {"reason": 7},
    }
    one = await restarted(store)
    assert [(gate.target, gate.state, gate.reason) for gate in one.known()] == [
        ("crm", "paused", "")
    ]


@pytest.mark.parametrize(
    ("kind", "limits", "outcomes", "failing"),
    [
        ("shell", FREE, [RetryOutcome("error", "exit 1")], True),
        ("python", FREE, [FailOutcome("exit 78")], True),
        ("http", FREE, [RetryOutcome("server", "500")], True),
        ("http", GUARDED, [RetryOutcome("server", "500")], False),  # that is for its breaker to say
        ("shell", FREE, [RetryOutcome("error", "exit 1"), Done()], False),
        ("shell", FREE, [Done(), RetryOutcome("error", "exit 1")], False),
    ],
)
def test_what_has_no_breaker_and_only_fails_is_listed_as_failing_and_called_all_the_same(
    kind: ActionKind, limits: TargetLimits, outcomes: list[Outcome], failing: bool
) -> None:
    one = gates(limits)
    for outcome in outcomes:
        one.ended(a_job(kind=kind), outcome)
    now = target_statuses(one, lambda _target, _kind: limits, ManualClock())
    [row] = target_rows(LiveRuleset(a_ruleset(), SecretValues({}, {})), now, {})
    assert (row.state, row.since) == (("failing", START_MS) if failing else ("healthy", None))
    assert not one.unhealthy


@pytest.mark.parametrize("ms", [86_400_000, -86_400_000])
def test_a_clock_that_is_set_neither_ends_a_wait_nor_makes_it_longer(ms: int) -> None:
    """The times of a target are ledger time, and shown as the clock is now."""
    clock = SetClock()
    reported: list[TargetChange] = []
    one = Breakers(lambda _target, _kind: GUARDED, clock, random.Random(1), reported.append)
    for _ in range(REFUSALS):
        one.ended(a_job(), RetryOutcome("network", "no connection"))
    probe = one.of("erp").next_probe
    clock.set(ms)
    clock.resume(ms)
    one.tick("erp", probe - 1)
    [shown] = target_statuses(one, lambda _target, _kind: GUARDED, clock)
    assert (shown.state, shown.since, shown.next_probe) == ("failing", START_MS + ms, probe + ms)
    assert shown.last_error_at == START_MS + ms
    one.tick("erp", probe)
    assert [(change.new, change.at) for change in reported] == [
        ("failing", START_MS),
        ("recovering", probe + ms),
    ]
