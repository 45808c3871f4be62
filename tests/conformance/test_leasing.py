"""What every store does with jobs: leases, settlements, deaths, an operator's verbs, pauses."""

import asyncio

import pytest

from router.errors import NotFound
from router.model.target import TargetCounts
from router.store.protocol import Store
from router.store.values import ALREADY, APART_MS, HELD, LOST, Recovered, Selector
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION, Maker, a_settlement, lease_one

NOBODY: frozenset[tuple[str, str]] = frozenset()
ALL = Selector()


# Leasing and settling


@pytest.mark.long
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


@pytest.mark.long
async def test_a_lease_records_the_attempt_and_brings_the_delivery(
    store: Store, make: Maker
) -> None:
    acceptance = make.acceptance(jobs=[make.job(), make.job()])
    await store.accept(acceptance)
    batch = await store.lease({"erp": 5}, lease="b.1", now=START_MS + 3)
    assert [one.delivery for one in batch.jobs] == [acceptance.delivery] * 2
    for one in batch.jobs:
        assert one.job == await store.reads.job(one.job.id)
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
    """Whatever another lease is called: before or after it in the alphabet, less of it or more."""
    await store.accept(make.acceptance())
    job = await lease_one(store, lease="b.1")
    for stale in ("", "a.9", "b", "b.", "b.0", "b.10", "b.1 ", "B.1", "b.2", "b.other", "c.0"):
        assert not await store.settle(a_settlement(job, lease=stale)), stale
        assert (await store.reads.job(job.id)) == job
    assert await store.settle(a_settlement(job)) == HELD
    assert await store.settle(a_settlement(job)) == ALREADY
    record = await store.reads.delivery(job.delivery)
    assert record is not None
    assert [a.number for a in record.attempts] == [1]


async def test_a_fenced_settlement_spoils_no_other(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(6)]))
    jobs = [one.job for one in (await store.lease({"erp": 6}, lease="b.1", now=FAR)).jobs]
    settled = await asyncio.gather(
        *[store.settle(a_settlement(j, lease=f"{'abc'[i % 3]}.1")) for i, j in enumerate(jobs)]
    )
    assert [bool(one) for one in settled] == [False, True, False] * 2
    assert await store.reads.counts() == {"paid": {"running": 4, "succeeded": 2}}


async def test_success_ends_the_job_and_keeps_the_result(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    settlement = a_settlement(job)
    await store.settle(settlement)
    record = await store.reads.delivery(job.delivery)
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
    assert await store.reads.targets() == {"erp": START_MS + 50}
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
    assert await store.reads.targets() == {}


async def test_targets_are_those_with_work_to_come(store: Store, make: Maker) -> None:
    jobs = [make.job(target=t, due_at=START_MS + at) for t, at in (("b", 5), ("a", 7), ("b", 3))]
    await store.accept(make.acceptance(jobs=[*jobs, make.job(target="c", state="waiting")]))
    assert await store.reads.targets() == {"a": START_MS + 7, "b": START_MS + 3}


async def test_a_settlement_of_unknown_outcome_may_be_made_again(store: Store, make: Maker) -> None:
    """Whatever the end: it is there once, and what it was is not changed by another end."""
    await store.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "abc"]))
    ends = {"a": "succeeded", "b": "retryable", "c": "dead"}
    for number, (_, state) in enumerate(ends.items()):
        job = await lease_one(store, lease=f"b/{number}")
        end = a_settlement(job, state, due_at=FAR + 1)  # type: ignore[arg-type]
        assert await store.settle(end) == HELD
        assert await store.settle(end) == ALREADY
        other = a_settlement(job, "dead" if state == "succeeded" else "succeeded")
        assert await store.settle(other) == LOST
        record = await store.reads.delivery(job.delivery)
        assert record is not None
        assert [a.outcome for a in record.attempts if a.job == job.id] == [end.attempt.outcome]
    assert {j.rule: j.state for j in await store.reads.jobs(ALL)} == ends


async def test_settlements_made_again_are_distinguished_from_those_beside_them(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(), make.job()]))
    jobs = [leased.job for leased in (await store.lease({"erp": 3}, lease="b/1", now=FAR)).jobs]
    await store.settle(a_settlement(jobs[0]))
    stale = a_settlement(jobs[2], lease="b/0")
    ends = [a_settlement(jobs[0]), a_settlement(jobs[1]), stale]
    assert await asyncio.gather(*[store.settle(end) for end in ends]) == [ALREADY, HELD, LOST]


async def test_jobs_that_nobody_holds_are_found_by_their_leases(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "abcd"]))
    jobs = [await lease_one(store, lease=lease) for lease in ("b/1", "b/2", "c/1", "b/3")]
    await store.settle(a_settlement(jobs[3]))
    found = await store.reads.lost_leases({"b/2", "c/1", "b/3", "b/4"})
    assert {job.id for job in found} == {jobs[1].id, jobs[2].id}
    assert await store.reads.lost_leases([]) == ()


