"""Short commands are leased ahead of their slots, in virtual time: who is, who is not, and why."""

import asyncio
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from router.dispatch import DispatchSettings
from router.dispatch.in_hand import KEEP_S, SHORT_S, InHand
from router.dispatch.slots import Slots
from router.model.job import ActionKind, Done, Job, NewJob, Outcome, Work
from router.model.settings import TargetLimits
from router.store.values import LeaseBatch
from tests.builders import a_delivery, a_job, an_event
from tests.clocks import ManualClock
from tests.sim.ledger import Ledger
from tests.unit.dispatch.bench import Bench, on_bench

COMMIT_S = 0.004
RUN_S = 0.02
AT_ONCE_S = 0.0001
"""Less than anything takes here."""


def _slow(seconds: float) -> Ledger:
    """A ledger whose commits take so long; elsewhere they take no time."""

    async def pause() -> None:
        await asyncio.sleep(seconds / 2)

    return Ledger(pause)


async def _short(_job: Job) -> Outcome:
    await asyncio.sleep(RUN_S)
    return Done()


def _commands(bench: Bench, count: int, target: str = "r/sh", **changes: object) -> list[NewJob]:
    return bench.new(count, kind="shell", target=target, **changes)


async def _busy(bench: Bench, jobs: int = 40) -> None:
    """Commands of one target, two at once."""
    await bench.start()
    await bench.commit_and_wake(*_commands(bench, jobs))


def _waiting(bench: Bench) -> set[str]:
    """Jobs that run by the store, and have not begun."""
    began = set(bench.act.names())
    return {n for n, state in bench.states().items() if state == "running"} - began


async def _until_in_hand(bench: Bench, count: int = 4) -> set[str]:
    """These are in hand: where commits take no time, whatever runs and has not begun."""
    until = bench.clock.monotonic() + 1
    while len(_waiting(bench)) < count:
        assert bench.clock.monotonic() < until
        await asyncio.sleep(0.0005)
    return _waiting(bench)


@on_bench
async def test_between_short_runs_no_commit_is_waited_for(bench: Bench) -> None:
    bench.act.how = _short
    bench.ledger = _slow(COMMIT_S)
    await _busy(bench)
    await asyncio.sleep(1)
    assert set(bench.states().values()) == {"succeeded"}
    starts = [at for _, at in bench.act.began][6:]
    assert len(starts) == 34
    every_second = [b - a for a, b in zip(starts, starts[2:], strict=False)]
    assert max(every_second) < RUN_S + COMMIT_S / 4, "each slot goes on at once"
    places = enumerate(int(name.removeprefix("job_")) for name in bench.act.names())
    assert all(abs(place - number) <= 2 for place, number in places), "in their order"
    assert all(attempt.outcome == "succeeded" for attempt in bench.ledger.attempts)


@on_bench
async def test_never_more_are_in_hand_than_two_for_each_slot(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    most = 0
    for _ in range(300):
        await asyncio.sleep(0.0005)
        most = max(most, len(_waiting(bench)))
    assert most == 4


@on_bench
async def test_long_runs_are_not_leased_ahead_of(bench: Bench) -> None:
    async def how(_job: Job) -> Outcome:
        await asyncio.sleep(2 * SHORT_S)
        return Done()

    bench.act.how = how
    await _busy(bench)
    for _ in range(300):
        await asyncio.sleep(0.001)
        assert not _waiting(bench)


@on_bench
async def test_what_waits_too_long_is_given_back_and_runs_later(bench: Bench) -> None:
    hangs = asyncio.Event()

    async def how(_job: Job) -> Outcome:
        await (hangs.wait() if bench.clock.monotonic() > 0.2 else asyncio.sleep(RUN_S))
        return Done()

    bench.act.how = how
    await _busy(bench)
    while bench.clock.monotonic() < 0.25:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.01)
    kept = await _until_in_hand(bench)
    await asyncio.sleep(KEEP_S + 0.1)
    jobs = [bench.ledger.records[name] for name in kept]
    assert [(job.state, job.charged, job.deaths) for job in jobs] == [("available", 0, 0)] * 4
    assert not kept & set(bench.act.names())
    bench.act.how = _short
    hangs.set()
    await asyncio.sleep(2)
    assert set(bench.states().values()) == {"succeeded"}
    assert len(bench.act.names()) == 40, "each ran once"


