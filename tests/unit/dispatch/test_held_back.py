"""A node whose leases others may take over: it starts nothing, and goes on when it may."""

import asyncio

from router.dispatch import Dispatcher, DispatchSettings
from router.model.job import Done, Job, NewJob, Outcome, Predecessor, Work
from router.model.settings import TargetLimits
from tests.builders import a_delivery, an_event
from tests.sim.ledger import Ledger
from tests.unit.dispatch.bench import BEFORE, Bench, on_bench

LONG_S = 60.0


async def _starts(bench: Bench) -> Dispatcher:
    """A dispatcher that may start work for a minute."""
    dispatcher = await bench.start()
    dispatcher.start_until(bench.clock.monotonic() + LONG_S)
    return dispatcher


async def _works(bench: Bench, *new: NewJob) -> list[Work]:
    return [Work(job, a_delivery(), an_event()) for job in await bench.commit(*new)]


def _given_back(bench: Bench) -> list[str]:
    return [a.job for a in bench.ledger.attempts if a.outcome == "interrupted"]


@on_bench
async def test_who_is_held_back_starts_nothing_until_told_to_go_on(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    dispatcher.hold_back()
    assert dispatcher.reserve("erp", "http") is None
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(30)
    assert "lease" not in bench.verbs
    dispatcher.start_until(bench.clock.monotonic() + LONG_S)
    await asyncio.sleep(0.01)
    assert bench.states() == {"job_0": "succeeded"}
    assert dispatcher.reserve("erp", "http") is not None


@on_bench
async def test_work_is_started_until_the_moment_that_was_said(bench: Bench) -> None:
    """By the clock alone: whoever was stopped for a while starts nothing when it wakes."""
    dispatcher = await bench.start()
    dispatcher.start_until(bench.clock.monotonic() + 1)
    (work,) = await _works(bench, *bench.new(lease=dispatcher.reserve("erp", "http")))
    await asyncio.sleep(1)
    dispatcher.hand_over([work])
    assert dispatcher.reserve("erp", "http") is None
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(6)
    assert bench.act.began == []
    assert bench.states() == {"job_0": "available", "job_1": "available"}
    assert _given_back(bench) == ["job_0"]


@on_bench
async def test_a_held_router_runs_nothing_until_it_is_resumed(bench: Bench) -> None:
    """Whatever its node says meanwhile; then what is due begins at once."""
    bench.settings = DispatchSettings(held=True)
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new(3))
    assert dispatcher.reserve("erp", "http") is None
    await asyncio.sleep(LONG_S / 2)
    assert (dispatcher.held, set(bench.states().values())) == (True, {"available"})
    assert [job.attempt for job in bench.ledger.records.values()] == [0] * 3
    dispatcher.end_hold()
    await asyncio.sleep(0.01)
    assert (dispatcher.held, set(bench.states().values())) == (False, {"succeeded"})


@on_bench
async def test_what_runs_goes_on_and_its_end_is_written(bench: Bench) -> None:
    async def how(_job: Job) -> Outcome:
        await asyncio.sleep(5)
        return Done()

    bench.act.how = how
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.01)
    dispatcher.hold_back()
    await asyncio.sleep(6)
    assert bench.states() == {"job_0": "succeeded"}
    assert len(bench.act.began) == 1


@on_bench
async def test_what_was_handed_over_and_has_not_begun_is_given_back(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    leases = [dispatcher.reserve("erp", "http") for _ in range(3)]
    works = await _works(bench, *(job for lease in leases for job in bench.new(lease=lease)))
    dispatcher.hand_over(works[:2])
    dispatcher.hold_back()
    dispatcher.hand_over(works[2:])
    await asyncio.sleep(0.01)
    assert set(bench.states().values()) == {"available"}
    assert bench.act.began == []
    dispatcher.start_until(bench.clock.monotonic() + LONG_S)
    await asyncio.sleep(6)
    assert set(bench.states().values()) == {"succeeded"}
    assert len(bench.act.began) == 3


@on_bench
async def test_a_lease_that_is_answered_too_late_begins_nothing(bench: Bench) -> None:
    async def pause() -> None:
        await asyncio.sleep(0.5)

    bench.ledger = Ledger(pause)
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new(2))
    await asyncio.sleep(0.6)
    dispatcher.hold_back()
    await asyncio.sleep(2)
    assert [job.attempt for job in bench.ledger.records.values()] == [1, 1]
    assert set(bench.states().values()) == {"available"}
    assert bench.act.began == []


