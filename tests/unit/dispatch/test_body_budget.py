"""Large bodies: how many may be held at once, and by whom."""

import asyncio
import gc
import weakref

import msgspec

from router.dispatch import DispatchSettings
from router.dispatch.slots import SMALL, BodyBudget
from router.model.job import Done, Job, Outcome, Work
from tests.sim.makers import a_delivery, a_job, an_event
from tests.unit.dispatch.bench import Bench, on_bench

MIB = 1024 * 1024


async def _hangs(_job: Job) -> Outcome:
    await asyncio.sleep(8)
    return Done()


async def _commit(bench: Bench, target: str, count: int, size: int) -> None:
    """Deliveries of one job each, for the backlog."""
    for job in bench.new(count, target=target):
        delivery = a_delivery(f"dlv_{job.id}", body=b"x" * size)
        await bench.ledger.commit(delivery, [job], bench.clock.now())
        bench.dispatcher.wake(target, job.due_at, job.kind, ("shop", job.id))
        await asyncio.sleep(0.1)  # or one lease brings them all


def test_no_target_holds_more_than_half_of_what_others_leave() -> None:
    weights = BodyBudget(100)
    weights.take(a_job("a", target="hog"), 49)
    assert weights.room("hog")
    weights.take(a_job("b", target="hog"), 20)
    assert not weights.room("hog")
    assert weights.room("other")
    weights.take(a_job("c", target="other"), 15)
    assert not weights.room("other"), "half of 31"
    assert weights.room("third")
    weights.take(a_job("d", target="third"), 16)
    assert not weights.room("fourth"), "all is held"


def test_what_has_ended_is_given_back_once() -> None:
    weights, job = BodyBudget(100), a_job("a", target="hog")
    weights.take(job, 60)
    weights.take(job, 60)
    assert weights.held == 60
    assert [weights.give(job), weights.give(job)] == [True, False]
    assert (weights.held, weights.room("hog")) == (0, True)


@on_bench
async def test_large_bodies_wait_in_the_store_until_those_before_have_ended(bench: Bench) -> None:
    bench.settings = DispatchSettings(body_bytes=16 * MIB)
    bench.act.how = _hangs
    await bench.start()
    await _commit(bench, "hog", 12, 2 * MIB)
    first = len(bench.act.began)
    assert first == 4, "half of what there is"
    assert bench.dispatcher.reserve("hog", "http") is None
    await _commit(bench, "other", 1, 2 * MIB)
    await asyncio.sleep(1)
    assert len(bench.act.began) == first + 1, "another target has room"
    await asyncio.sleep(600)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_bodies_handed_over_in_memory_count(bench: Bench) -> None:
    bench.settings = DispatchSettings(body_bytes=4 * MIB)
    bench.act.how = _hangs
    dispatcher = await bench.start()
    held = []
    for number in range(4):
        lease = dispatcher.reserve("erp", "http")
        held.append(lease is not None)
        new = bench.new(lease=lease, state="running" if lease else "available")
        delivery = a_delivery(f"dlv_{number}", body=b"x" * MIB)
        for job in await bench.ledger.commit(delivery, new, bench.clock.now()):
            if lease:
                dispatcher.hand_over([Work(job, delivery, an_event())])
            else:
                dispatcher.wake(job.target, job.due_at, job.kind)
    assert held == [True, True, False, False]
    await asyncio.sleep(200)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_small_bodies_are_not_counted(bench: Bench) -> None:
    bench.settings = DispatchSettings(body_bytes=MIB)
    bench.act.how = _hangs
    await bench.start()
    await _commit(bench, "erp", 16, SMALL)
    await asyncio.sleep(1)
    assert len(bench.act.began) == 16


class Payload(dict[str, str]):
    """One that can be watched."""


@on_bench
async def test_while_a_target_hangs_nobody_holds_the_payload(bench: Bench) -> None:
    bench.act.how = _hangs
    dispatcher = await bench.start()
    payload = Payload()
    seen = weakref.ref(payload)
    event = msgspec.structs.replace(an_event(), payload=payload)
    lease = dispatcher.reserve("erp", "http")
    (job,) = await bench.commit(*bench.new(lease=lease, state="running"))
    dispatcher.hand_over([Work(job, a_delivery(), event)])
    del payload, event
    await asyncio.sleep(1)
    gc.collect()
    assert bench.act.names() == ["job_0"]
    assert seen() is None
