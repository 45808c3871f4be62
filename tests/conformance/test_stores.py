"""What every store does: the same suite for the file and for the model in plain dicts."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from router.errors import NotFound, StoreUnavailable
from router.model.job import Job
from router.model.target import TargetCounts
from router.store.protocol import Accepted, Duplicate, Generation, Recovered, Selector, Store
from router.store.sqlite import open_store
from router.store.upkeep import Retain, RuleCount
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker, a_settlement

NOBODY: frozenset[tuple[str, str]] = frozenset()
DAY = 86_400
ALL = Selector()


async def lease_one(
    store: Store, target: str = "erp", *, now: int = FAR, lease: str = "b.1"
) -> Job:
    batch = await store.lease({target: 1}, lease=lease, now=now)
    return batch.jobs[0].job


# Accepting


async def test_what_was_accepted_comes_back_byte_for_byte(store: Store, make: Maker) -> None:
    body = bytes(range(256)) * 40
    acceptance = make.acceptance(
        b"shop\0k", body=body, flags=("no_id",), peer="203.0.113.9", replay_of="dlv_x"
    )
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)
    record = await store.delivery(acceptance.delivery.id)
    assert record is not None
    assert record.delivery == acceptance.delivery
    assert record.events == acceptance.events
    assert record.duplicates == 0
    assert [job.id for job in record.jobs] == [job.id for job in acceptance.jobs]


async def test_a_new_job_has_its_delivery_s_facts(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    acceptance = make.acceptance(endpoint="mail", generation="g1")
    await store.accept(acceptance)
    job = await store.job(acceptance.jobs[0].id)
    assert job is not None
    assert (job.delivery, job.endpoint, job.generation) == (acceptance.delivery.id, "mail", "g1")
    assert (job.state, job.attempt, job.charged, job.deaths) == ("available", 0, 0, 0)
    assert job.created_at == clock.now()


async def test_a_job_handed_over_in_memory_has_begun_its_first_attempt(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    acceptance = make.acceptance(jobs=[make.job(state="running", lease="b.7")])
    await store.accept(acceptance)
    job = await store.job(acceptance.jobs[0].id)
    assert job is not None
    assert (job.state, job.lease, job.attempt) == ("running", "b.7", 1)
    assert job.started_at == clock.now()
    assert (await store.lease({"erp": 9}, lease="b.8", now=FAR)).jobs == ()
    assert await store.settle(a_settlement(job))


async def test_a_delivery_without_events_is_stored(store: Store, make: Maker) -> None:
    acceptance = make.acceptance(events=(), jobs=(), state="unmatched", event_count=0)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)
    assert await store.delivery(acceptance.delivery.id) is not None


# Dedupe


async def test_a_known_key_is_a_duplicate_of_the_first(store: Store, make: Maker) -> None:
    first, second = make.acceptance(b"k"), make.acceptance(b"k", body=b"other")
    await store.accept(first)
    assert await store.accept(second) == Duplicate(first.delivery.id)
    assert await store.delivery(second.delivery.id) is None
    record = await store.delivery(first.delivery.id)
    assert record is not None
    assert record.duplicates == 1
    assert record.last_seen_at == second.delivery.received_at
    assert len(await store.jobs(ALL)) == 1


async def test_a_hundred_copies_at_once_make_one_delivery(store: Store, make: Maker) -> None:
    copies = [make.acceptance(b"k") for _ in range(100)]
    receipts = await asyncio.gather(*[store.accept(copy) for copy in copies])
    assert receipts[0] == Accepted(copies[0].delivery.id)
    assert receipts[1:] == [Duplicate(copies[0].delivery.id)] * 99
    summaries = await store.deliveries(ALL)
    assert [s.duplicates for s in summaries] == [99]
    assert len(await store.jobs(ALL)) == 1


async def test_without_keys_nothing_is_a_duplicate(store: Store, make: Maker) -> None:
    for _ in range(2):
        acceptance = make.acceptance()
        assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)


async def test_any_known_key_makes_the_event_known_and_takes_no_other(
    store: Store, make: Maker
) -> None:
    first, copy = make.acceptance(b"id"), make.acceptance(b"id", b"hash")
    await store.accept(first)
    assert await store.accept(copy) == Duplicate(first.delivery.id)
    later = make.acceptance(b"hash")
    assert await store.accept(later) == Accepted(later.delivery.id)


async def test_of_a_partly_known_batch_only_new_events_get_jobs(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(b"a"))
    events = [make.event(0, b"b"), make.event(1, b"a"), make.event(2)]
    acceptance = make.acceptance(events=events, event_count=3)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({0, 2}))
    record = await store.delivery(acceptance.delivery.id)
    assert record is not None
    assert [e.index for e in record.events] == [0, 2]
    assert [j.event_index for j in record.jobs] == [0, 2]
    assert record.delivery.event_count == 3


async def test_the_same_key_twice_in_one_batch_the_first_wins(store: Store, make: Maker) -> None:
    events = [make.event(0, b"a"), make.event(1, b"a", b"b"), make.event(2, b"b")]
    acceptance = make.acceptance(events=events)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({0, 2}))


async def test_copies_in_flight_together_agree(store: Store, make: Maker) -> None:
    one = make.acceptance(events=[make.event(0, b"a"), make.event(1, b"b")])
    two = make.acceptance(events=[make.event(0, b"b"), make.event(1, b"c")])
    three = make.acceptance(events=[make.event(0, b"c"), make.event(1, b"a")])
    receipts = await asyncio.gather(*[store.accept(one_) for one_ in (one, two, three)])
    assert receipts == [
        Accepted(one.delivery.id),
        Accepted(two.delivery.id, frozenset({1})),
        Duplicate(two.delivery.id),
    ]


async def test_an_expired_key_is_taken_over(store: Store, make: Maker, clock: ManualClock) -> None:
    await store.accept(make.acceptance(b"k"))
    await clock.advance(7 * DAY)
    again = make.acceptance(events=[make.event(0, b"k", keys_until=FAR + 9_000)])
    assert await store.accept(again) == Accepted(again.delivery.id)
    assert await store.accept(make.acceptance(b"k")) == Duplicate(again.delivery.id)


# Leasing and settling


async def test_due_jobs_are_leased_oldest_first_up_to_the_slots(store: Store, make: Maker) -> None:
    due = [make.job(due_at=START_MS + at) for at in (30, 10, 20, 40)]
    await store.accept(make.acceptance(jobs=due))
    batch = await store.lease({"erp": 2, "none": 3}, lease="b.1", now=START_MS + 100)
    assert [one.job.due_at - START_MS for one in batch.jobs] == [10, 20]
    assert batch.next_due == {"erp": START_MS + 30, "none": None}


async def test_nothing_is_leased_before_its_time(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 10)]))
    batch = await store.lease({"erp": 2}, lease="b.1", now=START_MS + 9)
    assert batch.jobs == ()
    assert batch.next_due == {"erp": START_MS + 10}


async def test_a_lease_records_the_attempt_and_brings_the_delivery(
    store: Store, make: Maker
) -> None:
    acceptance = make.acceptance(jobs=[make.job(), make.job()])
    await store.accept(acceptance)
    batch = await store.lease({"erp": 5}, lease="b.1", now=START_MS + 3)
    assert [one.delivery for one in batch.jobs] == [acceptance.delivery] * 2
    for one in batch.jobs:
        assert one.job == await store.job(one.job.id)
        assert (one.job.state, one.job.attempt, one.job.lease) == ("running", 1, "b.1")
        assert one.job.started_at == START_MS + 3
    assert batch.next_due == {"erp": None}


async def test_a_job_is_leased_once(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    batches = await asyncio.gather(
        *[store.lease({"erp": 1}, lease=f"b.{i}", now=FAR) for i in range(5)]
    )
    assert sum(len(batch.jobs) for batch in batches) == 1


async def test_only_the_lease_settles(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    assert not await store.settle(a_settlement(job, lease="b.other"))
    assert (await store.job(job.id)) == job
    assert await store.settle(a_settlement(job))
    assert not await store.settle(a_settlement(job))
    record = await store.delivery(job.delivery)
    assert record is not None
    assert [a.number for a in record.attempts] == [1]


async def test_a_fenced_settlement_spoils_no_other(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(6)]))
    jobs = [one.job for one in (await store.lease({"erp": 6}, lease="b.1", now=FAR)).jobs]
    settled = await asyncio.gather(
        *[store.settle(a_settlement(j, lease="b.1" if i % 2 else "x")) for i, j in enumerate(jobs)]
    )
    assert [bool(one) for one in settled] == [False, True] * 3
    assert await store.counts() == {"paid": {"running": 3, "succeeded": 3}}


async def test_success_ends_the_job_and_keeps_the_result(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    settlement = a_settlement(job)
    await store.settle(settlement)
    record = await store.delivery(job.delivery)
    assert record is not None
    assert record.attempts == (settlement.attempt,)
    ended = record.jobs[0]
    assert (ended.state, ended.lease, ended.ended_at) == (
        "succeeded",
        None,
        settlement.attempt.ended_at,
    )


async def test_a_retry_waits_for_its_time_and_is_charged(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store, now=START_MS)
    await store.settle(a_settlement(job, "retryable", due_at=START_MS + 50, reason="status 500"))
    assert (await store.lease({"erp": 1}, lease="b.2", now=START_MS + 49)).jobs == ()
    assert await store.targets() == {"erp": START_MS + 50}
    again = await lease_one(store, now=START_MS + 50)
    assert (again.attempt, again.charged, again.reason) == (2, 1, "status 500")


async def test_an_attempt_given_back_is_not_charged(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    await store.settle(a_settlement(job, "available", charged=False))
    again = await lease_one(store)
    assert (again.attempt, again.charged, again.due_at) == (2, 0, job.due_at)


async def test_waiting_jobs_are_not_leased(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(state="waiting")]))
    assert (await store.lease({"erp": 1}, lease="b.1", now=FAR)).jobs == ()
    assert await store.targets() == {}


async def test_targets_are_those_with_work_to_come(store: Store, make: Maker) -> None:
    jobs = [make.job(target=t, due_at=START_MS + at) for t, at in (("b", 5), ("a", 7), ("b", 3))]
    await store.accept(make.acceptance(jobs=[*jobs, make.job(target="c", state="waiting")]))
    assert await store.targets() == {"a": START_MS + 7, "b": START_MS + 3}


# Death of a process


async def test_another_boot_s_jobs_are_reclaimed_uncharged(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    old = await lease_one(store, lease="old.1")
    kept = await lease_one(store, lease="new.1")
    assert await store.recover(
        alive="new", now=START_MS + 9, on_interrupt_dead=NOBODY
    ) == Recovered(1, 0)
    assert await store.job(kept.id) == kept
    again = await lease_one(store)
    assert (again.id, again.attempt, again.charged, again.deaths) == (old.id, 2, 0, 1)
    assert not await store.settle(a_settlement(old))
    record = await store.delivery(old.delivery)
    assert record is not None
    assert [(a.number, a.outcome) for a in record.attempts] == [(1, "interrupted")]


async def test_a_restart_keeps_the_time_of_a_retry(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    job = await lease_one(store, lease="old.1")
    await lease_one(store, lease="old.2")
    due_at = START_MS + 3_600_000
    await store.settle(a_settlement(job, "retryable", due_at=due_at))
    await store.recover(alive="new", now=START_MS + 9, on_interrupt_dead=NOBODY)
    again = await store.job(job.id)
    assert again is not None
    assert (again.state, again.due_at, again.charged, again.deaths) == ("retryable", due_at, 1, 0)


async def test_the_third_death_in_a_row_is_the_last(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    for boot in range(3):
        await lease_one(store, lease=f"{boot}.1")
        last = await store.recover(alive="x", now=FAR, on_interrupt_dead=NOBODY)
    assert last == Recovered(0, 1)
    (job,) = await store.jobs(Selector(state="dead"))
    assert (job.reason, job.deaths, job.ended_at) == ("crash_loop", 3, FAR)


async def test_a_charged_attempt_clears_the_deaths(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    await lease_one(store, lease="old.1")
    await store.recover(alive="x", now=FAR, on_interrupt_dead=NOBODY)
    job = await lease_one(store)
    await store.settle(a_settlement(job, "retryable", due_at=START_MS))
    assert (await lease_one(store)).deaths == 0


async def test_work_that_must_not_run_again_dies_at_once(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    await lease_one(store, lease="old.1")
    dead = frozenset({("paid", "erp")})
    assert await store.recover(alive="x", now=FAR, on_interrupt_dead=dead) == Recovered(0, 1)
    (job,) = await store.jobs(Selector(state="dead"))
    assert job.reason == "interrupted"


# The operator's verbs


async def test_replayed_jobs_join_their_delivery(store: Store, make: Maker) -> None:
    first, later = make.acceptance(), make.acceptance()
    await store.accept(first)
    await store.accept(later)
    new = [make.job(replay_of=first.jobs[0].id, generation="g2"), make.job(rule="other")]
    assert await store.add(first.delivery.id, new) == 2
    record = await store.delivery(first.delivery.id)
    assert record is not None
    assert [j.id for j in record.jobs] == [first.jobs[0].id, new[0].id, new[1].id]
    assert [j.generation for j in record.jobs] == [GENERATION, "g2", GENERATION]
    assert record.jobs[1].replay_of == first.jobs[0].id
    with pytest.raises(NotFound):
        await store.add("dlv_unknown", new)


async def test_cancel_leaves_running_and_ended_jobs_alone(store: Store, make: Maker) -> None:
    jobs = [make.job(due_at=START_MS + i) for i in range(3)]
    await store.accept(make.acceptance(jobs=[*jobs, make.job(state="waiting")]))
    running = await lease_one(store, now=START_MS)
    assert await store.cancel(Selector(rule="paid"), reason="by hand", now=FAR) == 3
    assert (await store.job(running.id)) == running
    cancelled = await store.jobs(Selector(state="cancelled"))
    assert {(j.reason, j.ended_at) for j in cancelled} == {("by hand", FAR)}
    assert await store.targets() == {}


async def test_cancel_takes_only_what_is_selected(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    assert await store.cancel(Selector(rule="other"), reason="x", now=FAR) == 1
    assert await store.counts() == {"paid": {"available": 1}, "other": {"cancelled": 1}}


async def test_verbs_take_everything_or_up_to_the_limit(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(80)]))
    assert await store.cancel(Selector(limit=3), reason="x", now=FAR) == 3
    assert await store.cancel(Selector(), reason="x", now=FAR) == 77


async def test_revived_jobs_begin_their_schedule_again(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    await store.settle(a_settlement(job, "dead", reason="status 410"))
    assert await store.revive(Selector(ids=(job.delivery,)), now=START_MS + 77) == 1
    again = await lease_one(store)
    assert (again.attempt, again.charged, again.deaths) == (2, 0, 0)
    assert (again.due_at, again.reason, again.ended_at) == (START_MS + 77, None, None)
    assert await store.revive(ALL, now=FAR) == 0


# Generations


async def test_a_generation_is_kept_once_and_found_by_prefix(store: Store) -> None:
    kept = Generation("abc1", "version: 1", {"env": {"A": "b"}}, START_MS)
    await store.keep_generation(kept)
    await store.keep_generation(msgspec.structs.replace(kept, text="other"))
    await store.keep_generation(Generation("abd2", "x", {}, START_MS))
    assert await store.generation("abc1") == kept
    assert await store.generation("abc") == kept
    assert await store.generation("zz") is None
    with pytest.raises(NotFound):
        await store.generation("ab")


async def test_generations_of_a_rule_come_newest_first(store: Store, make: Maker) -> None:
    for i in range(3):
        await store.keep_generation(Generation(f"g{i}", "", {}, START_MS + i))
        await store.accept(make.acceptance(generation=f"g{i}", jobs=[make.job(rule=f"r{i % 2}")]))
    await store.accept(make.acceptance(generation="never kept", jobs=[make.job(rule="r0")]))
    assert await store.latest_generation_with("r0") == ("g2", "g0")
    assert await store.latest_generation_with("r1") == ("g1",)
    assert await store.latest_generation_with("r9") == ()


# Lists


async def test_lists_are_newest_first_and_paged(store: Store, make: Maker) -> None:
    accepted = [make.acceptance() for _ in range(60)]
    for acceptance in accepted:
        await store.accept(acceptance)
    ids = [a.delivery.id for a in reversed(accepted)]
    assert [s.id for s in await store.deliveries(ALL)] == ids[:50]
    assert [s.id for s in await store.deliveries(Selector(limit=2))] == ids[:2]
    assert len(await store.jobs(ALL)) == 50


async def test_a_summary_says_what_a_list_shows(store: Store, make: Maker) -> None:
    events = [make.event(i, name=name) for i, name in enumerate(("bounce", "open", "bounce"))]
    acceptance = make.acceptance(
        events=events, event_count=3, flags=("no_id",), endpoint="mail", body=b"12345"
    )
    await store.accept(acceptance)
    await lease_one(store)
    (summary,) = await store.deliveries(ALL)
    assert summary.events == ("bounce", "open")
    assert (summary.event_count, summary.body_bytes, summary.flags) == (3, 5, ("no_id",))
    assert summary.jobs == {"available": 2, "running": 1}


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (Selector(endpoint="mail"), {"b"}),
        (Selector(event="open"), {"b"}),
        (Selector(event="orders/pai"), set()),
        (Selector(event="created"), set()),
        (Selector(rule="special"), {"c"}),
        (Selector(state="unmatched"), {"d"}),
        (Selector(state="waiting"), {"c"}),
        (Selector(state="dead"), set()),
        (Selector(state="no such state"), set()),
        (Selector(rule="paid", state="waiting"), set()),
        (Selector(since=START_MS + 3), {"c", "d"}),
        (Selector(until=START_MS + 3), {"a", "b"}),
        (Selector(endpoint="shop", until=START_MS + 4), {"a", "c"}),
    ],
)
async def test_deliveries_are_selected(
    store: Store, make: Maker, selector: Selector, found: set[str]
) -> None:
    accepted = {
        "a": make.acceptance(events=[make.event(0, action="created")]),
        "b": make.acceptance(endpoint="mail", events=[make.event(0, name="open")]),
        "c": make.acceptance(jobs=[make.job(rule="special", state="waiting")]),
        "d": make.acceptance(state="unmatched", jobs=()),
    }
    for acceptance in accepted.values():
        await store.accept(acceptance)
    ids = {s.id for s in await store.deliveries(selector)}
    assert ids == {accepted[name].delivery.id for name in found}


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (Selector(endpoint="mail"), {1}),
        (Selector(event="open"), {1}),
        (Selector(rule="special"), {2}),
        (Selector(state="waiting"), {2}),
        (Selector(state="available"), {0, 1}),
        (Selector(since=START_MS), {0, 1, 2}),
        (Selector(since=START_MS + 1), set()),
        (Selector(until=START_MS), set()),
    ],
)
async def test_jobs_are_selected(
    store: Store, make: Maker, selector: Selector, found: set[int]
) -> None:
    accepted = [
        make.acceptance(),
        make.acceptance(endpoint="mail", jobs=[make.job(event="open")]),
        make.acceptance(jobs=[make.job(rule="special", state="waiting")]),
    ]
    for acceptance in accepted:
        await store.accept(acceptance)
    ids = {job.id for job in await store.jobs(selector)}
    assert ids == {accepted[i].jobs[0].id for i in found}


async def test_ids_select_by_prefix_of_delivery_or_job(store: Store, make: Maker) -> None:
    acceptance, other = make.acceptance(jobs=[make.job(), make.job()]), make.acceptance()
    await store.accept(acceptance)
    await store.accept(other)
    delivery, job = acceptance.delivery.id, acceptance.jobs[0].id
    mine = {j.id for j in acceptance.jobs}
    assert {j.id for j in await store.jobs(Selector(ids=(delivery[:-2],)))} == mine
    assert [j.id for j in await store.jobs(Selector(ids=(job,)))] == [job]
    assert [s.id for s in await store.deliveries(Selector(ids=(job,)))] == [delivery]
    both = Selector(ids=(delivery, other.delivery.id))
    assert len(await store.deliveries(both)) == 2


async def test_one_is_found_by_a_unique_prefix_of_eight(store: Store, make: Maker) -> None:
    one, other = make.acceptance(), make.acceptance()
    await store.accept(one)
    await store.accept(other)
    for prefix in (one.delivery.id, one.delivery.id[:-3], one.delivery.id[4:-3]):
        record = await store.delivery(prefix)
        assert record is not None
        assert record.delivery == one.delivery
    with pytest.raises(NotFound):
        await store.delivery(one.delivery.id[:12])
    assert await store.delivery(one.delivery.id[:11]) is None
    assert await store.delivery("dlv_ZZZZZZZZZZ") is None
    found = await store.job(one.jobs[0].id[:-3])
    assert found is not None
    assert found.id == one.jobs[0].id


# Retention


def retain(**given: int) -> Retain:
    values = {"succeeded_before": 0, "unmatched_before": 0, "dead_before": 0, **given}
    return Retain(**values)


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
    assert len(await store.deliveries(ALL)) == 4


async def test_the_longest_time_among_a_delivery_s_jobs_counts(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    await store.settle(a_settlement(await lease_one(store, now=START_MS)))
    await store.settle(a_settlement(await lease_one(store, now=START_MS), "dead"))
    ended = START_MS + 5
    short = retain(succeeded_before=ended + 1, dead_before=ended)
    assert (await store.prune(short, now=START_MS)).deliveries == 0
    enough = retain(succeeded_before=ended + 1, dead_before=ended + 1)
    assert (await store.prune(enough, now=START_MS)).deliveries == 1
    assert await store.deliveries(ALL) == ()
    assert await store.counts() == {}


async def test_each_kind_has_its_time(store: Store, make: Maker) -> None:
    unmatched = make.acceptance(jobs=(), state="unmatched")
    cancelled = make.acceptance()
    await store.accept(unmatched)
    await store.accept(cancelled)
    await store.cancel(ALL, reason="x", now=START_MS + 50)
    early = unmatched.delivery.received_at + 1
    assert (await store.prune(retain(unmatched_before=early), now=START_MS)).deliveries == 1
    left = await store.deliveries(ALL)
    assert [s.id for s in left] == [cancelled.delivery.id]
    assert (await store.prune(retain(succeeded_before=START_MS + 50), now=START_MS)).deliveries == 0
    assert (await store.prune(retain(succeeded_before=START_MS + 51), now=START_MS)).deliveries == 1


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
    assert [s.id for s in await store.deliveries(ALL)] == ids[:3]
    assert (await store.prune(step, now=START_MS)).deliveries == 1
    assert [s.id for s in await store.deliveries(ALL)] == ids[:2]


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
    events = [make.event(i, key, keys_until=end) for i, (key, end) in enumerate(ends.items())]
    first = make.acceptance(events=events, jobs=())
    await store.accept(first)
    assert (await store.prune(retain(), now=START_MS + 2)).keys == 2
    assert await store.accept(make.acceptance(b"b")) == Duplicate(first.delivery.id)
    assert (await store.prune(retain(), now=START_MS + 3)).keys == 1


# Health


async def test_rule_counts_add_up(store: Store) -> None:
    """From one process to the next; a rule that did not match keeps its last time."""
    await store.count_rules([RuleCount("a", 3, 2, 1, 0, 100, 150), RuleCount("b", 1, 0, 0, 1, 100)])
    await store.count_rules([RuleCount("a", 2, 0, 0, 0, 200), RuleCount("b", 1, 0, 0, 1, 200, 250)])
    await store.count_rules([RuleCount("a", 1, 1, 0, 0, 90, 140)])
    assert await store.rule_counts() == {
        "a": RuleCount("a", 6, 3, 1, 0, 90, 150),
        "b": RuleCount("b", 2, 0, 0, 2, 100, 250),
    }


async def test_a_store_is_ready_and_has_a_size(store: Store, make: Maker) -> None:
    await store.ready()
    await store.accept(make.acceptance(body=b"x" * 100_000))
    assert await store.size() >= 100_000


async def test_what_cannot_be_stored_spoils_no_other(tmp_path: Path, make: Maker) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    good = [make.acceptance(b"%d" % i) for i in range(10)]
    bad = make.acceptance(b"bad", jobs=[make.job(due_at=2**70)])
    receipts = await asyncio.gather(
        *[store.accept(a) for a in (*good[:5], bad, *good[5:])], return_exceptions=True
    )
    assert isinstance(receipts.pop(5), StoreUnavailable)
    assert receipts == [Accepted(a.delivery.id) for a in good]
    assert await store.accept(make.acceptance(b"bad")) != Duplicate(bad.delivery.id)
    await store.close()


# Runs for a whole batch, and paused rules


async def test_a_run_for_a_batch_covers_only_its_new_events(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(b"mail\0a"))
    events = [make.event(i, b"mail\0" + key) for i, key in enumerate((b"a", b"b", b"c"))]
    whole = make.job(event_index=0, covers=(0, 1, 2))
    known = make.job(event_index=0, covers=(0,))
    acceptance = make.acceptance(events=events, jobs=[whole, known], event_count=3)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({1, 2}))
    record = await store.delivery(acceptance.delivery.id)
    assert record is not None
    (job,) = record.jobs
    assert (job.id, job.covers, job.event_index, job.event_id) == (
        whole.id,
        (1, 2),
        1,
        events[1].id,
    )


async def test_jobs_of_paused_rules_wait_until_they_are_live_again(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule="p"), make.job(rule="q")]))
    failed = await lease_one(store)
    await store.settle(a_settlement(failed, "retryable", due_at=FAR))
    assert await store.hold(frozenset({"p", "q"})) == 2
    assert await store.targets() == {}
    assert {job.state for job in await store.jobs(ALL)} == {"waiting"}
    assert await store.hold(frozenset({"q"})) == 1
    states = {job.rule: job.state for job in await store.jobs(ALL)}
    assert states == {"q": "waiting", "p": "retryable" if failed.rule == "p" else "available"}
    assert await store.hold(frozenset({"q"})) == 0


async def test_jobs_of_paused_targets_wait_and_are_due_anew_when_it_goes_on(
    store: Store, make: Maker
) -> None:
    jobs = [make.job(target="erp"), make.job(target="crm"), make.job(target="erp", rule="p")]
    await store.accept(make.acceptance(jobs=jobs))
    assert await store.hold(frozenset({"p"}), frozenset({"erp"})) == 3
    waits = sorted(job.waits_for for job in await store.jobs(ALL))
    assert waits == [(), ("its paused rule", "its paused target"), ("its paused target",)]
    assert set(await store.targets()) == {"crm"}
    assert await store.hold(frozenset({"p"}), frozenset({"erp"})) == 0
    assert await store.hold(frozenset({"p"}), now=FAR) == 2
    found = {job.target + job.rule: job for job in await store.jobs(ALL)}
    assert found["erpp"].waits_for == ("its paused rule",)
    assert (found["erppaid"].state, found["erppaid"].due_at) == ("available", FAR)
    assert found["crmpaid"].due_at < FAR


async def test_jobs_are_counted_by_target(store: Store, make: Maker) -> None:
    jobs = [make.job(target="erp"), make.job(target="erp"), make.job(target="crm", rule="p")]
    await store.accept(make.acceptance(jobs=jobs))
    failed = await lease_one(store, "erp")
    await store.settle(a_settlement(failed, "retryable", due_at=FAR))
    await store.hold(frozenset({"p"}))
    due = (await store.targets())["erp"]
    assert await store.target_counts() == {
        "erp": TargetCounts(available=1, retryable=1, oldest_due=due),
        "crm": TargetCounts(waiting=1),
    }


async def test_those_named_are_leased_before_the_others(store: Store, make: Maker) -> None:
    jobs = [make.job(target="erp") for _ in range(6)]
    await store.accept(make.acceptance(jobs=jobs))
    now = FAR - 1
    batch = await store.lease(
        {"erp": 3}, lease="me/1", now=now, fresh={"erp": [jobs[5].id, "job_gone", jobs[4].id]}
    )
    assert {leased.job.id for leased in batch.jobs} == {jobs[5].id, jobs[4].id, jobs[0].id}
    assert batch.next_due["erp"] is not None
    rest = await store.lease({"erp": 9}, lease="me/2", now=now, fresh={"erp": [jobs[5].id]})
    assert [leased.job.id for leased in rest.jobs] == [job.id for job in jobs[1:4]]
    assert rest.next_due == {"erp": None}
    early = await store.lease({"erp": 9}, lease="me/3", now=0, fresh={"erp": [jobs[5].id]})
    assert early.jobs == ()


async def test_running_jobs_are_not_held(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule="p")]))
    job = await lease_one(store)
    assert await store.hold(frozenset({"p"})) == 0
    assert await store.settle(a_settlement(job, "succeeded"))


# What the router remembers


async def test_what_was_remembered_is_recalled_by_the_beginning_of_its_name(store: Store) -> None:
    await store.remember({"ranges/a": ["192.0.2.0/24"], "ranges/b": {"n": 1}, "other": 1})
    assert await store.recall("ranges/") == {"ranges/a": ["192.0.2.0/24"], "ranges/b": {"n": 1}}
    assert list(await store.recall("")) == ["other", "ranges/a", "ranges/b"]
    assert await store.recall("ranges/%") == {}


async def test_a_fact_is_replaced_and_forgotten(store: Store) -> None:
    await store.remember({"a": 1, "b": "x"})
    await store.remember({"a": 2, "b": None, "never": None})
    assert await store.recall("") == {"a": 2}
