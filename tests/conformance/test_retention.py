"""
What every store removes, and when: one that keeps a day's deliveries together looks at those of a
day alone, so jobs end here some days after their deliveries came.
"""

import msgspec
import pytest

from router.model.settings import DAY_MS
from router.store.protocol import Store
from router.store.removal import EndedBefore, Retain
from router.store.values import Duplicate, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement, lease_one

ALL = Selector()
LATER = START_MS + 3 * DAY_MS
ONE_BY_ONE = pytest.mark.parametrize("store", ["sqlite", "memory", "model"], indirect=True)
"""Stores that do not wait for the end of the day in which a delivery came."""


EVERYTHING = {"succeeded_before": FAR, "unmatched_before": FAR, "dead_before": FAR}


def retain(**given: int) -> Retain:
    values = {"succeeded_before": 0, "unmatched_before": 0, "dead_before": 0, **given}
    return Retain(**values)


@pytest.mark.long
async def test_open_work_is_never_removed(store: Store, make: Maker) -> None:
    states = ("available", "waiting", "running")
    for state in states:
        await store.accept(make.acceptance(jobs=[make.job(state=state, lease="b.1")]))
    half = make.acceptance(jobs=[make.job(target="half"), make.job()])
    await store.accept(half)
    await store.settle(a_settlement(await lease_one(store, "half")))
    later = 9 * FAR
    everything = retain(
        succeeded_before=later, unmatched_before=later, dead_before=later, finished_before=later
    )
    assert (await store.prune(everything, now=START_MS)).deliveries == 0
    assert len(await store.reads.deliveries(ALL)) == 4