async def _without_a_slot(bench: Bench, answered: float) -> None:
    """It is held back so many seconds after a job was asked for that turns out to have no slot."""

    async def pause() -> None:
        await asyncio.sleep(0.5)

    async def how(_job: Job) -> Outcome:
        await asyncio.sleep(LONG_S)
        return Done()

    bench.ledger, bench.act.how = Ledger(pause), how
    bench.settings = DispatchSettings(totals={"http": 8, "log": 8, "python": 4, "shell": 1})
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new(kind="shell", target="r/sh"))
    await asyncio.sleep(2)
    await bench.commit(*bench.new(kind="shell", target="x/sh"))
    dispatcher.wake("x/sh", bench.clock.now())
    await asyncio.sleep(answered)
    assert bench.ledger.records["job_1"].state == "running"
    dispatcher.hold_back()
    await asyncio.sleep(2)
    assert bench.states() == {"job_0": "running", "job_1": "available"}
    assert bench.act.names() == ["job_0"]


@on_bench
async def test_what_waits_for_a_slot_is_given_back(bench: Bench) -> None:
    await _without_a_slot(bench, 1.1)


@on_bench
async def test_what_would_wait_for_a_slot_is_given_back(bench: Bench) -> None:
    await _without_a_slot(bench, 0.6)


@on_bench
async def test_under_a_new_number_nothing_begins_that_the_old_one_leased(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    lease = dispatcher.reserve("erp", "http")
    (work,) = await _works(bench, *bench.new(lease=lease))
    dispatcher.hold_back()
    dispatcher.rejoined("boot2")
    dispatcher.start_until(bench.clock.monotonic() + LONG_S)
    assert (dispatcher.reserve("erp", "http") or "").startswith("boot2/")
    dispatcher.hand_over([work])
    await asyncio.sleep(6)
    assert _given_back(bench) == ["job_0"]
    assert bench.ledger.records["job_0"].attempt == 2
    assert bench.act.names() == ["job_0"]


@on_bench
async def test_nor_what_a_lease_of_the_old_one_brings(bench: Bench) -> None:
    async def pause() -> None:
        await asyncio.sleep(0.5)

    bench.ledger = Ledger(pause)
    bench.limits["erp"] = TargetLimits(1)
    dispatcher = await _starts(bench)
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(0.6)
    dispatcher.rejoined("boot2")
    await asyncio.sleep(12)
    assert [a.outcome for a in bench.ledger.attempts] == ["interrupted", "succeeded"]
    assert bench.act.names() == ["job_0"]
    assert bench.seen.settlements[-1] == ("job_0", "succeeded", True)


@on_bench
async def test_whose_results_come_too_late_does_not_begin(bench: Bench) -> None:
    """
    It is in a task, waiting for the store, when others may take it over. It has done nothing: who
    dies of an interruption does not die of that.
    """
    bench.reads, bench.dead_if_interrupted = frozenset({"first"}), frozenset({("r", "a")})
    dispatcher = await bench.start()
    dispatcher.start_until(bench.clock.monotonic() + 1)
    bench.failing["results"] = [BEFORE] * 6
    await bench.commit_and_wake(*bench.new(after=(Predecessor("first"),)))
    await asyncio.sleep(5)
    assert bench.failing["results"] == []
    assert bench.act.began == []
    assert bench.states() == {"job_0": "available"}
    dispatcher.start_until(bench.clock.monotonic() + LONG_S)
    await asyncio.sleep(6)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_a_gone_node_s_jobs_run_at_once(bench: Bench) -> None:
    dispatcher = await _starts(bench)
    await bench.commit(*bench.new(lease="gone/9"), *bench.new(lease="boot/9"))
    await asyncio.sleep(6)
    assert set(bench.states().values()) == {"running"}
    recovered = await dispatcher.recover_nodes()
    assert (recovered.reclaimed, recovered.dead) == (1, 0)
    await asyncio.sleep(0.01)
    assert bench.states() == {"job_0": "succeeded", "job_1": "running"}
