"""What a store commits together with the end of a job: the router's own event of it."""

import asyncio

from router.model.job import Attempt, Group, Job, Turn
from router.store.protocol import Store
from router.store.values import ALREADY, HELD, Acceptance, Recovered, Selector, Settled
from tests.store_values import FAR, Maker, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()


def own(make: Maker, *keys: bytes) -> Acceptance:
    """A delivery of our own with one job."""
    job = make.job(rule="call", action="chat", target="chat", event="job.dead")
    return make.acceptance(*keys, jobs=[job], endpoint="router", provider="router")


async def running(store: Store, make: Maker, lease: str = "b.1", **given: str) -> Job:
    await store.accept(make.acceptance(jobs=[make.job(**given)]))
    return (await store.lease({"erp": 1}, lease=lease, now=FAR)).jobs[0].job


async def reported(store: Store) -> list[str]:
    return [d.id for d in await store.reads.deliveries(Selector(endpoint="router"))]


async def test_it_is_there_when_the_job_is_dead(store: Store, make: Maker) -> None:
    job, event = await running(store, make), own(make)
    assert await store.settle(a_settlement(job, "dead", reason="no"), event) == Settled()
    assert await reported(store) == [event.delivery.id]
    made = await store.reads.job(event.jobs[0].id)
    assert made is not None
    assert (made.state, made.endpoint, made.event) == ("available", "router", "job.dead")
    assert (await store.reads.targets())["chat"] == made.due_at
    record = await store.reads.delivery(event.delivery.id)
    assert record is not None
    assert record.delivery == event.delivery


async def test_a_lost_lease_tells_nothing(store: Store, make: Maker) -> None:
    job = await running(store, make)
    assert not await store.settle(a_settlement(job, "dead", lease="b.other"), own(make))
    assert await reported(store) == []
    assert await store.reads.targets() == {}


async def test_offered_twice_it_is_reported_once(store: Store, make: Maker) -> None:
    job, event = await running(store, make), own(make)
    assert await store.settle(a_settlement(job, "dead"), event) == HELD
    assert await store.settle(a_settlement(job, "dead"), event) == ALREADY
    assert await reported(store) == [event.delivery.id]


async def test_a_known_key_tells_nothing_and_the_job_is_dead(store: Store, make: Maker) -> None:
    await store.accept(own(make, b"job.dead/1"))
    job = await running(store, make)
    assert await store.settle(a_settlement(job, "dead"), own(make, b"job.dead/1"))
    assert len(await reported(store)) == 1
    assert (await store.reads.counts())["paid"] == {"dead": 1}


async def test_many_at_once_of_which_some_lost_their_lease(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(6)]))
    jobs = [one.job for one in (await store.lease({"erp": 6}, lease="b.1", now=FAR)).jobs]
    events = [own(make) for _ in jobs]
    ends = [a_settlement(j, "dead", lease="b.1" if i % 2 else "x") for i, j in enumerate(jobs)]
    pairs = zip(ends, events, strict=True)
    settled = await asyncio.gather(*[store.settle(end, event) for end, event in pairs])
    assert [bool(one) for one in settled] == [False, True] * 3
    assert sorted(await reported(store)) == sorted(e.delivery.id for e in events[1::2])


async def test_with_a_chain_and_a_group_too(store: Store, make: Maker) -> None:
    """A newer own run supersedes an older one: what was cancelled is among the answer's."""
    turn = Turn("call\x1fpaid", "paid", Group(on_busy="latest"))

    def grouped() -> Acceptance:
        job = make.job(rule="call", target="chat")
        name = {"run": job.id, "turn": turn}
        held = make.job(id=job.id, rule="call", target="chat", **name)
        return make.acceptance(jobs=[held], endpoint="router", provider="router")

    async def die() -> Settled:
        return await store.settle(a_settlement(await running(store, make), "dead"), grouped())

    assert await die() == Settled()
    assert len((await store.lease({"chat": 1}, lease="c.1", now=FAR)).jobs) == 1
    assert await die() == Settled()  # it waits for its turn
    assert await die() == Settled(cancelled=("superseded",))


async def test_recovery_tells_of_each_that_dies_of_it(store: Store, make: Maker) -> None:
    doomed = await running(store, make, "old.1", rule="refund")
    spared = await running(store, make, "old.2")
    seen: list[tuple[Job, Attempt]] = []
    event = own(make)

    def died(job: Job, attempt: Attempt) -> Acceptance:
        seen.append((job, attempt))
        return event

    recovered = await store.recover(
        nodes=await store.reads.lost_nodes("new"),
        now=FAR,
        on_interrupt_dead=frozenset({("refund", "erp")}),
        died=died,
    )
    assert recovered == Recovered(1, 1)
    assert await reported(store) == [event.delivery.id]
    ((job, attempt),) = seen
    assert (job.id, job.state, job.reason, job.endpoint) == (
        doomed.id,
        "dead",
        "interrupted",
        "shop",
    )
    record = await store.reads.delivery(job.delivery)
    assert record is not None
    assert record.attempts == (attempt,)
    again = await store.reads.job(spared.id)
    assert again is not None
    assert again.state == "available"
    # A second recovery finds nothing more to tell of.
    await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=NOBODY, died=died
    )
    assert len(seen) == 1


async def test_recovery_of_many_with_nobody_to_tell(store: Store, make: Maker) -> None:
    for _ in range(3):
        await running(store, make, "old.1")
    dead = frozenset({("paid", "erp")})
    recovered = await store.recover(
        nodes=await store.reads.lost_nodes("new"),
        now=FAR,
        on_interrupt_dead=dead,
        died=lambda _job, _attempt: None,
    )
    assert recovered == Recovered(0, 3)
    assert await reported(store) == []


async def test_recovery_tells_of_forty_in_the_order_of_their_ids(store: Store, make: Maker) -> None:
    """More than one statement asks for."""
    jobs = sorted([make.job() for _ in range(40)], key=lambda job: job.id, reverse=True)
    await store.accept(make.acceptance(jobs=jobs))
    await store.lease({"erp": 40}, lease="old.1", now=FAR)
    dead = frozenset({("paid", "erp")})
    asked: list[str] = []

    def died(job: Job, _attempt: Attempt) -> Acceptance:
        asked.append(job.id)
        return own(make, job.id.encode())

    recovered = await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=FAR, on_interrupt_dead=dead, died=died
    )
    assert recovered == Recovered(0, 40)
    assert len(await reported(store)) == 40
    assert asked == [job.id for job in reversed(jobs)]