@on_bench
async def test_who_dies_of_an_interruption_is_not_leased_ahead(bench: Bench) -> None:
    bench.act.how = _short
    bench.dead_if_interrupted = frozenset({("r", "a")})
    await _busy(bench)
    for _ in range(300):
        await asyncio.sleep(0.001)
        assert not _waiting(bench)
    assert {attempt.outcome for attempt in bench.ledger.attempts} == {"succeeded"}


@on_bench
async def test_who_dies_of_one_more_death_does_not_wait_in_hand(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    for name in ("job_20", "job_21"):
        bench.ledger.records[name] = replace(bench.ledger.records[name], deaths=2)
    await asyncio.sleep(1)
    assert set(bench.states().values()) == {"succeeded"}
    outcomes = [a.outcome for a in bench.ledger.attempts if a.job == "job_20"]
    assert outcomes == ["interrupted", "succeeded"], "given back, then leased for a free slot"


async def test_nor_does_it_begin_in_a_slot_that_is_free() -> None:
    """Its lease does not say durably that it begins: leased again, it does."""
    begun, back = list[Work](), list[Job]()
    totals: dict[ActionKind, int] = {"shell": 1}
    clock = ManualClock()
    hand = InHand(
        Slots(lambda _target, _kind: TargetLimits(concurrency=1), clock, totals),
        clock,
        totals,
        said=lambda _: True,
        begin=begun.append,
        give_back=back.append,
        pass_on=lambda _target, _kind: False,
        may_wait=lambda _: True,
    )
    for deaths in (2, 1):
        job = a_job(kind="shell", deaths=deaths, started_at=None)
        hand.keep(Work(job, a_delivery(), an_event()))
    assert ([job.deaths for job in back], [work.job.deaths for work in begun]) == ([2], [1])


@on_bench
async def test_a_target_without_a_slot_goes_first(bench: Bench) -> None:
    bench.act.how = _short
    bench.settings = DispatchSettings(totals={"http": 8, "log": 8, "python": 4, "shell": 1})
    await _busy(bench, 60)
    await _until_in_hand(bench, 1)
    await bench.commit_and_wake(*_commands(bench, 1, "other/sh"))
    asked = bench.clock.monotonic()
    while "job_60" not in bench.act.names():  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.001)
    assert bench.clock.monotonic() - asked < 4 * RUN_S
    await asyncio.sleep(2)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_a_paused_target_gives_back_what_is_in_hand(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    before = len(bench.act.began)
    bench.dispatcher.breakers.pause("r/sh", "by hand", "me")
    await asyncio.sleep(AT_ONCE_S)
    assert {bench.states()[name] for name in kept} == {"available"}
    await asyncio.sleep(0.5)
    assert len(bench.act.began) == before
    assert {bench.states()[name] for name in kept} == {"available"}
    bench.dispatcher.breakers.resume("r/sh", "by hand", "me")
    await asyncio.sleep(60)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_a_rule_that_is_paused_gives_back_at_once_what_is_in_hand(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    before = len(bench.act.began)
    bench.paused = frozenset({"r"})
    bench.dispatcher.ruleset_changed()
    await asyncio.sleep(AT_ONCE_S)
    assert len(bench.act.began) == before
    jobs = [bench.ledger.records[name] for name in kept]
    assert [(job.state, job.charged, job.deaths) for job in jobs] == [("available", 0, 0)] * 4
    bench.paused = frozenset()
    await asyncio.sleep(60)
    assert set(bench.states().values()) == {"succeeded"}
    assert len(bench.act.names()) == 40, "each ran once"


@on_bench
async def test_of_a_rule_that_is_paused_nothing_begins_that_is_in_hand(bench: Bench) -> None:
    """From the moment on that the rules are others: it goes before the word of it."""
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    bench.paused = frozenset({"r"})
    await asyncio.sleep(2 * RUN_S)
    first = {a.job: a.outcome for a in reversed(bench.ledger.attempts) if a.job in kept}
    assert first == dict.fromkeys(kept, "interrupted")


@on_bench
async def test_what_a_lease_under_way_brings_for_a_paused_rule_is_given_back(bench: Bench) -> None:
    bench.act.how = _short
    bench.ledger = ledger = _Told()
    await _busy(bench)
    await asyncio.wait_for(ledger.asked.wait(), 1)
    before = len(bench.act.began)
    bench.paused = frozenset({"r"})
    bench.dispatcher.ruleset_changed()
    ledger.go_on.set()
    await asyncio.sleep(AT_ONCE_S)
    assert len(bench.act.began) - before <= 2, "those that have a slot"
    assert not _waiting(bench)


@on_bench
async def test_a_paused_rule_gives_back_who_waits_for_a_slot_of_a_kind(bench: Bench) -> None:
    """Nobody knew which kind it is of before it was leased."""
    bench.act.how = _short
    bench.settings = DispatchSettings(totals={"http": 8, "log": 8, "python": 4, "shell": 1})
    await _busy(bench, 1)
    (job,) = await bench.commit(*_commands(bench, 1, "other/sh", rule="other"))
    bench.dispatcher.wake(job.target, job.due_at)
    await asyncio.sleep(AT_ONCE_S)
    assert _waiting(bench) == {job.id}
    bench.paused = frozenset({"other"})
    bench.dispatcher.ruleset_changed()
    await asyncio.sleep(AT_ONCE_S)
    assert bench.states()[job.id] == "available"


@on_bench
async def test_rules_that_let_it_wait_leave_in_hand_what_is(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    bench.dispatcher.ruleset_changed()
    await asyncio.sleep(1)
    assert set(bench.states().values()) == {"succeeded"}
    assert [a.outcome for a in bench.ledger.attempts if a.job in kept] == ["succeeded"] * 4


@on_bench
async def test_draining_gives_back_what_is_in_hand(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    await bench.dispatcher.drain(1.0)
    assert {bench.states()[name] for name in kept} == {"available"}
    assert "running" not in bench.states().values()
    assert {bench.ledger.records[name].charged for name in kept} == {0}


@on_bench
async def test_the_last_job_begins_when_a_lease_for_its_slot_comes_back_empty(bench: Bench) -> None:
    bench.act.how = _short
    bench.ledger = _slow(2 * RUN_S)
    await bench.start()
    for jobs in range(5, 25):
        first = bench.made
        await bench.commit_and_wake(*_commands(bench, jobs))
        await asyncio.sleep(3)
        starts = [at for name, at in bench.act.began if int(name.removeprefix("job_")) >= first]
        assert len(starts) == jobs
        assert max(b - a for a, b in pairwise(starts)) < KEEP_S / 2
    assert {attempt.outcome for attempt in bench.ledger.attempts} == {"succeeded"}


@on_bench
async def test_an_attempt_begins_when_its_slot_comes_not_when_it_was_leased(bench: Bench) -> None:
    bench.act.how = _short
    await _busy(bench)
    kept = await _until_in_hand(bench)
    assert {bench.ledger.records[name].started_at for name in kept} == {None}
    await asyncio.sleep(1)
    zero = bench.clock.now() - bench.clock.monotonic() * 1000
    began = {name: zero + at * 1000 for name, at in bench.act.began if name in kept}
    for attempt in bench.ledger.attempts:
        if attempt.job in kept:
            assert abs(attempt.started_at - began[attempt.job]) < 2  # they are whole milliseconds


@on_bench
async def test_what_cannot_be_told_the_store_does_not_begin(bench: Bench) -> None:
    """It is given back, and runs when a slot is held for it."""
    bench.act.how = _short
    bench.ledger = _Deaf()
    await _busy(bench)
    await asyncio.sleep(30)
    assert set(bench.states().values()) == {"succeeded"}
    assert len(bench.act.names()) == 40, "each ran once"
    outcomes = {a.outcome for a in bench.ledger.attempts}
    assert outcomes == {"interrupted", "succeeded"}


class _Deaf(Ledger):
    """Has no place for a beginning."""

    def began(self, job: Job) -> bool:
        del job
        return False


class _Told(Ledger):
    """Says when a lease ahead has been asked for, and answers it when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def lease(self, *args: Any, **named: Any) -> LeaseBatch:
        batch = await super().lease(*args, **named)
        if named["ahead"]:
            self.asked.set()
            await self.go_on.wait()
        return batch