# Death of a process


async def test_a_living_node_s_leases_are_left_alone(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule=rule) for rule in "abc"]))
    dead, alive, mine = [await lease_one(store, lease=f"{node}/1") for node in ("d", "a", "m")]
    assert await store.reads.lost_nodes("m") >= {"d"}
    assert "m" not in await store.reads.lost_nodes("m")
    recovered = await store.recover(nodes={"d", "gone"}, now=FAR, on_interrupt_dead=NOBODY)
    assert recovered == Recovered(1, 0)
    assert [await store.reads.job(job.id) for job in (alive, mine)] == [alive, mine]
    assert await store.settle(a_settlement(dead)) == LOST
    assert await store.settle(a_settlement(alive)) == HELD


async def test_another_boot_s_jobs_are_reclaimed_uncharged(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    old = await lease_one(store, lease="old/1")
    kept = await lease_one(store, lease="new/1")
    assert await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=START_MS + 9, on_interrupt_dead=NOBODY
    ) == Recovered(1, 0)
    assert await store.reads.job(kept.id) == kept
    again = await lease_one(store)
    assert (again.id, again.attempt, again.charged, again.deaths) == (old.id, 2, 0, 1)
    assert not await store.settle(a_settlement(old))
    record = await store.reads.delivery(old.delivery)
    assert record is not None
    assert [(a.number, a.outcome) for a in record.attempts] == [(1, "interrupted")]


async def test_what_was_charged_stays_charged_when_the_process_dies(
    store: Store, make: Maker
) -> None:
    """A restart gives nobody a fresh schedule: a job that fails dies of it all the same."""
    await store.accept(make.acceptance())
    for boot in range(2):
        job = await lease_one(store, lease=f"{boot}.1")
        await store.settle(a_settlement(job, "retryable", due_at=START_MS))
        await lease_one(store, lease=f"{boot}.2")
        await store.recover(
            nodes=await store.reads.lost_nodes("x"), now=FAR, on_interrupt_dead=NOBODY
        )
        assert [j.charged for j in await store.reads.jobs(ALL)] == [boot + 1]


async def test_a_restart_keeps_the_time_of_a_retry(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    job = await lease_one(store, lease="old.1")
    await lease_one(store, lease="old.2")
    due_at = START_MS + 3_600_000
    await store.settle(a_settlement(job, "retryable", due_at=due_at))
    await store.recover(
        nodes=await store.reads.lost_nodes("new"), now=START_MS + 9, on_interrupt_dead=NOBODY
    )
    again = await store.reads.job(job.id)
    assert again is not None
    assert (again.state, again.due_at, again.charged, again.deaths) == ("retryable", due_at, 1, 0)


async def test_the_third_death_in_a_row_is_the_last(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    for boot in range(3):
        await lease_one(store, lease=f"{boot}.1")
        last = await store.recover(
            nodes=await store.reads.lost_nodes("x"), now=FAR, on_interrupt_dead=NOBODY
        )
    assert last == Recovered(0, 1)
    (job,) = await store.reads.jobs(Selector(state="dead"))
    assert (job.reason, job.deaths, job.ended_at) == ("crash_loop", 3, FAR)


async def test_those_that_died_twice_come_back_one_by_one(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule=name) for name in "abc"]))
    for boot in "12":
        leased = await store.lease({"erp": 3}, lease=f"{boot}.1", now=FAR)
        assert len(leased.jobs) == 3
        await store.recover(
            nodes=await store.reads.lost_nodes("x"), now=FAR, on_interrupt_dead=NOBODY
        )
    jobs = await store.reads.jobs(Selector(state="available"))
    assert sorted(job.due_at - FAR for job in jobs) == [0, APART_MS, 2 * APART_MS]


