"""Somebody set the clock: what every store does with what is due, what ends, what grows old."""

import pytest

from router.clock import SteadyClock
from router.model.operations import Replay, ReplayStep
from router.store.protocol import Store
from router.store.removal import Retain
from router.store.values import Accepted, Duplicate, Selector
from tests.clocks import START_MS, SetClock
from tests.store_values import Maker, a_settlement, lease_one

DAY_MS = 86_400_000
ALL = Selector()
NOTHING = Retain(succeeded_before=0, unmatched_before=0, dead_before=0)
STEPS = pytest.mark.parametrize("days", [-400, -1, 1, 3650])
OWN_CLOCK = pytest.mark.parametrize("store", ["sqlite", "memory", "model"], indirect=True)
"""Stores that remember how somebody set the clock; one that is shared has a clock of its own."""


class Steady(SteadyClock):
    """A steady clock over one that can be set."""

    def __init__(self) -> None:
        self.machine = SetClock()
        super().__init__(self.machine, self.machine.nanoseconds)

    async def passed(self, days: float) -> None:
        """So much time is over."""
        await self.machine.advance(days * 86_400)


@pytest.fixture
def clock() -> Steady:
    return Steady()


async def set_by(clock: Steady, store: Store, days: int) -> int:
    clock.step(days * DAY_MS)
    return await store.keep_clock()


async def shown(store: Store) -> dict[str, int]:
    return {job.state: job.due_at - START_MS for job in await store.reads.jobs(ALL)}


@OWN_CLOCK
@STEPS
async def test_a_due_time_is_shown_as_the_clock_is_now(
    store: Store, make: Maker, clock: Steady, days: int
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 5)]))
    assert await set_by(clock, store, days) == days * DAY_MS
    due_at = START_MS + 5 + days * DAY_MS
    [job] = await store.reads.jobs(ALL)
    assert job.due_at == due_at
    assert await store.reads.job(job.id) == job
    record = await store.reads.delivery(job.delivery)
    assert record is not None
    assert record.jobs == (job,)
    page = await store.reads.page(ALL, jobs=True)
    assert page.found[0].jobs == (job,)
    assert (await store.reads.target_counts())["erp"].oldest_due == due_at
    await store.settle(a_settlement(await lease_one(store), "dead"))
    await store.revive(ALL, now=START_MS + 8)
    [job] = await store.reads.jobs(ALL)
    assert job.due_at == START_MS + 8 + days * DAY_MS


@STEPS
async def test_a_job_is_leased_when_it_would_have_been(
    store: Store, make: Maker, clock: Steady, days: int
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 5)]))
    await set_by(clock, store, days)
    assert await store.reads.targets() == {"erp": START_MS + 5}
    assert not (await store.lease({"erp": 1}, lease="b.1", now=START_MS + 4)).jobs
    [leased] = (await store.lease({"erp": 1}, lease="b.2", now=START_MS + 5)).jobs
    assert leased.job.due_at == START_MS + 5
    assert leased.job.started_at == START_MS + 5 + days * DAY_MS


@OWN_CLOCK
async def test_every_step_is_kept_once(store: Store, clock: Steady) -> None:
    assert await store.keep_clock() == 0
    assert await set_by(clock, store, 2) == 2 * DAY_MS
    assert await store.keep_clock() == 0
    assert await set_by(clock, store, -3) == -3 * DAY_MS


@OWN_CLOCK
async def test_the_ledger_time_last_seen_is_a_fact(store: Store, clock: Steady) -> None:
    await set_by(clock, store, 1)
    await clock.passed(2)
    await store.keep_clock()
    assert (await store.recall("clock"))["clock/seen"] == START_MS + 2 * DAY_MS


