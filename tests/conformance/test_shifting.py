"""Somebody set the clock: what every store does with the due times of its jobs."""

import pytest

from router.model.operations import Replay, ReplayStep
from router.store.protocol import Store
from router.store.values import Accepted, Duplicate, Retain, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement

DAY_MS = 86_400_000
ALL = Selector()
NOTHING = Retain(succeeded_before=0, unmatched_before=0, dead_before=0)


class SetClock(ManualClock):
    """One that can be set."""

    off = 0

    def now(self) -> int:
        return super().now() + self.off


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


async def due_times(store: Store) -> dict[str, int]:
    return {job.state: job.due_at - START_MS for job in await store.reads.jobs(ALL)}


async def one_of_each(store: Store, make: Maker) -> None:
    """A job in every state, each with a target of its own."""
    for state in ("succeeded", "dead", "cancelled", "retryable", "running"):
        await store.accept(make.acceptance(jobs=[make.job(target=state)]))
        job = (await store.lease({state: 1}, lease="b.1", now=FAR)).jobs[0].job
        if state != "running":
            due_at = START_MS + 3 if state == "retryable" else None
            await store.settle(a_settlement(job, state, due_at=due_at))
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 5)]))
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 6, state="waiting")]))


async def test_unfinished_jobs_move_and_ended_ones_do_not(store: Store, make: Maker) -> None:
    await one_of_each(store, make)
    before = await due_times(store)
    assert len(before) == 7
    assert await store.shift(-DAY_MS, boot="b", now=START_MS) == 4
    after = await due_times(store)
    moved = {state for state, due_at in after.items() if due_at != before[state]}
    assert moved == {"available", "retryable", "waiting", "running"}
    assert all(after[state] == before[state] - DAY_MS for state in moved)


async def test_what_was_moved_is_leased_at_its_new_time(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    await store.shift(DAY_MS, boot="b", now=START_MS + DAY_MS)
    due_at = START_MS + DAY_MS
    assert await store.reads.targets() == {"erp": due_at}
    assert not (await store.lease({"erp": 1}, lease="b.1", now=due_at - 1)).jobs
    assert (await store.lease({"erp": 1}, lease="b.2", now=due_at)).jobs


async def test_a_total_is_reached_once_however_often_it_is_asked_for(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance())
    assert await store.shift(5_000, boot="b", now=START_MS) == 1
    assert await store.shift(5_000, boot="b", now=START_MS) == 0
    assert await due_times(store) == {"available": 5_000}
    assert await store.shift(-1_000, boot="b", now=START_MS) == 1
    assert await due_times(store) == {"available": -1_000}
    assert await store.shift(5_000, boot="another", now=START_MS) == 1
    assert await due_times(store) == {"available": 4_000}


@pytest.mark.parametrize("days", [-400, 400])
async def test_keys_are_known_as_long_as_they_would_have_been(
    store: Store, make: Maker, clock: SetClock, days: int
) -> None:
    """For a week from their acceptance, whatever the clock says, and set it who will."""
    first = make.acceptance(b"k")
    await store.accept(first)
    clock.off += days * DAY_MS
    await store.shift(days * DAY_MS, boot="b", now=clock.now())
    await clock.advance(6.9 * DAY_MS / 1000)
    assert await store.accept(make.acceptance(b"k")) == Duplicate(first.delivery.id)
    assert (await store.prune(NOTHING, now=clock.now())).keys == 0
    await store.shift(days * DAY_MS, boot="b", now=clock.now())
    later = make.acceptance(events=[make.event(0, b"l", keys_until=clock.now() + DAY_MS)])
    await store.accept(later)
    await clock.advance(0.2 * DAY_MS / 1000)
    assert (await store.prune(NOTHING, now=clock.now())).keys == 1
    assert await store.accept(make.acceptance(b"l")) == Duplicate(later.delivery.id)
    again = make.acceptance(b"k")
    assert await store.accept(again) == Accepted(again.delivery.id)


async def test_the_time_last_seen_is_a_fact(store: Store) -> None:
    assert await store.shift(0, boot="b", now=START_MS + 7) == 0
    assert (await store.recall("clock"))["clock"]["at"] == START_MS + 7


async def test_what_is_written_after_the_answer_does_not_move(store: Store, make: Maker) -> None:
    await store.shift(DAY_MS, boot="b", now=START_MS)
    await store.accept(make.acceptance())
    assert await due_times(store) == {"available": 0}
    job = (await store.lease({"erp": 1}, lease="b.1", now=FAR)).jobs[0].job
    await store.settle(a_settlement(job, "retryable", due_at=START_MS + 3))
    assert await due_times(store) == {"retryable": 3}


@pytest.mark.parametrize("last", [False, True])
async def test_paces_of_replays_move(last: bool, store: Store) -> None:
    """Of those that are made too: the next one goes on where they leave off."""
    await store.begin_replay(Replay("rpl_1", {}, START_MS))
    step = ReplayStep("rpl_1", "", "dlv_a", last, (), {"erp": float(START_MS)}, 0)
    await store.replay_step(step, now=START_MS)
    await store.shift(-DAY_MS, boot="b", now=START_MS)
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert replay.due == {"erp": START_MS - DAY_MS}