async def test_a_charged_attempt_clears_the_deaths(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    await lease_one(store, lease="old.1")
    await store.recover(nodes=await store.reads.lost_nodes("x"), now=FAR, on_interrupt_dead=NOBODY)
    job = await lease_one(store)
    await store.settle(a_settlement(job, "retryable", due_at=START_MS))
    assert (await lease_one(store)).deaths == 0


async def test_work_that_must_not_run_again_dies_at_once(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    await lease_one(store, lease="old.1")
    dead = frozenset({("paid", "erp")})
    assert await store.recover(
        nodes=await store.reads.lost_nodes("x"), now=FAR, on_interrupt_dead=dead
    ) == Recovered(0, 1)
    (job,) = await store.reads.jobs(Selector(state="dead"))
    assert job.reason == "interrupted"


# Kinds


async def test_of_a_target_with_a_kind_only_its_jobs_are_leased(store: Store, make: Maker) -> None:
    """Up to the first of another kind, which is named: the next lease may ask for that."""
    kinds = ("http", "shell", "shell", "http")
    due = [make.job(kind=kind, due_at=START_MS + at) for at, kind in enumerate(kinds)]
    await store.accept(make.acceptance(jobs=due))
    found = []
    for number, kind in enumerate(["shell", "http", "http", "shell", "http"]):
        batch = await store.lease(
            {"erp": 4}, lease=f"b.{number}", now=FAR, kinds={"erp": kind, "none": "http"}
        )
        found.append(([one.job.id for one in batch.jobs], dict(batch.kinds)))
    assert found == [
        ([], {"erp": "http"}),
        ([due[0].id], {"erp": "shell"}),
        ([], {"erp": "shell"}),
        ([due[1].id, due[2].id], {"erp": "http"}),
        ([due[3].id], {}),
    ]


async def test_of_a_target_without_a_kind_any_job_is_leased(store: Store, make: Maker) -> None:
    due = [make.job(kind=kind) for kind in ("http", "shell")]
    await store.accept(make.acceptance(jobs=due))
    batch = await store.lease({"erp": 4}, lease="b.1", now=FAR, kinds={"other": "shell"})
    assert ([one.job.id for one in batch.jobs], batch.kinds) == ([job.id for job in due], {})


async def test_a_job_that_goes_first_is_leased_for_its_kind_alone(
    store: Store, make: Maker
) -> None:
    due = [make.job(kind=kind, due_at=START_MS + at) for at, kind in enumerate(["http", "shell"])]
    await store.accept(make.acceptance(jobs=due))
    batch = await store.lease(
        {"erp": 2}, lease="b.1", now=FAR, fresh={"erp": [due[1].id]}, kinds={"erp": "http"}
    )
    assert (batch.jobs, batch.kinds) == ((), {"erp": "shell"})
    assert batch.next_due["erp"] is not None


# The operator's verbs


async def test_replayed_jobs_join_their_delivery(store: Store, make: Maker) -> None:
    first, later = make.acceptance(), make.acceptance()
    await store.accept(first)
    await store.accept(later)
    new = [make.job(replay_of=first.jobs[0].id, generation="g2"), make.job(rule="other")]
    assert await store.add(first.delivery.id, new) == 2
    record = await store.reads.delivery(first.delivery.id)
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
    assert (await store.reads.job(running.id)) == running
    cancelled = await store.reads.jobs(Selector(state="cancelled"))
    assert {(j.reason, j.ended_at) for j in cancelled} == {("by hand", FAR)}
    assert await store.reads.targets() == {}


async def test_cancel_takes_only_what_is_selected(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job(rule="other")]))
    assert await store.cancel(Selector(rule="other"), reason="x", now=FAR) == 1
    assert await store.reads.counts() == {"paid": {"available": 1}, "other": {"cancelled": 1}}


async def test_verbs_take_everything_or_up_to_the_limit(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job() for _ in range(80)]))
    assert await store.cancel(Selector(limit=3), reason="x", now=FAR) == 3
    assert await store.cancel(Selector(), reason="x", now=FAR) == 77


@pytest.mark.long
async def test_revived_jobs_begin_their_schedule_again(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    job = await lease_one(store)
    await store.settle(a_settlement(job, "dead", reason="status 410"))
    assert await store.revive(Selector(ids=(job.delivery,)), now=START_MS + 77) == 1
    again = await lease_one(store)
    assert (again.attempt, again.charged, again.deaths) == (2, 0, 0)
    assert (again.due_at, again.reason, again.ended_at) == (START_MS + 77, None, None)
    assert await store.revive(ALL, now=FAR) == 0


# Paused rules and targets


async def test_jobs_of_paused_rules_wait_until_they_are_live_again(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(rule="p"), make.job(rule="q")]))
    failed = await lease_one(store)
    await store.settle(a_settlement(failed, "retryable", due_at=FAR))
    assert await store.hold(frozenset({"p", "q"}), generation=GENERATION) == 2
    assert await store.reads.targets() == {}
    assert {job.state for job in await store.reads.jobs(ALL)} == {"waiting"}
    assert await store.hold(frozenset({"q"}), generation=GENERATION) == 1
    states = {job.rule: job.state for job in await store.reads.jobs(ALL)}
    assert states == {"q": "waiting", "p": "retryable" if failed.rule == "p" else "available"}
    assert await store.hold(frozenset({"q"}), generation=GENERATION) == 0


async def test_jobs_are_counted_by_target(store: Store, make: Maker) -> None:
    jobs = [make.job(target="erp"), make.job(target="erp"), make.job(target="crm", rule="p")]
    await store.accept(make.acceptance(jobs=jobs))
    failed = await lease_one(store, "erp")
    await store.settle(a_settlement(failed, "retryable", due_at=FAR))
    await store.hold(frozenset({"p"}), generation=GENERATION)
    due = (await store.reads.targets())["erp"]
    assert await store.reads.target_counts() == {
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
    assert await store.hold(frozenset({"p"}), generation=GENERATION) == 0
    assert await store.settle(a_settlement(job, "succeeded"))