async def test_what_is_recorded_is_wall_time(store: Store, make: Maker, clock: Steady) -> None:
    await store.accept(make.acceptance())
    await set_by(clock, store, 1)
    for lease in ("b/1", "b/2", "b/3"):
        await store.lease({"erp": 1}, lease=lease, now=START_MS + 7)
        await store.recover(nodes=frozenset({"b"}), now=START_MS + 7, on_interrupt_dead=frozenset())
    [job] = await store.reads.jobs(ALL)
    assert (job.state, job.ended_at) == ("dead", START_MS + DAY_MS + 7)
    await store.revive(ALL, now=START_MS + 8)
    await store.cancel(ALL, reason="r", now=START_MS + 9)
    [job] = await store.reads.jobs(ALL)
    assert (job.state, job.created_at, job.ended_at) == (
        "cancelled", START_MS, START_MS + DAY_MS + 9,
    )  # fmt: skip
    record = await store.reads.delivery(job.delivery)
    assert record is not None
    assert [a.ended_at - START_MS for a in record.attempts] == [DAY_MS + 7] * 3


@pytest.mark.parametrize("days", [-400, 400])
async def test_keys_are_known_as_long_as_they_would_have_been(
    store: Store, make: Maker, clock: Steady, days: int
) -> None:
    """For a week from their acceptance, whatever the clock says, and set it who will."""
    first = make.acceptance(b"k")
    await store.accept(first)
    await set_by(clock, store, days)
    await clock.passed(6.9)
    assert await store.accept(make.acceptance(b"k")) == Duplicate(first.delivery.id)
    assert (await store.prune(NOTHING, now=clock.ledger())).keys == 0
    later = make.acceptance(b"l", keys_until=clock.ledger() + DAY_MS)
    await store.accept(later)
    await clock.passed(0.2)
    assert (await store.prune(NOTHING, now=clock.ledger())).keys == 1
    assert await store.accept(make.acceptance(b"l")) == Duplicate(later.delivery.id)
    again = make.acceptance(b"k")
    assert await store.accept(again) == Accepted(again.delivery.id)


async def _came_and_ended(store: Store, make: Maker, clock: Steady) -> tuple[str, str]:
    """A delivery without jobs and one whose job has succeeded, both now."""
    now = clock.now()
    bare = make.acceptance(received_at=now, jobs=[])
    await store.accept(bare)
    done = make.acceptance(received_at=now, jobs=[make.job(due_at=clock.ledger())])
    await store.accept(done)
    [leased] = (await store.lease({"erp": 1}, lease="b.1", now=clock.ledger())).jobs
    await store.settle(a_settlement(leased.job, "succeeded"))
    return bare.delivery.id, done.delivery.id


@OWN_CLOCK
@STEPS
@pytest.mark.parametrize("again", [-1, 1], ids=["right again", "further still"])
async def test_deliveries_are_kept_as_long_as_they_would_have_been(
    store: Store, make: Maker, clock: Steady, days: int, again: int
) -> None:
    """For a week from when they came or ended: before a step, after it, after the next one."""
    kept: list[tuple[str, str]] = []
    for step in (0, days, again * days):
        await set_by(clock, store, step)
        kept.append(await _came_and_ended(store, make, clock))
        await clock.passed(2)
    await clock.passed(0.9)
    for left in (3, 2, 1):
        before = clock.ledger() - 7 * DAY_MS
        retain = Retain(succeeded_before=before, unmatched_before=before, dead_before=0)
        assert (await store.prune(retain, now=clock.ledger())).deliveries == 0
        await clock.passed(0.2)
        before = clock.ledger() - 7 * DAY_MS
        retain = Retain(succeeded_before=before, unmatched_before=before, dead_before=0)
        assert (await store.prune(retain, now=clock.ledger())).deliveries == 2
        found = {one.id for one in await store.reads.deliveries(ALL)}
        assert found == {id_ for pair in kept[4 - left :] for id_ in pair}
        await clock.passed(1.8)


async def test_paces_of_replays_are_ledger_time(store: Store, clock: Steady) -> None:
    await store.begin_replay(Replay("rpl_1", {}, START_MS))
    step = ReplayStep("rpl_1", "", "dlv_a", False, (), {"erp": float(START_MS)}, 0)
    await store.replay_step(step, now=START_MS)
    await set_by(clock, store, -1)
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert replay.due == {"erp": START_MS}