async def test_the_longest_time_among_a_delivery_s_jobs_counts(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await store.settle(a_settlement(await lease_one(store, now=LATER)))
    await store.settle(a_settlement(await lease_one(store, now=LATER), "dead"))
    ended = LATER + 5
    short = retain(succeeded_before=ended + 1, dead_before=ended)
    assert (await store.prune(short, now=START_MS)).deliveries == 0
    enough = retain(succeeded_before=ended + 1, dead_before=ended + 1)
    assert (await store.prune(enough, now=START_MS)).deliveries == 1
    assert await store.reads.deliveries(ALL) == ()
    assert await store.reads.counts() == {}


async def test_the_last_end_among_a_delivery_s_jobs_counts(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await store.settle(a_settlement(await lease_one(store, now=LATER + 100)))
    await store.settle(a_settlement(await lease_one(store, now=LATER)))
    last = LATER + 105
    assert (await store.prune(retain(succeeded_before=last), now=START_MS)).deliveries == 0
    assert (await store.prune(retain(succeeded_before=last + 1), now=START_MS)).deliveries == 1


async def test_what_an_attempt_ran_under_is_kept_with_it(store: Store, make: Maker) -> None:
    """Though neither the delivery nor its job name that generation; in a run, and alone."""
    alone = make.acceptance(jobs=[make.job()], generation="g1")
    linked = make.acceptance(jobs=[make.job(run="r")], generation="g2")
    for accepted in (alone, linked):
        await store.accept(accepted)
        job = await lease_one(store)
        settlement = a_settlement(job)
        attempt = msgspec.structs.replace(settlement.attempt, generation=f"ran {job.delivery}")
        await store.settle(msgspec.structs.replace(settlement, attempt=attempt))
        await store.prune(retain(), now=START_MS)
        record = await store.reads.delivery(job.delivery)
        assert record is not None
        assert record.attempts == (attempt,)


async def test_each_kind_has_its_time(store: Store, make: Maker) -> None:
    unmatched = make.acceptance(jobs=(), state="unmatched")
    cancelled = make.acceptance()
    await store.accept(unmatched)
    await store.accept(cancelled)
    await store.cancel(ALL, reason="x", now=LATER)
    came = unmatched.delivery.received_at
    assert (await store.prune(retain(unmatched_before=came), now=START_MS)).deliveries == 0
    assert (await store.prune(retain(unmatched_before=came + DAY_MS), now=START_MS)).deliveries == 1
    left = await store.reads.deliveries(ALL)
    assert [s.id for s in left] == [cancelled.delivery.id]
    assert (await store.prune(retain(succeeded_before=LATER), now=START_MS)).deliveries == 0
    assert (await store.prune(retain(succeeded_before=LATER + 1), now=START_MS)).deliveries == 1


@ONE_BY_ONE
async def test_without_jobs_the_time_of_its_coming_counts(store: Store, make: Maker) -> None:
    unmatched = make.acceptance(jobs=(), state="unmatched")
    await store.accept(unmatched)
    came = unmatched.delivery.received_at
    assert (await store.prune(retain(unmatched_before=came), now=START_MS)).deliveries == 0
    assert (await store.prune(retain(unmatched_before=came + 1), now=START_MS)).deliveries == 1


async def test_a_day_whose_time_is_over_leaves_what_must_stay(store: Store, make: Maker) -> None:
    """Whole, and it is removed when its own time comes, to the millisecond."""
    bare, done, late, dead, waiting = [
        make.acceptance(jobs=[make.job(target=target)] if target else [])
        for target in ("", "done", "late", "dead", "waiting")
    ]
    await store.accept_all([bare, done, late, dead, waiting])
    for target, at, end in (("done", START_MS, "succeeded"), ("late", LATER, "succeeded")):
        await store.settle(a_settlement(await lease_one(store, target, now=at), end))
    await store.settle(a_settlement(await lease_one(store, "dead", now=START_MS), "dead"))
    staying = [late, dead, waiting]
    before = [await store.reads.delivery(one.delivery.id) for one in staying]
    two_days = START_MS + 2 * DAY_MS
    times = retain(succeeded_before=two_days, unmatched_before=two_days, dead_before=START_MS + 5)
    assert (await store.prune(times, now=LATER)).deliveries == 2
    assert (await store.prune(times, now=LATER)).deliveries == 0
    assert [await store.reads.delivery(one.delivery.id) for one in staying] == before
    for gone in (bare, done):
        assert await store.reads.delivery(gone.delivery.id) is None
    times = msgspec.structs.replace(times, succeeded_before=LATER + 6, dead_before=START_MS + 6)
    assert (await store.prune(times, now=LATER)).deliveries == 2
    assert [one.id for one in await store.reads.deliveries(ALL)] == [waiting.delivery.id]
    assert (await store.lease({"waiting": 1}, lease="b.2", now=FAR)).jobs


SOON, LONG = EndedBefore(FAR, FAR, FAR), EndedBefore(0, 0, 0)


async def test_an_endpoint_has_times_of_its_own(store: Store, make: Maker) -> None:
    """Also one that keeps less than all others, of a day that is not over for them."""
    places = ("brief", "usual", "long")
    bare = [make.acceptance(jobs=(), endpoint=place) for place in places]
    dead = [make.acceptance(jobs=[make.job(target=place)], endpoint=place) for place in places]
    await store.accept_all([*bare, *dead])
    for place in places:
        await store.settle(a_settlement(await lease_one(store, place, now=START_MS), "dead"))
    endpoints = {"brief": SOON, "long": LONG, "gone": SOON}
    wish = msgspec.structs.replace(retain(), endpoints=endpoints)
    assert (await store.prune(wish, now=LATER)).deliveries == 2
    left = {one.id for one in await store.reads.deliveries(ALL)}
    assert left == {one.delivery.id for one in (*bare[1:], *dead[1:])}
    wish = msgspec.structs.replace(retain(**EVERYTHING), endpoints=endpoints)
    assert (await store.prune(wish, now=LATER)).deliveries == 2
    assert await store.reads.deliveries(Selector(endpoint="usual")) == ()
    assert len(await store.reads.deliveries(Selector(endpoint="long"))) == 2
    cap = msgspec.structs.replace(wish, finished_before=FAR)
    assert (await store.prune(cap, now=LATER)).deliveries == 2


async def test_of_each_state_an_endpoint_has_its_time(store: Store, make: Maker) -> None:
    bare = make.acceptance(jobs=())
    await store.accept(bare)
    for state in ("succeeded", "dead"):
        await store.accept(make.acceptance(jobs=[make.job(target=state)]))
        await store.settle(a_settlement(await lease_one(store, state, now=START_MS), state))
    for n, kind in enumerate(("unmatched", "succeeded", "dead")):
        own = msgspec.structs.replace(LONG, **{kind: FAR})
        wish = msgspec.structs.replace(retain(), endpoints={bare.delivery.endpoint: own})
        assert (await store.prune(wish, now=LATER)).deliveries == 1
        assert len(await store.reads.deliveries(ALL)) == 2 - n


async def test_the_size_cap_takes_finished_deliveries_oldest_first(
    store: Store, make: Maker
) -> None:
    accepted = [make.acceptance(jobs=()) for _ in range(5)]
    for acceptance in accepted:
        await store.accept(acceptance)
    before = accepted[3].delivery.received_at
    step = retain(finished_before=before, limit=2)
    assert (await store.prune(step, now=START_MS)).deliveries == 2
    ids = [a.delivery.id for a in reversed(accepted)]
    assert [s.id for s in await store.reads.deliveries(ALL)] == ids[:3]
    assert (await store.prune(step, now=START_MS)).deliveries == 1
    assert [s.id for s in await store.reads.deliveries(ALL)] == ids[:2]


async def test_live_keys_outlive_their_delivery(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    first = make.acceptance(b"k", jobs=())
    await store.accept(first)
    gone = await store.prune(retain(unmatched_before=FAR), now=START_MS)
    assert (gone.deliveries, gone.keys) == (1, 0)
    assert await store.accept(make.acceptance(b"k")) == Duplicate(first.delivery.id)
    assert (await store.prune(retain(), now=FAR)).keys == 1


async def test_only_expired_keys_are_removed(store: Store, make: Maker) -> None:
    ends = {b"a": START_MS + 1, b"b": START_MS + 3, b"c": START_MS + 2}
    kept = [make.acceptance(key, jobs=(), keys_until=end) for key, end in ends.items()]
    await store.accept_all(kept)
    assert (await store.prune(retain(), now=START_MS + 2)).keys == 2
    assert await store.accept(make.acceptance(b"b")) == Duplicate(kept[1].delivery.id)
    assert (await store.prune(retain(), now=START_MS + 3)).keys == 1
